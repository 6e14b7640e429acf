/*
 * From photons to counts as three older programs do it, to the last bit, for faithful mode.
 *
 * noisify_*: the detector model of noisify: photons from a float image, shutter flicker,
 * calibration error, counting noise, point spread, readout noise, and counts.  Images are ny rows
 * of nx pixels.
 *
 * legacy_*: the integer images that nanoBragg and nonBragg write of a float image of one panel
 * [4.1].  Images are fast_pixels * slow_pixels items; the ROI and the mask of the panel decide
 * which pixels count.
 */
#ifndef BRAGG_PHYSICS_NOISIFY_H
#define BRAGG_PHYSICS_NOISIFY_H

#include <stdint.h>

#include "model/experiment.h"
#include "physics/detector/psf.h"
#include "physics/noise/ran1.h"

struct noisify {
    int64_t nx, ny;
    double fluence_ph_m2;
    double scale;        // factor on the input, in addition to r_e^2 * fluence
    double gain, adc;    // ADU per photon; ADU for no photon
    double flicker;      // relative error of the beam, drawn for every pixel
    double calibration;  // relative error of a pixel's sensitivity
    double readout;      // noise of the electronics, ADU
    struct psf psf;
    int bits;                     // of the noise image: 16 or 32
    long seed, calibration_seed;  // as kept: a user's seed negated; updated by the draws
    uint64_t saturated, below;    // pixels that noise cut: at the largest count, below 0
};

/* Computes the photons without noise: input times r_e^2, fluence and scale, in single precision. */
void noisify_photons(const struct noisify *n, const float *input, float *photons);

/* Counts without noise, truncated; never above 65535, whatever the bits. */
void noisify_ideal(const struct noisify *n, const float *photons, uint32_t *image);

/* Counts with noise; adds up what it cuts.  `photons` is overwritten by the noisy photons.  One
 * generator `r` serves both seeds, as in the original. */
void noisify_noise(struct noisify *n, struct ran1 *r, float *photons, uint32_t *image);

/* --- the images of nanoBragg and nonBragg ---------------------------------------- */

struct legacy_statistics {
    double max;                  // of the ROI, 0 when nothing is positive
    int64_t max_fast, max_slow;  // where
    double mean;                 // over pixels inside the ROI that are not masked
    double rmsd;                 // over the ROI, masked pixels too, divided by n-1
    int64_t computed;            // pixels in the mean
};

struct legacy_statistics legacy_statistics(const struct panel *p, const float *pixels);

/* Returns the factor of the ideal image: `scale` if it is above 0, otherwise the factor for
 * which the maximum becomes 55000, and 1 for an empty image. */
double legacy_scale(double scale, const struct legacy_statistics *stats);

/* Returns the factor of the preview: `scale` if it is above 0, otherwise the factor for which
 * five rmsd become 250. If the rmsd is 0 it is `fallback`, the factor of the ideal image. */
double legacy_preview_scale(double scale, double fallback, const struct legacy_statistics *stats);

/* Computes scaled pixels plus `adc`, rounded and limited to 0..65535. Pixels outside the region
 * of interest are 0. */
void legacy_ideal(const struct panel *p, const float *pixels, double scale, double adc,
                  uint16_t *image);

/* Computes scaled pixels, truncated and limited to 0..255. */
void legacy_preview(const struct panel *p, const float *pixels, double scale, uint8_t *image);

/* Draws a Poisson deviate for each pixel of the region of interest, adds `adc`, truncates and
 * limits to 0..65535. Other pixels are 0. The order is row by row, and masked pixels draw
 * numbers, too. */
void legacy_noise(const struct panel *p, const float *pixels, double adc, struct ran1 *r,
                  long *seed, uint16_t *image);

#endif
