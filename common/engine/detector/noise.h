/*
 * From expected photons to what a detector reads, in this order:
 *
 *   photons * (1 + flicker N) * (1 + calibration N)   relative errors, never below 0
 *           * what passes on the way to the pixel
 *   Poisson                                           counting; physics/noise/poisson.h
 *   point spread                                      engine/detector/spread.h, inside each panel
 *   bad pixels                                        dead ones 0, hot ones + Poisson of their own
 *   counts that are missed                            engine/detector/readout.h
 *   * gain + offset + readout N                       electronics; engine/detector/readout.h
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

/* A bad pixel: its value is not that of the light that falls on it. */
struct bad_pixel {
    int64_t pixel;  // index in the frame
    bool dead;      // no light reaches its counter
    float dark;     // mean number of dark counts in a frame, in photons
};

struct crc32c_piece;
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
    const struct gain_stages *stages;   // replaces gain, offset and saturation; NULL: not used
    const struct memory_cells *cells;   // memory cells of `stages`; NULL: none
    const struct dead_time *dead_time;  // of a counter; NULL: no photon is missed
    struct clipped *clipped;  // counts pixels whose value does not fit; must outlive the plan;
                              // NULL: not counted
    int threads;              // >= 1
    const char *isa;          // NULL: the best that this CPU has; else baseline, avx2, avx512
};

struct noise_plan;  // data that is computed once for all frames

/* Prepares *plan for the frames of an experiment.  The experiment, n->bad, n->stages and
 * n->dead_time must outlive the plan.  noise_destroy frees the plan.  On an error *plan is NULL.
 * STATUS_USAGE: unknown `isa`.  STATUS_FAILED: memory cannot be allocated. */
enum status noise_create(struct noise_plan **plan, const struct noise *n,
                         const struct experiment *x, struct error *e);

/* Turns the float32 photons of frame `id` into adu->pixels (PIXEL_U16 or PIXEL_U32, as many pixels
 * as the experiment has).  If there is a point spread, overwrites `photons`; otherwise also sets
 * adu->sum to the checksum of the counts.  A plan may serve only one caller at a time.
 * STATUS_INPUT: photons that are negative or not finite; the text names the first such pixel. */
enum status noise_apply(struct noise_plan *plan, uint64_t seed, uint64_t id, float *photons,
                        struct image *adu, struct error *e);

/* The work of noise_apply in parts.  noise_part takes the photons of `count` pixels from `first`
 * on, a multiple of 64, and writes their counts into the whole image *adu.  It continues *sum, the
 * checksum of the counts of the part.  Returns false if a number of photons is not valid.  All
 * threads may call it at once.  Call noise_parts_begin before the first part, and noise_parts_end,
 * which counts clipped pixels, after the last one.  The plan must have no point spread. */
void noise_parts_begin(struct noise_plan *plan);
bool noise_part(struct noise_plan *plan, uint64_t seed, uint64_t id, int64_t first, int64_t count,
                const float *photons, const struct image *adu, struct crc32c_piece *sum);
void noise_parts_end(struct noise_plan *plan);

/* Converts *planes, the derivative images of the photons that noise_apply received last, to
 * derivatives of the mean counts in photons.  The fraction of the light that reaches a pixel, its
 * sensitivity, the point spread and dead pixels are included.  Counts that are missed are not
 * included.  If there is a point spread, the derivative images must cover all pixels, not a list.
 */
void noise_planes(struct noise_plan *plan, struct planes *planes);

/* Does the same for `count` values of single pixels, without the point spread. */
void noise_pixels(const struct noise_plan *plan, const uint32_t *pixels, float *values,
                  size_t count);

/* Sets the energy of a photon in the next frames, and the memory cell that stores them.  Only
 * needed with `stages`. */
void noise_set_pulse(struct noise_plan *plan, double energy_keV, uint64_t cell);

/* Frees the plan and sets the pointer to NULL. */
void noise_destroy(struct noise_plan **plan);

#endif
