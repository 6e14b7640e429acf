/*
 * Point spread (physics/detector/psf.h) with passes along rows and columns.
 *
 * Both profiles are sums of Gaussians with positive weights; that of the fiber is Integral sqrt(s)
 * exp(-s (g^2 + r^2)) ds.  Therefore the matrix share(dx, dy) is positive semidefinite, and a
 * Cholesky factorisation with pivots writes it as a short sum of products c(dx) c(dy): one product
 * for a Gaussian, about ten for a fiber.  Products are added until less than SPREAD_MISPLACED of
 * the light of a pixel is misplaced.  This is the error bound against the direct sum, in addition
 * to single-precision rounding.  From R = 8 on, 2 R terms are faster to compute than pi R^2, and a
 * Gaussian needs only one product.
 *
 * Unlike in psf_apply, light reaches all pixels of a square of half width R.  R is psf.radius_px,
 * or the distance at which the brightest pixel gives another pixel less than SPREAD_LEAST photons,
 * and no more than the size of the image.  Light outside the square is given back evenly over the
 * image.  Light that passes an edge of the image is lost.
 */
#ifndef BRAGG_ENGINE_SPREAD_H
#define BRAGG_ENGINE_SPREAD_H

#include <stdint.h>

#include "base/error.h"
#include "physics/detector/psf.h"

#define SPREAD_MISPLACED 1e-5
#define SPREAD_LEAST 0.05

struct spread;

/* Prepares *spread, which spread_destroy frees.  `isa` as in engine.h, threads >= 1.  STATUS_USAGE:
 * unknown `isa`. */
enum status spread_create(struct spread **spread, const struct psf *psf, const char *isa,
                          int threads, struct error *e);

/* Spreads `image`, ny rows of nx pixels >= 0, in place.  The bytes are the same for any number of
 * threads and any instruction set. */
void spread_apply(struct spread *spread, float *image, int64_t nx, int64_t ny);

/* Spreads an image, whose pixels may be negative, as spread_apply spreads an image with half width
 * `half`. */
void spread_signed(struct spread *spread, float *image, int64_t nx, int64_t ny, int64_t half);

/* Returns the half width R in pixels that spread_apply used for the last image. */
int64_t spread_last(const struct spread *spread);

/* Returns the half width R in pixels of an image whose brightest pixel has `brightest` photons. */
int64_t spread_half(const struct psf *psf, double brightest, int64_t nx, int64_t ny);

/* Returns the number of products that the last image needed. */
int spread_terms(const struct spread *spread);

/* Frees and sets the pointer to NULL. */
void spread_destroy(struct spread **spread);

/* ---- inside: what spread.c and the loops of spread_loop.c share ----------------------------- */

enum {
    SPREAD_PAIRS = 4,   // pairs of lines added at once
    SPREAD_TILE = 256,  // columns of a tile
};

/* The loops, compiled for one instruction set.  All instruction sets give the same bytes. */
struct spread_kernels {
    /* out[i] = factor line[i] (first) or out[i] + factor line[i], i < SPREAD_TILE. */
    void (*start)(float *out, const float *line, float factor, int first);
    /* out[i] += sum over SPREAD_PAIRS of factor[k] (before[k][i] + after[k][i]). */
    void (*add)(float *out, const float *const *before, const float *const *after,
                const float *factor);
    /* Sets *sum to the sum of n pixels, and *largest to the largest of them, at least 0. */
    void (*light)(const float *pixels, int64_t n, double *sum, double *largest);
};

extern const struct spread_kernels spread_kernels_baseline, spread_kernels_avx2,
    spread_kernels_avx512;

#endif
