/*
 * The loops of the point spread, compiled once per instruction set.  No multiplication is fused
 * with an addition, so that all instruction sets give the same bytes.  Loads from the first-level
 * cache limit the speed: two for every addition of a pair.
 */
#include "engine/detector/spread.h"

#include "base/isa.h"

static void start(float *restrict out, const float *restrict line, float factor, int first)
{
    if (first)
        for (int i = 0; i < SPREAD_TILE; i++)  // vectorised
            out[i] = factor * line[i];
    else
        for (int i = 0; i < SPREAD_TILE; i++)  // vectorised
            out[i] = out[i] + factor * line[i];
}

static void add(float *restrict out, const float *const *before, const float *const *after,
                const float *factor)
{
    const float *b0 = before[0], *b1 = before[1], *b2 = before[2], *b3 = before[3];
    const float *a0 = after[0], *a1 = after[1], *a2 = after[2], *a3 = after[3];
    const float f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
    for (int i = 0; i < SPREAD_TILE; i++)  // vectorised
        out[i] = out[i] + ((f0 * (b0[i] + a0[i]) + f1 * (b1[i] + a1[i])) +
                           (f2 * (b2[i] + a2[i]) + f3 * (b3[i] + a3[i])));
}

static void light(const float *restrict pixels, int64_t n, double *sum, double *largest)
{
    enum { LANES = 16 };
    double part[LANES] = {0}, most[LANES] = {0};
    const int64_t whole = n / LANES * LANES;
    for (int64_t first = 0; first < whole; first += LANES)
        for (int i = 0; i < LANES; i++) {
            const double v = (double)pixels[first + i];
            part[i] = part[i] + v;
            most[i] = v > most[i] ? v : most[i];
        }
    for (int64_t i = whole; i < n; i++) {
        const double v = (double)pixels[i];
        part[i - whole] += v;
        most[i - whole] = v > most[i - whole] ? v : most[i - whole];
    }
    *sum = *largest = 0.0;
    for (int i = 0; i < LANES; i++) {
        *sum += part[i];
        *largest = most[i] > *largest ? most[i] : *largest;
    }
}

const struct spread_kernels NAME(spread_kernels_, ISA) = {
    .start = start,
    .add = add,
    .light = light,
};
