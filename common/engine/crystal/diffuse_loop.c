/*
 * Halos at a point, compiled once per instruction set.  No multiplication is fused with an
 * addition, so that all instruction sets give the same bytes.
 *
 * The function halo_share says which part of a reflection is summed here.  The rest of the
 * reflection, and all reflections farther away, are in `far`, which is interpolated between the 8
 * nodes around the point.
 *
 * The nodes around the point are four layers along h.  Each layer has four rows along k, and each
 * row has four nodes along l.  A layer is loaded row by row into VECTORS vectors.
 */
#include "engine/crystal/diffuse.h"

#include <string.h>

#include "base/isa.h"
#include "engine/cpu/lanes.h"

enum { LAYER = HALO_EDGE * HALO_EDGE, VECTORS = LAYER / LANES, ROWS = LANES / HALO_EDGE };

/* Offsets of a point at 0, 0 from the nodes of a layer, along k and l. */
static const float BEHIND_K[LAYER] = {1, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1, -2, -2, -2, -2};
static const float BEHIND_L[LAYER] = {1, 0, -1, -2, 1, 0, -1, -2, 1, 0, -1, -2, 1, 0, -1, -2};

LANES_INLINE floats rows_at(const float *from, size_t step)
{
#if defined(__AVX512F__)
    const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                            _mm_loadu_ps(from + step), 1);
    const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + 2 * step)),
                                             _mm_loadu_ps(from + 3 * step), 1);
    return (floats)_mm512_castpd_ps(_mm512_insertf64x4(
        _mm512_castpd256_pd512(_mm256_castps_pd(low)), _mm256_castps_pd(high), 1));
#elif defined(__AVX2__)
    return (floats)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                        _mm_loadu_ps(from + step), 1);
#else
    (void)step;
    return floats_load(from);
#endif
}

/* Returns halo_share of each number. */
LANES_INLINE floats shares_of(floats d)
{
    const floats left = 2.0f - (floats)((words)d & 0x7fffffff), one = floats_of(1.0f);
    const floats some = (floats)((ints)left & (left >= 0.0f));
    const ints all = some > 1.0f;
    return (floats)(((ints)one & all) | ((ints)some & ~all));
}

/* The nodes around a point: u of each node, and the part of its halo that is summed at the
 * point. */
struct nearby_nodes {
    floats u[HALO_EDGE][VECTORS], share[HALO_EDGE][VECTORS];
};

LANES_INLINE void look_about(const float w[6], const float at[3], struct nearby_nodes *a)
{
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
        const floats k = at[1] + floats_load(BEHIND_K + v * LANES);
        const floats l = at[2] + floats_load(BEHIND_L + v * LANES);
        const floats shares_k = shares_of(k), shares_l = shares_of(l);
        const floats kk = w[1] * k * k, kl = w[5] * k, ll = w[2] * l;
#pragma GCC unroll 4
        for (int i = 0; i < HALO_EDGE; i++) {
            const float h = at[0] + (float)(1 - i);
            const floats begin = w[0] * h * h + kk + w[3] * h * k, slope = w[4] * h + kl;
            a->u[i][v] = begin + l * (slope + ll);
            a->share[i][v] = halo_share(h) * shares_k * shares_l;
        }
    }
}

static inline float far_sum(const struct halo_nodes *n, size_t first, const float at[3])
{
    const float *from = n->far + first + n->step[0] + n->step[1] + 1;
    const float on[3][2] = {{1.0f - at[0], at[0]}, {1.0f - at[1], at[1]}, {1.0f - at[2], at[2]}};
    float sum = 0.0f;
#pragma GCC unroll 4
    for (size_t row = 0; row < 4; row++) {
        const float *two = from + (row >> 1) * n->step[0] + (row & 1) * n->step[1];
        const float share = on[0][row >> 1] * on[1][row & 1];
        sum += share * on[2][0] * two[0];
        sum += share * on[2][1] * two[1];
    }
    return sum;
}

/* Returns the sum over all nodes: halves are added to halves until one number is left. */
LANES_INLINE float sum_all(floats sums[HALO_EDGE][VECTORS])
{
    float part[LAYER];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++)
        floats_store(part + v * LANES, (sums[0][v] + sums[2][v]) + (sums[1][v] + sums[3][v]));
    for (int half = LAYER / 2; half >= 4; half /= 2)
        for (int i = 0; i < half; i++)
            part[i] = part[i] + part[half + i];
    return (part[0] + part[2]) + (part[1] + part[3]);
}

static float sum(const struct halo_nodes *n, size_t first, const float at[3])
{
    struct nearby_nodes a;
    floats term[HALO_EDGE][VECTORS], X[HALO_EDGE][VECTORS], sums[HALO_EDGE][VECTORS];
    look_about(n->width, at, &a);
#pragma GCC unroll 16
    for (int i = 0; i < HALO_EDGE * VECTORS; i++) {
        const int h = i / VECTORS, v = i % VECTORS;
        const size_t node = first + (size_t)h * n->step[0] + (size_t)(v * ROWS) * n->step[1];
        X[h][v] = rows_at(n->X + node, n->step[1]);
        term[h][v] = a.share[h][v] * rows_at(n->F_sqr + node, n->step[1]) * X[h][v];
        sums[h][v] = floats_of(0.0f);
    }
    for (int m = 1; m <= n->orders[first]; m += 2) {  // orders in pairs, which share a division
        const float square = (float)(m * m), next_square = (float)((m + 1) * (m + 1));
        const float next = 1.0f / (float)m, second = 1.0f / (float)(m + 1);
#pragma GCC unroll 16
        for (int i = 0; i < HALO_EDGE * VECTORS; i++) {
            const int h = i / VECTORS, v = i % VECTORS;
            const floats t = square + a.u[h][v], s = next_square + a.u[h][v];
            const floats both = 1.0f / (t * s), after = term[h][v] * (X[h][v] * next);
            sums[h][v] = sums[h][v] + (term[h][v] * (s * s) + after * (t * t)) * (both * both);
            term[h][v] = after * (X[h][v] * second);
        }
    }
    return sum_all(sums) + far_sum(n, first, at);
}

const struct diffuse_kernels NAME(diffuse_kernels_, ISA) = {.sum = sum};
