/*
 * Halos at a point, compiled once per instruction set.  Nothing is fused, so all give the same
 * bytes.
 *
 * A reflection counts here as much as halo_share says; the rest of it, and all farther ones, are in
 * `far`, which is interpolated between the 8 nodes about the point.
 */
#include "engine/diffuse_loop.h"

#include <string.h>

#include "base/isa.h"

/* Of one row along l. */
typedef float nodes __attribute__((vector_size(HALO_EDGE * sizeof(float))));

static float far_sum(const struct halo_nodes *n, size_t first, const float at[3])
{
    float sum = 0.0f;
    for (int c = 0; c < 8; c++) {
        const int i = c >> 2, j = c >> 1 & 1, k = c & 1;
        const float share =
            (i ? at[0] : 1.0f - at[0]) * (j ? at[1] : 1.0f - at[1]) * (k ? at[2] : 1.0f - at[2]);
        sum += share * n->far[first + (size_t)(i + 1) * n->step[0] + (size_t)(j + 1) * n->step[1] +
                              (size_t)(k + 1)];
    }
    return sum;
}

static inline void add_half(float sums[HALO_NODES], int half)
{
    for (int i = 0; i < half; i++)
        sums[i] = sums[i] + sums[half + i];
}

static float sum(const struct halo_nodes *n, size_t first, const float at[3])
{
    float term[HALO_NODES], X[HALO_NODES], u[HALO_NODES], sums[HALO_NODES];
    float d[3][HALO_EDGE], near[3][HALO_EDGE];
    const float *w = n->width;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < HALO_EDGE; j++) {
            d[i][j] = at[i] + (float)(1 - j);
            near[i][j] = halo_share(d[i][j]);
        }
    nodes l, shares;
    memcpy(&l, d[2], sizeof l);
    memcpy(&shares, near[2], sizeof shares);
    for (int r = 0; r < HALO_EDGE * HALO_EDGE; r++) {
        const int i = r / HALO_EDGE, j = r % HALO_EDGE;
        const size_t row = first + (size_t)i * n->step[0] + (size_t)j * n->step[1];
        const float h = d[0][i], k = d[1][j], share = near[0][i] * near[1][j];
        const float begin = w[0] * h * h + w[1] * k * k + w[3] * h * k, slope = w[4] * h + w[5] * k;
        nodes F_sqr, x;
        memcpy(&F_sqr, n->F_sqr + row, sizeof F_sqr);
        memcpy(&x, n->X + row, sizeof x);
        const nodes width = begin + l * (slope + w[2] * l), weighted = share * shares * F_sqr * x;
        memcpy(u + r * HALO_EDGE, &width, sizeof width);
        memcpy(X + r * HALO_EDGE, &x, sizeof x);
        memcpy(term + r * HALO_EDGE, &weighted, sizeof weighted);
    }
    for (int i = 0; i < HALO_NODES; i++)
        sums[i] = 0.0f;
    for (int m = 1; m <= n->orders[first]; m += 2) {  // two by two, for one division
        const float square = (float)(m * m), next_square = (float)((m + 1) * (m + 1));
        const float next = 1.0f / (float)m, second = 1.0f / (float)(m + 1);
        for (int i = 0; i < HALO_NODES; i++) {  // vectorised
            const float t = square + u[i], v = next_square + u[i], both = 1.0f / (t * v);
            const float after = term[i] * (X[i] * next);
            sums[i] = sums[i] + (term[i] * (v * v) + after * (t * t)) * (both * both);
            term[i] = after * (X[i] * second);
        }
    }
    add_half(sums, 32);
    add_half(sums, 16);
    add_half(sums, 8);
    add_half(sums, 4);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]) + far_sum(n, first, at);
}

const struct diffuse_kernels NAME(diffuse_kernels_, ISA) = {.sum = sum};
