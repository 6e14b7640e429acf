/* What keeps a pixel from reading what falls on it: a beam stop, dead and hot pixels. */
#ifndef BRAGG_STAGES_DEFECTS_H
#define BRAGG_STAGES_DEFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/detector/noise.h"
#include "io/beam/transmission.h"
#include "io/detectors/shadows.h"
#include "model/experiment.h"

struct defects {
    /* options */
    double dead, hot, hot_photons;
    const char *file, *shadow, *transmission;
    double stop_m[2], stop_offset_m[2], stop_distance_m, stop_transmission, arm_m, arm_rad;
    int stop_shape;
    bool unmasked;
    /* state */
    uint8_t *kinds;  // what the file says of each pixel; owned
    int64_t fast_pixels, slow_pixels;
    double pixel_m;           // that the file says; 0: it does not
    char digest[17];          // of the file
    struct shadows shadows;   // owned
    char shadow_digest[17];   // of them
    struct transmission map;  // owned
    char map_digest[17];      // of that
    float *passes;            // as in struct noise; owned
    struct bad_pixel *bad;    // owned
    size_t nbad;
};

/* Reads the files of bad pixels, shadows and transmission; from here on d->file, d->shadow and
 * d->transmission are what the lineage tells of them. */
enum status defects_open(struct defects *d, struct error *e);

/* Sets passes, bad and nbad for the frames of *x, and masks there what they spoil. */
enum status defects_make(struct defects *d, uint64_t seed, struct experiment *x, struct error *e);

void defects_free(struct defects *d);

#endif
