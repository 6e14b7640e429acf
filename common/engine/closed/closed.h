/*
 * Images of crystals of very many domains (physics/crystal/ensemble.h), one reflection at a time.
 * One evaluation for a pixel and a reflection that reaches the pixel gives the photons of all
 * domains and wavelengths.  The CPU engine uses this path if a crystal of the experiment asks for
 * it.
 *
 * The terms of a pixel are added in the order of step, direction and index, so that the number of
 * threads does not change the bytes.  The factors of pixels are those of the reference engine.
 */
#ifndef BRAGG_ENGINE_CLOSED_H
#define BRAGG_ENGINE_CLOSED_H

#include <stdbool.h>

#include "engine/derivatives/derive.h"
#include "engine/spots/cpu_spots.h"
#include "engine/spots/shares.h"
#include "physics/crystal/ensemble_sum.h"

struct closed_kernels;  // the loop for one instruction set, see closed_point.h

/* Identity class.  The bytes are the same for any number of threads. */
#define CLOSED_IDENTITY "closed-3"

/* The wavelengths of one direction of the beam. */
struct closed_beam {
    double incident[3], e[3], b[3];  // as in struct cpu_source
    double per_A;                    // weighted mean wave number
    size_t first, count;             // of its channels in closed.channels
    struct ensemble_waves waves;     // the same channels in groups
};

/* A lattice at one step, in one beam. */
struct closed_step {
    struct ensemble ensemble;
    uint32_t lattice, step, beam;
    double scale;  // converts a sum to photons, except for |F|^2 and the factors of the pixel
};

/* A reflection that may give photons to pixels. */
struct closed_spot {
    struct ensemble_spot spot;
    uint32_t step;
    int32_t hkl[3];
    double scale;   // closed_step.scale times |F|^2
    double absorb;  // absorption as in struct cpu_source, for its brightest channel
};

/* A box of pixels of one panel to which reflection number `spot` may give photons. */
struct closed_place {
    size_t spot;
    int32_t panel, fast_min, fast_max, row_min, row_max;
};

/* The data of one frame.  Owns its arrays. */
struct closed {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct closed_kernels *kernels;
    bool absorbs;  // whether a sensor absorbs the wavelengths of the sources differently
    struct closed_beam *beams;
    size_t nbeams;
    struct ensemble_channel *channels;
    struct closed_step *steps;
    size_t nsteps;
    struct crystal *crystals;  // owned: of each lattice, see recipe_crystals
    struct closed_spot *spots;
    size_t nspots;
    struct closed_place *places;
    size_t nplaces;
};

/* Returns the kernels of an instruction set; `isa` as in struct engine_options.  NULL, with
 * STATUS_USAGE in *e: the name is unknown. */
const struct closed_kernels *closed_kernels_choose(const char *isa, struct error *e);

/* Returns true if any crystal asks for the closed form. */
bool closed_wanted(const struct experiment *x);

/* Returns true if the closed form can compute the experiment once its crystals ask for it and are
 * GAUSS. */
bool closed_suits(const struct experiment *x);

/* Returns STATUS_INPUT, with one line of text, if the closed form cannot compute the experiment. */
enum status closed_check(const struct experiment *x, struct error *e);

/* Returns STATUS_INPUT if a crystal asks for the closed form, which the engine `name` does not
 * have. */
enum status closed_refuse(const struct experiment *x, const char *name, struct error *e);

/* Lists the reflections of a frame in *c.  closed_close frees *c, also after an error.
 * STATUS_INPUT: bad recipe. */
enum status closed_open(struct closed *c, const struct experiment *x, const struct recipe *r,
                        const struct closed_kernels *kernels, int threads, struct error *e);
void closed_close(struct closed *c);

/* Part of closed_open: lists the reflections of all steps, and the places of the reflections. */
void closed_list(struct closed *c, int threads);

/* The places that cover each row of the frame, where the rows of all panels follow one another: row
 * i has items[begin[i]] .. items[begin[i + 1] - 1]. */
struct closed_row_places {
    size_t *begin, *items;  // owned
};

/* Sorts the places of *c by the rows that they cover.  The caller frees both arrays. */
void closed_sort_places(const struct closed *c, struct closed_row_places *places);

/* Computes pixels[experiment_pixels()]; `rows` as in struct engine.  `lists`, if not NULL, has an
 * item for each row of the frame, which gets the shares of the row. */
void closed_rows(const struct closed *c, int threads, float *pixels, struct share_list *lists,
                 atomic_uint_fast64_t *rows);

/* Appends the shares of all rows to lists[experiment_rows(x)]. */
enum status closed_shares(const struct closed_kernels *kernels, const struct experiment *x,
                          int threads, const struct recipe *r, struct share_list *lists,
                          struct error *e);

/* Do the work of `run` and `reflections` of struct engine.  closed_run returns the photons of
 * crystals that are points: without their footprint. */
enum status closed_run(const struct closed_kernels *kernels, const struct experiment *x,
                       const struct recipe *r, int threads, float *photons,
                       atomic_uint_fast64_t *rows, struct error *e);
enum status closed_reflections(const struct closed_kernels *kernels, const struct experiment *x,
                               const struct footprint *f, int threads, const struct recipe *r,
                               const float *pixels, const struct reflections_wanted *wanted,
                               struct reflection_table *table, struct error *e);

/* ---- derivatives ----------------------------------------------------------------------------
 *
 * Derivatives of images in closed form, from differences of four images for each parameter, one and
 * two steps to either side.  The error is of the fourth order.  A step is CLOSED_STEP times the rms
 * width that the narrowest spot has in the parameter.  Where the reference engine has derivative
 * images, these are within 2e-5 of them, relative to their root mean square.
 */

#define CLOSED_STEP 0.06

/* Does the work of `derive` of struct engine, for an experiment whose panels are where the recipe
 * has them.  STATUS_INPUT: a parameter that cannot be changed in steps, see parameter.h. */
enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e);

#endif
