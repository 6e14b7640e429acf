/*
 * From expected photons to what a detector reads, in this order:
 *
 *   photons * (1 + flicker N) * (1 + calibration N)   relative errors, never below 0
 *           * what passes on the way to the pixel
 *   Poisson                                           counting; physics/noise/poisson.h
 *   point spread                                      engine/detector/spread.h, inside each panel
 *   bad pixels                                        dead ones 0, hot ones + Poisson of their own
 *   counts that are missed                            engine/detector/dead_time.h
 *   * gain + offset + readout N                       electronics; engine/detector/gain_stages.h
 *   rounded to the nearest whole ADU (halves up), clipped to 0..saturation
 *
 * N is a normal deviate of its own each time.  All random numbers are keyed by
 * (seed, purpose, frame, pixel); the calibration by its own seed and the pixel
 * alone, so that it is the same in every frame.  Same bytes for any number of
 * threads and any instruction set.
 */
#ifndef BRAGG_ENGINE_NOISE_H
#define BRAGG_ENGINE_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "physics/detector/psf.h"

/* A pixel that reads other than what falls on it. */
struct bad_pixel {
    int64_t pixel;  // item of the frame
    bool dead;      // no light reaches its counter
    float dark;     // mean counts of its own in a frame, photons
};

struct gain_stages;
struct memory_cells;
struct dead_time;

struct noise {
    double flicker;      // relative error of every pixel in every frame
    double calibration;  // relative error of a pixel's sensitivity
    uint64_t calibration_seed;
    const float *passes;          // share of the light that reaches each pixel; NULL: all of it
    const struct bad_pixel *bad;  // `nbad` of them, ascending
    size_t nbad;
    bool poisson;           // false: expected photons are taken as they are
    struct psf psf;         // kind PSF_NONE: none; its bounds are strict
    double gain;            // ADU per photon, > 0
    double offset_adu;      // ADU of no photons
    double readout_adu;     // standard deviation of the electronics
    double saturation_adu;  // largest value; at most 65535 for PIXEL_U16, 2^32-1 for PIXEL_U32
    const struct gain_stages *stages;   // in place of gain, offset and saturation; NULL: none
    const struct memory_cells *cells;   // that keep what these stages read; NULL: none
    const struct dead_time *dead_time;  // of counters; NULL: nothing is missed
    struct clipped *clipped;  // adds up what does not fit; outlives the plan; NULL: nobody asks
    int threads;              // >= 1
    const char *isa;          // NULL: the best that this CPU has; else baseline, avx2, avx512
};

struct noise_plan;  // what is computed once for all frames

/* Prepares for frames of an experiment, which must outlive the plan, as must n->bad, n->stages
 * and n->dead_time.
 * *plan is to be freed by noise_destroy; NULL after an error: STATUS_USAGE for the isa,
 * STATUS_FAILED when memory is out. */
enum status noise_create(struct noise_plan **plan, const struct noise *n,
                         const struct experiment *x, struct error *e);

/* Turns the float32 photons of frame `id` into adu->pixels (PIXEL_U16 or
 * PIXEL_U32, as many pixels as the experiment has).  `photons` is overwritten
 * where there is a point spread.  Photons that are negative or not finite are
 * STATUS_INPUT and name the first such pixel.  Without a point spread the sum of the
 * counts is formed, too, in adu->sum.  One caller at a time for a plan. */
enum status noise_apply(struct noise_plan *plan, uint64_t seed, uint64_t id, float *photons,
                        struct image *adu, struct error *e);

/* Makes planes, derivatives of the photons that noise_apply took last, those of the photons that
 * pixels count on average: what reaches a pixel, its sensitivity, the point spread and dead pixels
 * are in them, counts that are missed are not.  Behind a point spread they are of all pixels, no
 * list.  STATUS_FAILED when memory is out. */
enum status noise_planes(struct noise_plan *plan, struct planes *planes, struct error *e);

/* The same of single pixels, but for the point spread. */
void noise_pixels(const struct noise_plan *plan, const uint32_t *pixels, float *values,
                  size_t count);

/* Energy of a photon in the frames to come, and the memory cell that keeps them; asked for by noise
 * with stages alone. */
void noise_set_pulse(struct noise_plan *plan, double energy_keV, uint64_t cell);

/* Frees the plan and sets the pointer to NULL. */
void noise_destroy(struct noise_plan **plan);

#endif
