/* What spread.c and the loops of spread_loop.c share. */
#ifndef BRAGG_ENGINE_SPREAD_LOOP_H
#define BRAGG_ENGINE_SPREAD_LOOP_H

#include <stdint.h>

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
