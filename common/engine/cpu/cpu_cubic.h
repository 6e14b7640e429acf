/*
 * Tricubic structure factors for CPU_LANES pixels at a time: the nodes, limits and
 * polynomial of hkl_tricubic, with the weights of the four nodes in closed form.
 * Nodes and weights are prepared across pixels; the sums over the 64 nodes run over four
 * neighbours along l, a few pixels side by side, always in the same order.
 */
#ifndef BRAGG_ENGINE_CPU_CUBIC_H
#define BRAGG_ENGINE_CPU_CUBIC_H

#include <string.h>

#ifdef __FMA__
#include <immintrin.h>
#endif

#include "engine/cpu/cpu_point.h"
#include "physics/crystal/shape_fast.h"

struct cubic_lanes {
    alignas(MEM_ALIGNMENT) double h[4][CPU_LANES];  // weights of the nodes along h
    double k[4][CPU_LANES], l[4][CPU_LANES];
    int32_t base[CPU_LANES];  // item of the first node; -1: no room for the nodes
};

/* Nodes and weights of one pixel at indices h, k, l. */
INLINE void cubic_prepare(const struct cpu_table *t, double h, double k, double l, int lane,
                          struct cubic_lanes *lanes)
{
    const struct cubic_nodes a = cubic_nodes(t, 0, h), b = cubic_nodes(t, 1, k);
    const struct cubic_nodes c = cubic_nodes(t, 2, l);
    const int32_t item = (a.first * t->count[1] + b.first) * t->count[2] + c.first;
    lanes->base[lane] = a.room & b.room & c.room ? item : -1;
    for (int i = 0; i < 4; i++) {
        lanes->h[i][lane] = a.weight[i];
        lanes->k[i][lane] = b.weight[i];
        lanes->l[i][lane] = c.weight[i];
    }
}

/* Four neighbours along l: vectors as written, because compilers take other items together. */
typedef double four __attribute__((vector_size(32)));
#ifdef __FMA__
#define FOUR_FUSED(a, b, c) ((four)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define FOUR_FUSED(a, b, c) ((a) * (b) + (c))
#endif

/* Pixels whose sums run side by side, to hide the latency of additions. */
enum { CUBIC_SIDE = 4 };

/* F in electrons of CUBIC_SIDE pixels from `first`; rubbish where there is no room. */
INLINE void cubic_sums(const struct cpu_table *t, const struct cubic_lanes *w, int first, double *F)
{
    const size_t nk = (size_t)t->count[1], nl = (size_t)t->count[2];
    four sum[CUBIC_SIDE] = {{0.0}};
    const double *node[CUBIC_SIDE];
#pragma GCC unroll 4
    for (int p = 0; p < CUBIC_SIDE; p++)
        node[p] = t->F + (w->base[first + p] < 0 ? 0 : w->base[first + p]);
    for (size_t a = 0; a < 4; a++)
#pragma GCC unroll 4
        for (size_t b = 0; b < 4; b++)
#pragma GCC unroll 4
            for (int p = 0; p < CUBIC_SIDE; p++) {
                four F_l;
                memcpy(&F_l, node[p] + (a * nk + b) * nl, sizeof F_l);
                const four weight = w->h[a][first + p] * w->k[b][first + p] - (four){0};
                sum[p] = FOUR_FUSED(weight, F_l, sum[p]);
            }
#pragma GCC unroll 4
    for (int p = 0; p < CUBIC_SIDE; p++) {
        const int i = first + p;
        const double low = fused(w->l[0][i], sum[p][0], w->l[1][i] * sum[p][1]);
        F[i] = low + fused(w->l[2][i], sum[p][2], w->l[3][i] * sum[p][3]);
    }
}

/* Tricubic structure factors in electrons of the pixels first .. first + CPU_LANES - 1
 * for one step, where the box allows it: base[i] of the lanes says so.  What bounds
 * it: 64 loads a pixel, of four neighbours at a time. */
static void cubic_factors(const struct cpu_table *t, const double *step, int first,
                          const struct cpu_scratch *s, struct cubic_lanes *lanes,
                          double F[CPU_LANES])
{
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    const double *qx = s->qx + first, *qy = s->qy + first, *qz = s->qz + first;
    for (int i = 0; i < CPU_LANES; i++)  // vectorised
        cubic_prepare(t, index_along(c, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                      index_along(c + 3, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                      index_along(c + 6, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE), i, lanes);
    for (int i = 0; i < CPU_LANES; i += CUBIC_SIDE)
        cubic_sums(t, lanes, i, F);
}

#endif
