/*
 * Point spread (physics/detector/psf.h) by passes along rows and columns.
 *
 * Both profiles are sums of Gaussians with positive weights (the fiber's is
 * Integral sqrt(s) exp(-s (g^2 + r^2)) ds), so the matrix share(dx, dy) is positive
 * semidefinite, and a Cholesky factorisation with pivots writes it as a short sum of
 * products c(dx) c(dy): one for a Gaussian, about ten for a fiber.  Terms are added
 * until less than SPREAD_MISPLACED of the light of a pixel is misplaced; that is the
 * error bound against the direct sum, beside single-precision rounding.  2 R terms are
 * cheaper than pi R^2 from R = 8 on, and Gaussians cost what they should.
 *
 * Unlike psf_apply, light goes as far in all directions as a square of half width R:
 * psf.radius_px, or where the brightest pixel gives another less than SPREAD_LEAST
 * photons, and no further than the image.  What falls outside the square is given back evenly over
 * the image, what falls over an edge of the image is lost.
 */
#ifndef BRAGG_ENGINE_SPREAD_H
#define BRAGG_ENGINE_SPREAD_H

#include <stdint.h>

#include "base/error.h"
#include "physics/detector/psf.h"

#define SPREAD_MISPLACED 1e-5
#define SPREAD_LEAST 0.05

struct spread;

/* Prepares; the pointer is to be freed by spread_destroy.  `isa` as in engine.h,
 * threads >= 1.  STATUS_USAGE for the isa, STATUS_FAILED when memory is out. */
enum status spread_create(struct spread **spread, const struct psf *psf, const char *isa,
                          int threads, struct error *e);

/* Spreads `image`, ny rows of nx pixels >= 0, in place.  Same bytes for any number of
 * threads and any instruction set.  STATUS_FAILED when memory is out. */
enum status spread_apply(struct spread *spread, float *image, int64_t nx, int64_t ny,
                         struct error *e);

/* Spreads an image of any sign as spread_apply spreads one that gets the half width `half`. */
enum status spread_signed(struct spread *spread, float *image, int64_t nx, int64_t ny, int64_t half,
                          struct error *e);

/* Half width R that spread_apply gave to the last image. */
int64_t spread_last(const struct spread *spread);

/* Half width R that an image with this brightest pixel gets, in pixels. */
int64_t spread_half(const struct psf *psf, double brightest, int64_t nx, int64_t ny);

/* How many products the last image took. */
int spread_terms(const struct spread *spread);

/* Frees and sets the pointer to NULL. */
void spread_destroy(struct spread **spread);

/* ---- inside: what spread.c and the loops of spread_loop.c share ----------------------------- */

enum {
    SPREAD_PAIRS = 4,   // pairs of lines added at once
    SPREAD_TILE = 256,  // columns of a tile
};

/* The loops, compiled for one instruction set; every one gives the same bytes. */
struct spread_kernels {
    /* out[i] = factor line[i] (first) or out[i] + factor line[i], i < SPREAD_TILE. */
    void (*start)(float *out, const float *line, float factor, int first);
    /* out[i] += sum over SPREAD_PAIRS of factor[k] (before[k][i] + after[k][i]). */
    void (*add)(float *out, const float *const *before, const float *const *after,
                const float *factor);
    /* Sum of n pixels, and the largest of them and 0. */
    void (*light)(const float *pixels, int64_t n, double *sum, double *largest);
};

extern const struct spread_kernels spread_kernels_baseline, spread_kernels_avx2,
    spread_kernels_avx512;

#endif
