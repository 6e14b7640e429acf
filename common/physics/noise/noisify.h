/*
 * The detector model of noisify, to the last bit: photons from a float image,
 * shutter flicker, calibration error, counting noise, point spread, readout
 * noise, and counts.  For faithful mode.  Images are ny rows of nx pixels.
 */
#ifndef BRAGG_PHYSICS_NOISIFY_H
#define BRAGG_PHYSICS_NOISIFY_H

#include <stdint.h>

#include "base/error.h"
#include "physics/detector/psf.h"
#include "physics/noise/ran1.h"

struct noisify {
    int64_t nx, ny;
    double fluence_ph_m2;
    double scale;        // factor on the input beside r_e^2 * fluence
    double gain, adc;    // ADU per photon; ADU for no photon
    double flicker;      // relative error of the beam, for every pixel anew
    double calibration;  // relative error of a pixel's sensitivity
    double readout;      // noise of the electronics, ADU
    struct psf psf;
    int bits;                     // of the noise image: 16 or 32
    long seed, calibration_seed;  // as kept: a user's seed negated; updated by the draws
    uint64_t saturated, below;    // pixels that noise cut: at the largest count, below 0
};

/* Photons without noise: input times r_e^2, fluence and scale, in single precision. */
void noisify_photons(const struct noisify *n, const float *input, float *photons);

/* Counts without noise, truncated; never above 65535, whatever the bits. */
void noisify_ideal(const struct noisify *n, const float *photons, uint32_t *image);

/* Counts with noise; adds up what it cuts.  `photons` is overwritten by the noisy photons.  One
 * generator `r` serves both seeds, as in the original.  Errors: out of memory. */
enum status noisify_noise(struct noisify *n, struct ran1 *r, float *photons, uint32_t *image,
                          struct error *e);

#endif
