/*
 * Quotients without a way aside for numbers that are hardly ever there: the bits of a / b, rounded
 * correctly, where all that is between is normal.  What the compiler makes of this operator on a
 * card is the same operations, and a test and a call for all other numbers.
 */
#ifndef BRAGG_GPU_DENSE_SUM_H
#define BRAGG_GPU_DENSE_SUM_H

#include <stdalign.h>

#include "base/portable_math.h"
#include "engine/dense/dense_row.h"
#include "gpu/frame.h"

/* a / b from an approximation of 1/b that is an ulp off at most. */
HD float quotient_refined(float a, float b, float rough)
{
    const float near = fmaf(rough, fmaf(-b, rough, 1.0f), rough);
    const float q = a * near;
    return fmaf(near, fmaf(-b, q, a), q);
}

/* a / b for 2^-100 < |b| < 2^100 and a quotient in these bounds, or one that does not matter. */
HD float gpu_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
    float rough;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(b));
    return quotient_refined(a, b, rough);
#else
    return a / b;
#endif
}

/*
 * The dense form on a card: terms, as the threads of a block prepare them together, and their sum
 * for one pixel.  A part of gpu/dense.h.
 */

/* Not unrolled: registers are worth more. */
#ifdef __CUDA_ARCH__
#define GPU_ROLLED _Pragma("unroll 1")
#else
#define GPU_ROLLED
#endif

/* ---- threads of a block ------------------------------------------------------------ */

struct gpu_team {
    int thread, threads;
};

/* Until all are here. */
INLINE void gpu_team_wait(struct gpu_team team)
{
#ifdef __CUDA_ARCH__
    (void)team;
    __syncthreads();
#elif !defined(__CUDACC__)
    if (team.threads > 1) {
#pragma omp barrier
    }
#endif
}

/* Whether `mine` is true of one of them, or perhaps; the same answer for all. */
INLINE bool gpu_team_any(struct gpu_team team, bool mine)
{
#ifdef __CUDA_ARCH__
    (void)team;
    return __syncthreads_or(mine);
#else
    return mine || team.threads > 1;
#endif
}

/* ---- what a block shares ------------------------------------------------------------ */

/* -h modulo 1 is (start + j slope) / (r wavelength) + magic, see dense_row.h. */
struct gpu_step {
    alignas(16) double start[3], slope[3];
};

struct gpu_term {
    alignas(16) double magic[3], per_m;  // 1/wavelength, where there are several
    float rest[3], weight;               // as in struct dense_terms; with F_sqr if that is flat
    float rest_N[3];
};

/* A block's pixels: `count` of row `slow` of a panel, those of the panel's region of interest being
 * from lit_first to lit_end - 1; `whole`: all of them, and none is masked.  Of the first one: its
 * place in the mask, NULL without one, and in what leaves, its number and its column. */
struct gpu_strip {
    const struct gpu_panel *panel;
    int64_t slow;
    int count, lit_first, lit_end;
    bool whole;
    const uint8_t *mask;
    float *out;
    int64_t pixel;
    double first;
};

/* A pixel whose photons are not one short sum, with the values found so far. */
struct gpu_dense_pixel {
    double j, inverse;  // column; 1/airpath, 1/m
    float once;
    double capture, polarization;  // of panels that are `varied`; 0: not known yet
    double total;
};

struct gpu_room {
    struct gpu_strip strip;
    struct gpu_step step[DENSE_TERMS];
    struct gpu_term term[DENSE_TERMS];  // sources fastest
    struct dense_row row;
    struct quadratic half;
    struct quadratic_f half_f;
    struct dense_once once;
    struct dense_layer layer;
    struct dense_cull cull;  // of the current source
    struct quadratic kahn;   // likewise
};

/* The terms of `nsteps` steps from `first` on and some sources: those of this thread. */
INLINE void gpu_prepare_terms(const struct gpu_frame *f, const struct dense_lattice *l,
                              struct source_range from, size_t first, int nsteps,
                              struct gpu_team team, struct gpu_room *room)
{
    const struct cpu_source *sources = f->sources + from.first;
    const int nsources = (int)from.count;
    const double *cells = l->cells + 9 * first;
    const double one = nsources == 1 ? sources->index_per_m * (1.0 / INDEX_SCALE) : 1.0;
    GPU_ROLLED
    for (int i = team.thread; i < 3 * nsteps; i += team.threads)
        dense_step_axis(cells + 3 * i, &room->row, one, &room->step[i / 3].start[i % 3],
                        &room->step[i / 3].slope[i % 3]);
    GPU_ROLLED
    for (int i = team.thread; i < 3 * nsteps * nsources; i += team.threads) {
        const int term = i / 3, axis = i % 3, step = term / nsources;
        const struct cpu_source *w = &sources[term - step * nsources];
        struct gpu_term *t = &room->term[term];
        const double per_m = w->index_per_m * (1.0 / INDEX_SCALE);
        t->magic[axis] = dense_term_axis(l, cells + 9 * step + 3 * axis, w, per_m, &t->rest[axis]);
        t->rest_N[axis] = t->rest[axis] * l->N[axis];
        t->per_m = per_m;
        t->weight = (float)w->weight * (l->flat ? l->F_sqr[0] : 1.0f);
    }
}

/* ---- one term, as dense_loop.c ------------------------------------------------- */

/* An index along one axis, see struct dense_index. */
struct gpu_index {
    float d, x;
    uint32_t whole;
};

