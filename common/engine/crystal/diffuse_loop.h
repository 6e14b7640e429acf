/* What diffuse.c and the loop of diffuse_loop.c share. */
#ifndef BRAGG_ENGINE_DIFFUSE_LOOP_H
#define BRAGG_ENGINE_DIFFUSE_LOOP_H

#include <math.h>
#include <stddef.h>

enum {
    HALO_EDGE = 4,  // nodes along an axis that a point is computed from
    HALO_NODES = HALO_EDGE * HALO_EDGE * HALO_EDGE
};

/* The halos of a crystal on the grid of its indices, the last one fastest. */
struct halo_nodes {
    size_t step[2];      // from node to node along h and k
    const float *F_sqr;  // electrons^2
    const float *X;
    const float *far;             // what is not summed at the point itself
    float width[6];               // u = w0 h^2 + w1 k^2 + w2 l^2 + w3 h k + w4 h l + w5 k l
    const unsigned char *orders;  // that the HALO_NODES nodes from one on need, taken as even
};

/* What part of a reflection that is d indices away along an axis is summed at the point itself: the
 * product over the axes. */
static inline float halo_share(float d)
{
    const float left = 2.0f - fabsf(d);
    return left < 0.0f ? 0.0f : left > 1.0f ? 1.0f : left;
}

/* Sum over m of F^2 X^m/(m-1)! / (m^2 + u)^2 of all reflections, at the point `at` (0 to 1 along
 * each axis) of the cube whose corner is 1, 1, 1 nodes from node `first`. */
typedef float halo_sum(const struct halo_nodes *n, size_t first, const float at[3]);

/* Compiled for one instruction set; every one gives the same bytes. */
struct diffuse_kernels {
    halo_sum *sum;
};

extern const struct diffuse_kernels diffuse_kernels_baseline, diffuse_kernels_avx2,
    diffuse_kernels_avx512;

#endif
