/*
 * Tricubic structure factors for CPU_LANES pixels at a time: the nodes, limits and
 * polynomial of hkl_tricubic, with the weights of the four nodes in closed form.
 * Nodes and weights are prepared across pixels; the sum over the 64 nodes runs
 * pixel by pixel over four neighbours along l, always in the same order.
 */
#ifndef BRAGG_ENGINE_CPU_CUBIC_H
#define BRAGG_ENGINE_CPU_CUBIC_H

#include "engine/cpu_point.h"
#include "physics/shape_fast.h"

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

/* F in electrons; 0 where there is no room. */
HD double cubic_sum(const struct cpu_table *t, const struct cubic_lanes *w, int lane)
{
    if (w->base[lane] < 0)
        return 0.0;
    const size_t nk = (size_t)t->count[1], nl = (size_t)t->count[2];
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
#pragma GCC unroll 4
    for (size_t a = 0; a < 4; a++) {
#pragma GCC unroll 4
        for (size_t b = 0; b < 4; b++) {
            const double *F = t->F + (size_t)w->base[lane] + (a * nk + b) * nl;
            const double weight = w->h[a][lane] * w->k[b][lane];
            for (int j = 0; j < 4; j++)
                sum[j] = fused(weight, F[j], sum[j]);
        }
    }
    const double low = fused(w->l[0][lane], sum[0], w->l[1][lane] * sum[1]);
    return low + fused(w->l[2][lane], sum[2], w->l[3][lane] * sum[3]);
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
    for (int i = 0; i < CPU_LANES; i++)
        F[i] = cubic_sum(t, lanes, i);
}

#endif
