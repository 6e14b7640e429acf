/* Detector defects and shadows: dead and hot pixels, beam stop, other shadows, transmission. */
#ifndef BRAGG_STAGES_DEFECTS_H
#define BRAGG_STAGES_DEFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/detector/noise.h"
#include "io/detectors/obstacles.h"
#include "model/experiment.h"

struct defects {
    /* options */
    double dead, hot;          // fractions of the pixels
    double hot_photons;        // mean photons that a hot pixel adds per frame
    const char *file;          // path of --bad-pixels; after defects_open it is `digest`
    const char *shadow;        // path of --shadow; after defects_open it is `shadow_digest`
    const char *transmission;  // path of --transmission; after defects_open it is `map_digest`
    double stop_m[2];          // diameters of the beam stop along fast and slow; 0: no stop
    double stop_offset_m[2];   // centre relative to the beam, along fast and slow
    double stop_distance_m;    // distance from the sample; 0: that of the detector
    double stop_transmission;  // fraction of the light that passes stop and arm
    double arm_m;              // width of the arm; 0: no arm
    double arm_rad;            // direction of the arm, from fast towards slow
    int stop_shape;            // enum stop_shape
    bool unmasked;             // do not mask the affected pixels
    /* state */
    uint8_t *kinds;                    // owned: value of each pixel in `file`; NULL: no file
    int64_t fast_pixels, slow_pixels;  // size of the image in `file`
    double pixel_m;                    // pixel size in the header of `file`; 0: the header has none
    char digest[17];                   // hash of the content of `file`
    struct shadows shadows;            // owned: content of `shadow`
    char shadow_digest[17];            // hash of `shadows`
    struct transmission map;           // owned: content of `transmission`
    char map_digest[17];               // hash of `map`
    float *passes;                     // owned: as in struct noise; NULL: all light passes
    struct bad_pixel *bad;             // owned: [nbad], ascending
    size_t nbad;
};

/* Reads the files.  On return d->file, d->shadow and d->transmission are hashes of their content,
 * because the lineage depends on the content and not on the name.
 * STATUS_FAILED: a file cannot be read.  STATUS_INPUT: its content is wrong. */
enum status defects_open(struct defects *d, struct error *e);

/* Sets passes, bad and nbad for the frames of *x.  Without `unmasked`, masks the affected pixels in
 * *x and stores the reasons.  STATUS_INPUT: a file does not have the pixels of the detector. */
enum status defects_make(struct defects *d, uint64_t seed, struct experiment *x, struct error *e);

void defects_free(struct defects *d);

#endif
