/*
 * The last step of nanoBragg and nonBragg: writes the four files, then prints one line of
 * statistics of the float image to stdout.
 */
#ifndef BRAGG_STAGES_LEGACY_FILES_H
#define BRAGG_STAGES_LEGACY_FILES_H

#include "base/error.h"
#include "io/images/smv.h"
#include "model/experiment.h"
#include "physics/noise/ran1.h"

struct legacy_files {
    const char *float_path, *int_path, *pgm_path, *noise_path;  // NULL: not written
    double scale, pgm_scale;  // scale of the ideal image and of the preview; <= 0: automatic
    double adc;               // ADU of a pixel without photons
    long seed;                // seed of the noise: the seed of the user, negated
};

/* Writes the image of one panel, which has fast_pixels * slow_pixels floats.  `random` is the
 * generator of the whole run: misset and mosaic domains have already drawn numbers from it. */
enum status legacy_files_write(const struct legacy_files *files, const struct panel *p,
                               const float *pixels, const struct header_text *header,
                               struct ran1 *random, struct error *e);

#endif