INLINE struct gpu_index gpu_index(double t, struct gpu_dense_kind kind, uint32_t cells, float N,
                                  float rest, float rest_N)
{
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    if (kind.fine) {
        const uint32_t low = (uint32_t)bits & 255u;
        rest = fused_f((float)(int32_t)low, DENSE_UNIT * 0x1p-40f, DENSE_UNIT * 0x1p-41f);
        rest_N = rest * N;
        bits >>= 8;
    }
    const uint32_t fraction = (uint32_t)bits ^ (kind.flat ? 0u : 0x80000000u);
    const struct gpu_index i = {
        fused_f((float)(int32_t)fraction, DENSE_UNIT * 0x1p-32f, rest),
        fused_f((float)(int32_t)(fraction * cells), DENSE_UNIT * 0x1p-32f, rest_N),
        (uint32_t)(bits >> 32),
    };
    return i;
}

/* As dense_sine. */
INLINE float gpu_sine(float x)
{
    const float y = x * x;
    const float first = fused_f(y + -0x1.ea5a9cp+2f, y, 0x1.78031ap+3f);
    const float second = first + (0x1.cafcdap+5f - y);
    return first * second;
}

/* As dense_ratio.  Both sides of the division are between 2^-93 and 2^31. */
INLINE float gpu_ratio(struct gpu_index h, struct gpu_index k, struct gpu_index l)
{
    const float x = h.x * k.x * l.x, d = h.d * k.d * l.d;
    const float p = gpu_sine(h.x) * gpu_sine(k.x) * gpu_sine(l.x);
    const float q = gpu_sine(h.d) * gpu_sine(k.d) * gpu_sine(l.d);
    return gpu_quotient(x * p, d * q);
}

/* The sum, and one term more.  `per_m`: 1/wavelength, or 1/(r wavelength) for a single source;
 * `alike`: all terms have the same weight, which then multiplies their sum. */
INLINE float gpu_dense_add(const struct dense_lattice *l, struct gpu_dense_kind kind,
                           const struct gpu_term *t, double g0, double g1, double g2, double per_m,
                           bool alike, float sum)
{
    const struct gpu_index h = gpu_index(fused(g0, per_m, t->magic[0]), kind, l->turns[0], l->N[0],
                                         t->rest[0], t->rest_N[0]);
    const struct gpu_index k = gpu_index(fused(g1, per_m, t->magic[1]), kind, l->turns[1], l->N[1],
                                         t->rest[1], t->rest_N[1]);
    const struct gpu_index m = gpu_index(fused(g2, per_m, t->magic[2]), kind, l->turns[2], l->N[2],
                                         t->rest[2], t->rest_N[2]);
    const float ratio = gpu_ratio(h, k, m);
    if (alike)
        return fused_f(ratio, ratio, sum);
    const float shape = ratio * ratio;
    if (kind.flat)
        return fused_f(shape, t->weight, sum);
    const uint32_t slot = h.whole * l->stride[0] + k.whole * l->stride[1] + (m.whole + l->offset);
    return fused_f(shape * t->weight, l->F_sqr[slot], sum);
}

/* ---- sums -------------------------------------------------------------------------- */

INLINE float gpu_sum_kind(const struct dense_lattice *lattice, struct gpu_dense_kind kind,
                          const struct gpu_room *room, int nsteps, int nsources, double j,
                          double inverse)
{
    const struct dense_lattice l = *lattice;
    float sum = 0.0f;
    if (nsources == 1) {
        GPU_ROLLED
        for (int step = 0; step < nsteps; step++) {
            const struct gpu_step *s = &room->step[step];
            sum = gpu_dense_add(&l, kind, &room->term[step], fused(j, s->slope[0], s->start[0]),
                                fused(j, s->slope[1], s->start[1]),
                                fused(j, s->slope[2], s->start[2]), inverse, kind.flat, sum);
        }
        return kind.flat ? sum * room->term[0].weight : sum;
    }
    const struct gpu_term *t = room->term;
    GPU_ROLLED
    for (int step = 0; step < nsteps; step++) {
        const struct gpu_step *s = &room->step[step];
        const double g0 = fused(j, s->slope[0], s->start[0]) * inverse;
        const double g1 = fused(j, s->slope[1], s->start[1]) * inverse;
        const double g2 = fused(j, s->slope[2], s->start[2]) * inverse;
        GPU_ROLLED
        for (int source = 0; source < nsources; source++, t++)
            sum = gpu_dense_add(&l, kind, t, g0, g1, g2, t->per_m, false, sum);
    }
    return sum;
}

/* The sum of the terms in the room for column j.  `kind` is a constant where it is called; for
 * `any` lattice one constant combination per line, so that each becomes a loop of its own. */
INLINE float gpu_dense_sum(const struct dense_lattice *l, struct gpu_dense_kind kind,
                           const struct gpu_room *room, int nsteps, int nsources, double j,
                           double inverse)
{
    struct gpu_dense_kind k = kind;
    if (!kind.any)
        return gpu_sum_kind(l, kind, room, nsteps, nsources, j, inverse);
    k.fine = k.flat = true;
    if (l->fine && l->flat)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.flat = false;
    if (l->fine)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.fine = false;
    if (!l->flat)
        return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
    k.flat = true;
    return gpu_sum_kind(l, k, room, nsteps, nsources, j, inverse);
}

#endif
