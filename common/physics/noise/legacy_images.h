/*
 * How nanoBragg and nonBragg turn a float image of one panel into the integer
 * images that they write, to the last bit (braggpipe-physics(7), 4.1).  Images are
 * fast_pixels * slow_pixels items; the panel's ROI and mask decide which count.
 */
#ifndef BRAGG_PHYSICS_LEGACY_IMAGES_H
#define BRAGG_PHYSICS_LEGACY_IMAGES_H

#include <stdint.h>

#include "model/experiment.h"
#include "physics/noise/ran1.h"

struct legacy_statistics {
    double max;                  // of the ROI, 0 when nothing is positive
    int64_t max_fast, max_slow;  // where
    double mean;                 // over pixels inside the ROI that are not masked
    double rmsd;                 // over the ROI, masked pixels too, divided by n-1
    int64_t computed;            // pixels in the mean
};

struct legacy_statistics legacy_statistics(const struct panel *p, const float *pixels);

/* Factor of the ideal image: `scale` itself if > 0, else such that the maximum
 * becomes 55000; 1 for an empty image. */
double legacy_scale(double scale, const struct legacy_statistics *stats);

/* Factor of the preview: `scale` if > 0, else five rmsd become 250; the factor of
 * the ideal image, `fallback`, when the rmsd is 0. */
double legacy_preview_scale(double scale, double fallback, const struct legacy_statistics *stats);

/* Scaled pixels plus `adc`, rounded, within 0..65535; 0 outside the ROI. */
void legacy_ideal(const struct panel *p, const float *pixels, double scale, double adc,
                  uint16_t *image);

/* Scaled pixels, truncated, within 0..255. */
void legacy_preview(const struct panel *p, const float *pixels, double scale, uint8_t *image);

/* A Poisson deviate of every pixel of the ROI, plus `adc`, truncated, within
 * 0..65535; 0 outside.  Draws in row order; masked pixels draw too. */
void legacy_noise(const struct panel *p, const float *pixels, double adc, struct ran1 *r,
                  long *seed, uint16_t *image);

#endif
