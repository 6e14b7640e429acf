/*
 * The dense form on the GPU: quotients, the terms of a block, and their sum for one pixel.
 *
 * The quotients here are those of the operator / without its slow path.  They have the correctly
 * rounded bits of a / b if all intermediate results are normal numbers.  The compiler's code for
 * a / b has the same operations, and in addition a test and a call for all other numbers, which
 * almost never occur here.
 */
#ifndef BRAGG_GPU_DENSE_SUM_H
#define BRAGG_GPU_DENSE_SUM_H

#include <stdalign.h>

#include "base/portable_math.h"
#include "engine/dense/dense_row.h"
#include "gpu/frame.h"

/* Returns a / b.  `rough` is an approximation of 1/b with an error of at most one ulp. */
HD float quotient_refined(float a, float b, float rough)
{
    const float near = fmaf(rough, fmaf(-b, rough, 1.0f), rough);
    const float q = a * near;
    return fmaf(near, fmaf(-b, q, a), q);
}

/* Returns a / b, if |b| and |a / b| are between 2^-100 and 2^100.  Outside these limits the result
 * may be wrong. */
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
 * The terms, which the threads of a block prepare together, and their sum for one pixel.  The
 * caller is gpu/dense.h.
 */

/* GPU_ROLLED before a loop: the compiler does not unroll the loop, because the unrolled loop
 * would need more registers. */
#ifdef __CUDA_ARCH__
#define GPU_ROLLED _Pragma("unroll 1")
#else
#define GPU_ROLLED
#endif

/* ---- threads of a block ------------------------------------------------------------ */

struct gpu_team {
    int thread, threads;  // index of this thread, 0 to threads - 1; number of threads
};

/* Barrier: returns when all threads of the block have called it. */
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

/* Returns the same value in all threads: true if `mine` is true in at least one thread.  On the CPU
 * with several threads it is always true. */
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

/* The constants of one step. -h modulo 1 is (start + j slope) / (r wavelength) + magic, see
 * dense_row.h. */
struct gpu_step {
    alignas(16) double start[3], slope[3];
};

/* The constants of one term, that is, of a step and a source. */
struct gpu_term {
    alignas(16) double magic[3], per_m;  // `per_m`: 1/wavelength in 1/m, for several sources
    float rest[3], weight;               // as in struct dense_terms; if the lattice is flat,
                                         // `weight` includes F_sqr
    float rest_N[3];                     // rest[] times the number of cells
};

/* The pixels of a block: `count` neighbours in row `slow` of a panel. */
struct gpu_strip {
    const struct gpu_panel *panel;
    int64_t slow;
    int count, lit_first, lit_end;  // pixels lit_first to lit_end - 1 are in the region of interest
    bool whole;                     // all are in the region of interest, and the panel has no mask
    const uint8_t *mask;            // mask of the first pixel; NULL: the panel has no mask
    float *out;                     // output of the first pixel
    int64_t pixel;                  // number of the first pixel in the frame
    double first;                   // column of the first pixel, counted from nearest_column
};

/* A pixel whose photons are not one short sum, with the values computed so far. */
struct gpu_dense_pixel {
    double j, inverse;             // column; 1 over the distance from the sample, in 1/m
    float once;                    // factors that multiply the sum of all terms
    double capture, polarization;  // for panels that are `varied`; polarization 0: not known yet
    double total;
};

/* Data that the threads of a block share. */
struct gpu_room {
    struct gpu_strip strip;
    struct gpu_step step[DENSE_TERMS];
    struct gpu_term term[DENSE_TERMS];  // the index of the source varies fastest
    struct dense_row row;
    struct quadratic half;
    struct quadratic_f half_f;
    struct dense_once once;
    struct dense_layer layer;
    struct dense_cull cull;  // for the current source
    struct quadratic kahn;   // polarization for the current source
};

/* Prepares terms in *room: `nsteps` steps from step `first` on, for the sources of the range
 * `from`.  Each thread prepares its part of them. */
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

/* ---- one term, with the operations of dense_loop.c ------------------------------ */

/* The index of a pixel along one axis, see struct dense_index. */
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

/* Returns sin(pi x)/(pi x), times a constant that cancels in ratios, from DENSE_UNIT x. See
 * scaled_sinc in dense_loop.c. */
INLINE float gpu_sine(float x)
{
    const float y = x * x;
    const float first = fused_f(y + -0x1.ea5a9cp+2f, y, 0x1.78031ap+3f);
    const float second = first + (0x1.cafcdap+5f - y);
    return first * second;
}

/* Returns the product of sin(pi N h)/sin(pi h) over the axes, up to its sign: one division. See
 * lattice_ratio in dense_loop.c. Dividend and divisor are between 2^-93 and 2^31. */
INLINE float gpu_ratio(struct gpu_index h, struct gpu_index k, struct gpu_index l)
{
    const float x = h.x * k.x * l.x, d = h.d * k.d * l.d;
    const float p = gpu_sine(h.x) * gpu_sine(k.x) * gpu_sine(l.x);
    const float q = gpu_sine(h.d) * gpu_sine(k.d) * gpu_sine(l.d);
    return gpu_quotient(x * p, d * q);
}

/* Returns the sum with one more term.
 *   per_m  1/wavelength; for a single source 1/(r wavelength)
 *   alike  all terms have the same weight, by which the caller multiplies the sum */
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

/* Returns the sum of the terms in *room for column j.  `kind` is a constant at each call.  If
 * kind.any, each combination of constants has its own line, so that the compiler makes a separate
 * loop for each. */
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
