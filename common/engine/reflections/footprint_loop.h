/* What footprint.c and the loop of footprint_loop.c share. */
#ifndef BRAGG_ENGINE_FOOTPRINT_LOOP_H
#define BRAGG_ENGINE_FOOTPRINT_LOOP_H

#include <stdint.h>

/* One row of pixels in one pass. */
struct footprint_row {
    const float *in;      // spans x FOOTPRINT_NODE pixels
    int64_t spans;        // from node to node
    const float *weight;  // of spans + 1 nodes, reach + 1 each
    int reach;
    float *const *before, *const *after;  // [reach + 1]: pixel 0 of the rows n steps away, shifted
                                          // by n steps; before[0] is not used
};

/* The loop, compiled for one instruction set; every one gives the same bytes. */
struct footprint_kernels {
    void (*row)(const struct footprint_row *r);
};

extern const struct footprint_kernels footprint_kernels_baseline, footprint_kernels_avx2,
    footprint_kernels_avx512;

#endif
