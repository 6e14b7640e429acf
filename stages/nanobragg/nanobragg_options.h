/*
 * The command line of nanoBragg: every flag, its side effects on convention and pivot, and the
 * order of precedence of mask header, image header and flags.  Then the experiment and the recipe
 * that the flags describe.
 */
#ifndef BRAGG_STAGES_NANOBRAGG_OPTIONS_H
#define BRAGG_STAGES_NANOBRAGG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "legacy.h"
#include "model/recipe.h"
#include "physics/request.h"

/* The values of all flags. */
struct nanobragg {
    struct request request;  // request.crystals is not set: the crystal is below
    struct crystal_request crystal;
    struct orientation_request orientation;
    double default_F;                                              // electrons
    const char *matrix_file, *hkl_file, *dump_file, *source_file;  // NULL: none
    const char *mask_file, *header_file;
    int64_t mask_pixels[2];  // fast, slow: size of the mask
    const char *float_file, *int_file, *pgm_file, *noise_file;
    bool no_noise, no_pgm;
    double scale, pgm_scale;         // 0: automatic
    double adc;                      // ADU
    int64_t seed;                    // seed of the noise, negated as in nanoBragg
    int64_t trace_fast, trace_slow;  // -1: none
    bool named_pivot;                // -pivot was given
    double unused_origin[3];         // -pix0_vector is accepted but not used: the origin is
                                     // computed
};

/* All flags; ends with a row without a name. */
extern const struct legacy_flag nanobragg_flags[];

/* Sets all defaults.  Default seeds are fixed: 1 for noise and misset, 12345678 for
 * the mosaic domains. */
void nanobragg_defaults(struct nanobragg *n, enum physics physics);

/* Parses the flags of argv into *n, which must have its defaults.  Skips arguments that begin with
 * "--".  Reads the files of -mask and -img.  Prints one warning about flags without effect. */
enum status nanobragg_parse(struct nanobragg *n, int argc, char **argv, struct error *e);

/* Returns the output files that the flags select, and their scales.  The names are borrowed. */
struct legacy_files nanobragg_files(const struct nanobragg *n);

/* --- files, and what the flags describe (nanobragg_setup.c) ------------------ */

/* Reads n->mask_file and then n->header_file, if they are set, and sets the request from their
 * headers. Flags that are parsed later overrule these values. The pixels of the mask become
 * request.detector.mask (1 = computed). */
enum status nanobragg_read_headers(struct nanobragg *n, struct error *e);

/* Reads the input files that the flags name, and makes the experiment and the recipe. Before the
 * call *x and *r must be {0} and *sources NULL. The caller frees *x, *r and *sources (with
 * mem_free), also after an error. */
enum status nanobragg_prepare(struct nanobragg *n, struct experiment *x, struct recipe *r,
                              struct source **sources, struct error *e);

/* Returns the rotation range in rad, for headers. It is computed with the rules for phi steps. */
double nanobragg_osc_rad(const struct orientation_request *o);

#endif
