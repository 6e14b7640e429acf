/*
 * The dense loop: the photons of a block of pixels of one row.  dense.c explains the formulas; this
 * comment explains the loop.  The file is compiled once per instruction set (ISA = baseline, avx2,
 * avx512).
 *
 * Order of loops.  nanoBragg.c takes one pixel and sums all of its terms.  Here the loop over the
 * pixels of a block is inside, and the others are outside:
 *
 *     loop over                       function       work in the loop
 *     layers and subpixels            add_subpixel   fills 1/r and the factors of n pixels
 *     sources, at most 64 at a time   add_sources
 *     lattices                        add_lattice
 *     steps, steps x sources <= 64    add_lattice    fills struct dense_terms
 *     groups of pixels                sum_terms      keeps the sums of a group in registers
 *     steps, sources                  add_term       adds up to 64 terms to these sums
 *
 * Precision.  Indices are doubles until they are split.  Lattice factors and sums of up to 64
 * (DENSE_TERMS) terms are floats.  Sums of sums are doubles.
 *
 * Vectors.  A group is LANES pixels side by side: 4, 8 or 16 floats in one register (lanes.h), and
 * twice as many registers of doubles:
 *
 *     block     | p0 p1 ... p15 | p16 ...    p31 |  ...  up to 1024 pixels of one row
 *     floats    |  one register | next register  |          d, x, sums        (AVX-512: 16 lanes)
 *     doubles   | first| second |                           j, 1/r, indices   (8 lanes each)
 *
 * No operation crosses lanes, except that 64-bit numbers are split into 32-bit halves.  So a pixel
 * has the same bits in any lane, and blocks may be cut anywhere.  Lanes beyond the last pixel of a
 * block compute that pixel again.
 *
 * Two groups are computed side by side (DENSE_GROUPS): while one waits for the division of its
 * term, the other uses the multipliers.  Arithmetic limits the speed of the loop: a SQUARE
 * term has 84 operations, of which 50 are products.
 *
 * Vector types.  The functions of a term are written with vector types, because compilers use five
 * operations for the shuffle that splits doubles into their halves.  The loops marked "vectorised"
 * are plain C, and the compiler must turn them into vectors.  scripts/check-vectorised verifies
 * both.
 */
#include <string.h>

#include "engine/cpu/cpu.h"
#include "engine/cpu/lanes.h"
#include "engine/dense/dense.h"
#include "engine/dense/dense_reflections_loop.h"
#include "engine/dense/dense_row.h"
#include "engine/reflections/photons.h"

/* A block is computed in multiples of DENSE_PIXELS. */
enum { DENSE_GROUPS = 2, DENSE_PIXELS = DENSE_GROUPS * LANES };

/* One variant of the innermost loop.  Each caller passes constants, so the compiler makes one loop
 * without branches for each variant. */
struct dense_kind {
    bool fine, flat, wide;  // as in struct dense_lattice
    bool single;            // one source: start and slope include 1/wavelength
    bool keyed;             // terms are also summed by reflection
    enum crystal_shape shape;
};

/* ---- SQUARE: an index, its lattice factor, its table item ------------------------- */

/* The indices of LANES pixels along one axis, with opposite sign. */
struct dense_index {
    floats d;     // offset to the nearest index, |d| <= 1/2, times DENSE_UNIT; never 0
    floats x;     // N times the offset, modulo 1, times DENSE_UNIT; never 0
    words whole;  // high word: the nearest index; halves are rounded down
};

/* Splits the fixed-point numbers t into nearest index and offset. d and x are computed from the
 * same bits and the same rest, so that their ratio is right to single precision even if both are
 * very small. */
LANES_INLINE struct dense_index split_index(struct doubles_pair t, struct dense_kind kind,
                                            uint32_t cells, float N, floats rest, floats rest_N)
{
    long_words first = (long_words)t.first, second = (long_words)t.second;
    if (kind.fine) {
        /* The last 8 of 40 bits become the rest. Half of the last bit is added, so that the rest
         * is not 0. */
        const words low = words_low(first, second) & 255u;
        rest = floats_fused(floats_of_ints(low), floats_of(DENSE_UNIT * 0x1p-40f),
                            floats_of(DENSE_UNIT * 0x1p-41f));
        rest_N = rest * N;
        first >>= 8;
        second >>= 8;
    }
    words fraction = words_low(first, second), up = {0};
    if (!kind.flat)
        fraction ^= 0x80000000u;  // subtracts the 1/2 that rounds the index
    else if (kind.keyed)
        up = fraction >> 31;  // flat tables add no 1/2: the index is rounded here
    const floats unit = floats_of(DENSE_UNIT * 0x1p-32f);
    const struct dense_index i = {
        .d = floats_fused(floats_of_ints(fraction), unit, rest),
        .x = floats_fused(floats_of_ints(fraction * cells), unit, rest_N),
        .whole = words_high(first, second) + up,
    };
    return i;
}

/* Returns sin(pi x)/(pi x), times a constant that cancels in ratios, from DENSE_UNIT x.  Relative
 * error 6e-9 before rounding.  The polynomial of fourth degree in x^2 is a product of two
 * quadratics.  In this unit their difference is linear in x^2 without a product, so that the second
 * one takes two additions, for which processors may have other ports than for products. */
LANES_INLINE floats scaled_sinc(floats x)
{
    const floats y = x * x;
    const floats first = floats_fused(y + floats_of(-0x1.ea5a9cp+2f), y, floats_of(0x1.78031ap+3f));
    const floats second = first + (floats_of(0x1.cafcdap+5f) - y);
    return first * second;
}

/* Returns the product of sin(pi N h)/sin(pi h) over the axes, except for its sign. The product
 * needs only one division. */
LANES_INLINE floats lattice_ratio(const struct dense_index i[3])
{
    const floats x = i[0].x * i[1].x * i[2].x, d = i[0].d * i[1].d * i[2].d;
    const floats p = scaled_sinc(i[0].x) * scaled_sinc(i[1].x) * scaled_sinc(i[2].x);
    const floats q = scaled_sinc(i[0].d) * scaled_sinc(i[1].d) * scaled_sinc(i[2].d);
    return (x * p) / (d * q);
}

/* Returns the numbers of the table items of LANES pixels, see set_item_offset in dense.c. */
LANES_INLINE words table_item(const struct dense_lattice *l, bool wide,
                              const struct dense_index i[3])
{
    const words zero = {0}, along_h = zero + l->stride[0], along_k = zero + l->stride[1];
    const words h = wide ? i[0].whole * along_h : words_times_short(i[0].whole, along_h);
    const words k = wide ? i[1].whole * along_k : words_times_short(i[1].whole, along_k);
    return h + k + (i[2].whole + l->offset);
}

/* Returns the square root of the lattice factor of SQUARE crystals, and sets *slot to the table
 * items, for the fixed-point indices h[]. */
LANES_INLINE floats square_root_of_shape(const struct dense_lattice *l, const struct dense_terms *t,
                                         int term, struct dense_kind kind,
                                         const struct doubles_pair h[3], words *slot)
{
    struct dense_index i[3];
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++)
        i[axis] = split_index(h[axis], kind, l->turns[axis], l->N[axis],
                              floats_of(t->rest[term][axis]), floats_of(t->rest_N[term][axis]));
    if (!kind.flat || kind.keyed)
        *slot = table_item(l, kind.wide, i);
    return lattice_ratio(i);
}

/* ---- ROUND, GAUSS and TOPHAT: functions of the distance to the lattice point ------- */

/* Vectors of doubles are in the order of pixels here, unlike those for SQUARE. Two thirds of the
 * arithmetic is in double precision, which has half as many lanes. */

/* Returns sin(pi x)/(pi x).  The coefficients are those of sinc_scaled_f in fastmath.h, without its
 * scale. */
LANES_INLINE floats sinc(floats x)
{
    const floats y = x * x;
    floats p = floats_fused(floats_of(0x1.9409a0p-6f), y, floats_of(-0x1.85fa48p-3f));
    p = floats_fused(p, y, floats_of(0x1.9f98ccp-1f));
    p = floats_fused(p, y, floats_of(-0x1.a51a58p+0f));
    return floats_fused(p, y, floats_of(1.0f));
}

/* Returns m[0] h^2 + m[1] k^2 + m[2] l^2. */
LANES_INLINE doubles sum_of_squares(const double m[3], doubles h, doubles k, doubles l)
{
    return doubles_fused(h * h, doubles_of(m[0]),
                         doubles_fused(k * k, doubles_of(m[1]), l * l * m[2]));
}

/* Returns the quadratic form of distance_of_form in shape_fast.h. */
LANES_INLINE doubles quadratic_form(const double m[6], doubles dh, doubles dk, doubles dl)
{
    const doubles h =
        doubles_fused(dh, doubles_of(m[0]), doubles_fused(dk, doubles_of(m[3]), dl * m[4]));
    const doubles k = doubles_fused(dk, doubles_of(m[1]), dl * m[5]);
    return doubles_fused(h, dh, doubles_fused(k, dk, dl * dl * m[2]));
}

LANES_INLINE struct doubles_pair distance_squared(const struct dense_lattice *l, bool squares,
                                                  const struct doubles_pair d[3])
{
    const struct doubles_pair r = {
        squares ? sum_of_squares(l->form, d[0].first, d[1].first, d[2].first)
                : quadratic_form(l->form, d[0].first, d[1].first, d[2].first),
        squares ? sum_of_squares(l->form, d[0].second, d[1].second, d[2].second)
                : quadratic_form(l->form, d[0].second, d[1].second, d[2].second),
    };
    return r;
}

/* Returns (3 (sin x - x cos x) / x^3)^2 for x = pi sqrt(r), as round_squared in shape_fast.h.  The
 * root is taken in single precision.  The difference between r and the square of this root is added
 * in double precision. */
LANES_INLINE floats round_shape(struct doubles_pair r)
{
    const floats r_f = floats_of_doubles(r), root = floats_root(r_f), inverse = 1.0f / root;
    const struct doubles_pair s = doubles_of_floats(root);
    const struct doubles_pair rest = {doubles_fused(-s.first, s.first, r.first),
                                      doubles_fused(-s.second, s.second, r.second)};
    const floats whole = (root + 0x1.8p23f) - 0x1.8p23f;
    const floats f = floats_fused(floats_of_doubles(rest), 0.5f * inverse, root - whole);
    const floats up = 0.5f - (floats)((ints)f & INT32_MAX);
    const floats sine = f * sinc(f), cosine = up * sinc(up);  // divided by pi
    const floats w = inverse * 0x1.45f306p-2f, x_sqr = r_f * 0x1.3bd3ccp+3f;
    const floats closed = 0x1.e8ec8ap-1f * inverse * inverse * floats_fused(sine, w, -cosine);
    /* the series about 0, where the closed form cancels */
    floats p = floats_fused(floats_of(0x1.937e12p-21f), x_sqr, floats_of(-0x1.1566acp-14f));
    p = floats_fused(p, x_sqr, floats_of(0x1.d41d42p-9f));
    p = floats_fused(p, x_sqr, floats_of(-0.1f));
    p = floats_fused(p, x_sqr, floats_of(1.0f));
    const floats factor = floats_select((ints)(x_sqr < 1.0f), p, closed);
    return factor * factor;
}

/* Returns 2^-t 2^EXP2_BIAS, and 0 for t > EXP2_LIMIT, as exp2_negative_f in fastmath.h. */
LANES_INLINE floats gauss_shape(struct doubles_pair t)
{
    const double magic = 0x1.8p52;
    const struct doubles_pair n = {(t.first + magic) - magic, (t.second + magic) - magic};
    const struct doubles_pair rest = {n.first - t.first, n.second - t.second};
    const floats f = floats_of_doubles(rest), whole = floats_of_doubles(n);
    floats p = floats_of(0x1.41d332p-13f);
    p = floats_fused(p, f, floats_of(0x1.5f456ap-10f));
    p = floats_fused(p, f, floats_of(0x1.3b2dbcp-7f));
    p = floats_fused(p, f, floats_of(0x1.c6aed4p-5f));
    p = floats_fused(p, f, floats_of(0x1.ebfbdap-3f));
    p = floats_fused(p, f, floats_of(0x1.62e430p-1f));
    p = floats_fused(p, f, floats_of(1.0f));
    const floats limit = floats_of((float)EXP2_LIMIT);
    const ints lit = (ints)(whole <= limit);
    const words power = (words)(127 + EXP2_BIAS - ints_of_floats(floats_select(lit, whole, limit)));
    return (floats)((ints)(p * (floats)(power << 23)) & lit);
}

/* Returns 1 where the form is below TOPHAT_LIMIT, else 0. */
LANES_INLINE floats tophat_shape(struct doubles_pair r)
{
    const struct doubles_pair above = {r.first - TOPHAT_LIMIT, r.second - TOPHAT_LIMIT};
    return (floats)((ints)(floats_of_doubles(above) < 0.0f) & (ints)floats_of(1.0f));
}

LANES_INLINE floats shape_at_distance(const struct dense_lattice *l, enum crystal_shape shape,
                                      const struct doubles_pair d[3])
{
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_ellipsoid(shape))
        return round_shape(distance_squared(l, true, d));
    const struct doubles_pair form = distance_squared(l, false, d);
    return shape_is_gaussian(shape) ? gauss_shape(form) : tophat_shape(form);
}

/* Returns the fraction of fixed-point numbers, that is, the offset to the nearest index with
 * opposite sign.  `rest` is left out: it matters only where an offset is a divisor. */
LANES_INLINE doubles fraction_of(doubles t, bool fine)
{
    const doubles whole = (doubles)((long_words)t & (UINT64_MAX << (fine ? 40 : 32)));
    return (t - whole) - 0.5;
}

/* Returns the lattice factor of a shape other than SQUARE, and sets *slot to the table items,
 * for the fixed-point indices h[]. */
LANES_INLINE floats shape_of_offset(const struct dense_lattice *l, struct dense_kind kind,
                                    const struct doubles_pair h[3], words *slot)
{
    struct doubles_pair d[3];
    struct dense_index i[3];
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        d[axis].first = fraction_of(h[axis].first, kind.fine);
        d[axis].second = fraction_of(h[axis].second, kind.fine);
        const int below = kind.fine ? 8 : 0;
        i[axis].whole =
            words_high((long_words)h[axis].first >> below, (long_words)h[axis].second >> below);
    }
    if (!kind.flat || kind.keyed)
        *slot = words_in_order(table_item(l, kind.wide, i));
    return shape_at_distance(l, kind.shape, d);
}

/* ---- terms ------------------------------------------------------------------------- */

/* The values of one step for LANES pixels: (start + j slope) / r for each axis. For a single
 * source, 1/r is not included. */
struct dense_step {
    struct doubles_pair g[3];
};

LANES_INLINE struct dense_step step_at(const struct dense_terms *t, int step,
                                       struct dense_kind kind, struct doubles_pair j,
                                       struct doubles_pair inverse_airpath)
{
    struct dense_step s;
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        const doubles start = doubles_of(t->start[step][axis]);
        const doubles slope = doubles_of(t->slope[step][axis]);
        s.g[axis].first = doubles_fused(j.first, slope, start);
        s.g[axis].second = doubles_fused(j.second, slope, start);
        if (!kind.single) {
            s.g[axis].first *= inverse_airpath.first;
            s.g[axis].second *= inverse_airpath.second;
        }
    }
    return s;
}

/* Returns true if all terms have the same weight. The weight then multiplies the sum of the
 * terms. */
LANES_INLINE bool weight_multiplies_sum(struct dense_kind kind)
{
    return kind.flat && kind.single;
}

/* Adds one term to *sum and, if kind.keyed, stores it in met[term].  `per_m` is 1/wavelength, or
 * 1/(r wavelength) for a single source. */
LANES_INLINE void add_term(const struct dense_lattice *l, const struct dense_terms *t, int term,
                           struct dense_kind kind, const struct dense_step *s,
                           struct doubles_pair per_m, floats *sum, struct dense_met *met)
{
    const bool square = shape_is_grating(kind.shape);
    struct doubles_pair h[3];
    words slot;
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        const doubles magic = doubles_of(t->magic[term][axis]);
        h[axis].first = doubles_fused(s->g[axis].first, per_m.first, magic);
        h[axis].second = doubles_fused(s->g[axis].second, per_m.second, magic);
    }
    const floats root = square ? square_root_of_shape(l, t, term, kind, h, &slot) : floats_of(0.0f);
    floats shape = square ? root * root : shape_of_offset(l, kind, h, &slot);
    floats weight = floats_of(t->weight[term]);
    if (!kind.flat) {
        shape *= weight;
        weight = floats_gather(l->F_sqr, slot);
    }
    *sum = weight_multiplies_sum(kind) ? floats_fused(root, root, *sum)
                                       : floats_fused(shape, weight, *sum);
    if (kind.keyed) {
        met[term].slot = slot;
        met[term].term = shape * weight;
    }
}

/* Stores the sums of LANES pixels. If a pixel has only one short sum, stores the photons of the
 * pixels instead, and sets *lost to NaN where photons are not finite. */
LANES_INLINE void store_sum(struct dense_scratch *s, int first, floats sum, floats *lost)
{
    if (s->one_short_sum) {
        sum *= floats_load(s->pixel_factor + first);
        *lost += sum - sum;
    }
    floats_store(s->sum_to + first, sum);
}

/* Sums the terms *t of one lattice for n pixels. Only one group is computed at a time if there
 * are not enough registers for two: for shapes other than SQUARE, and for terms that are stored
 * and need a gather. */
LANES_INLINE void sum_terms(const struct dense_lattice *lattice, const struct dense_terms *t,
                            struct dense_kind kind, int n, struct dense_scratch *s)
{
    const struct dense_lattice l = *lattice;
    const bool square = shape_is_grating(kind.shape);
    const int groups = square && (kind.flat || !kind.keyed) ? DENSE_GROUPS : 1;
    floats lost = {0};
    for (int i = 0; i < n; i += groups * LANES) {
        struct doubles_pair j[DENSE_GROUPS], inverse[DENSE_GROUPS];
        floats sum[DENSE_GROUPS];
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            j[g] = doubles_pair_load(s->j + i + g * LANES, square);
            inverse[g] = doubles_pair_load(s->inverse_airpath + i + g * LANES, square);
            sum[g] = (floats){0};
        }
        struct dense_met met[DENSE_GROUPS][DENSE_TERMS];
        for (int step = 0; step < t->nsteps; step++) {
            struct dense_step at[DENSE_GROUPS];
#pragma GCC unroll 2
            for (int g = 0; g < groups; g++) {
                at[g] = step_at(t, step, kind, j[g], inverse[g]);
            }
            const int sources = kind.single ? 1 : t->nsources;
            for (int source = 0; source < sources; source++)
#pragma GCC unroll 2
                for (int g = 0; g < groups; g++) {
                    const doubles per_m = doubles_of(t->per_m[source]);
                    const struct doubles_pair same = {per_m, per_m};
                    add_term(&l, t, step * sources + source, kind, &at[g],
                             kind.single ? inverse[g] : same, &sum[g], met[g]);
                }
        }
        for (int g = 0; g < groups && kind.keyed; g++)
            dense_reflections_take(s->shares, t, i + g * LANES, met[g]);
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++)
            store_sum(s, i + g * LANES,
                      weight_multiplies_sum(kind) ? sum[g] * floats_of(t->weight[0]) : sum[g],
                      &lost);
    }
    if (lanes_below(lost, floats_of(1.0f)) != LANES_ALL)
        s->not_finite = true;
}

/* ---- the choice of the innermost loop ---------------------------------------------- */

/* Each line below calls sum_terms with constants, so that the compiler makes a separate loop for
 * each line. */

LANES_INLINE void sum_by_sources(const struct dense_lattice *l, struct dense_kind kind, int n,
                                 struct dense_scratch *s)
{
    kind.single = true;
    if (s->terms.single)
        sum_terms(l, &s->terms, kind, n, s);
    kind.single = false;
    if (!s->terms.single)
        sum_terms(l, &s->terms, kind, n, s);
}

LANES_INLINE void sum_square(const struct dense_lattice *l, struct dense_kind kind,
                             enum crystal_shape shape, int n, struct dense_scratch *s)
{
    const bool fine = kind.fine, keyed = kind.keyed;
    if (l->flat)
        sum_by_sources(l, (struct dense_kind){fine, true, keyed, false, keyed, shape}, n, s);
    else if (l->wide)
        sum_by_sources(l, (struct dense_kind){fine, false, true, false, keyed, shape}, n, s);
    else
        sum_by_sources(l, (struct dense_kind){fine, false, false, false, keyed, shape}, n, s);
}

LANES_INLINE void sum_other(const struct dense_lattice *l, struct dense_kind kind,
                            enum crystal_shape shape, int n, struct dense_scratch *s)
{
    const bool fine = kind.fine, keyed = kind.keyed;
    if (l->flat)
        sum_terms(l, &s->terms, (struct dense_kind){fine, true, true, false, keyed, shape}, n, s);
    else
        sum_terms(l, &s->terms, (struct dense_kind){fine, false, true, false, keyed, shape}, n, s);
}

LANES_INLINE void sum_shape(const struct dense_lattice *l, struct dense_kind kind,
                            enum crystal_shape shape, int n, struct dense_scratch *s)
{
    if (shape_is_grating(shape))
        sum_square(l, kind, shape, n, s);
    else
        sum_other(l, kind, shape, n, s);
}

LANES_INLINE void sum_by_shape(const struct dense_lattice *l, struct dense_kind kind, int n,
                               struct dense_scratch *s)
{
#define SUM_SHAPE(shape)                 \
    case shape:                          \
        sum_shape(l, kind, shape, n, s); \
        break;
    switch (l->shape) {
        CRYSTAL_SHAPES(SUM_SHAPE)
    }
#undef SUM_SHAPE
}

/* Four functions instead of one, because compilers run out of registers in larger functions. */
#define SUM_FUNCTION(name, is_fine, is_keyed)                                               \
    __attribute__((noinline)) static void name(const struct dense_lattice *l, int n,        \
                                               struct dense_scratch *s)                     \
    {                                                                                       \
        sum_by_shape(l, (struct dense_kind){.fine = (is_fine), .keyed = (is_keyed)}, n, s); \
    }
SUM_FUNCTION(sum_low, false, false)
SUM_FUNCTION(sum_fine, true, false)
SUM_FUNCTION(sum_low_keyed, false, true)
SUM_FUNCTION(sum_fine_keyed, true, true)

static void sum_lattice(const struct dense_lattice *l, int n, struct dense_scratch *s)
{
    if (s->shares && l->fine)
        sum_fine_keyed(l, n, s);
    else if (s->shares)
        sum_low_keyed(l, n, s);
    else if (l->fine)
        sum_fine(l, n, s);
    else
        sum_low(l, n, s);
}

/* ---- constants of terms ------------------------------------------------------------ */

/* Fills start[] and slope[] of the terms. For a single source both include the factor
 * 1/wavelength. */
static void prepare_steps(const struct dense_lattice *l, size_t first, const struct dense_row *row,
                          struct dense_terms *t)
{
    const double per_m = t->single ? t->per_m[0] : 1.0;
    for (int step = 0; step < t->nsteps; step++)
        for (int axis = 0; axis < 3; axis++)
            dense_step_axis(l->cells + 9 * (first + (size_t)step) + 3 * axis, row, per_m,
                            &t->start[step][axis], &t->slope[step][axis]);
}

static void prepare_term(const struct dense_lattice *l, const double *cell,
                         const struct cpu_source *source, double per_m, struct dense_terms *t,
                         int term)
{
    for (int axis = 0; axis < 3; axis++) {
        t->magic[term][axis] =
            dense_term_axis(l, cell + 3 * axis, source, per_m, &t->rest[term][axis]);
        t->rest_N[term][axis] = t->rest[term][axis] * l->N[axis];
    }
}

/* Fills *t with the terms of t->nsteps steps, from step `first` on, and of the sources `from`. */
static void prepare_terms(const struct cpu_job *job, const struct dense_lattice *l, size_t first,
                          struct source_range from, const struct dense_row *row,
                          struct dense_terms *t)
{
    const float F_sqr = l->flat ? l->F_sqr[0] : 1.0f;
    for (size_t i = 0; i < from.count; i++)
        t->per_m[i] = job->sources[from.first + i].index_per_m * (1.0 / INDEX_SCALE);
    prepare_steps(l, first, row, t);
    int term = 0;
    for (int step = 0; step < t->nsteps; step++)
        for (size_t i = 0; i < from.count; i++, term++) {
            const struct cpu_source *source = &job->sources[from.first + i];
            prepare_term(l, l->cells + 9 * (first + (size_t)step), source, t->per_m[i], t, term);
            t->weight[term] = (float)source->weight * F_sqr;
        }
}

/* ---- factors of pixels ------------------------------------------------------------- */

/* Fills j[] and j_f[]. Lanes beyond the last pixel repeat the column of the last pixel, so that
 * they have no index outside the table. */
static void fill_columns(const struct cpu_where *w, int n, struct dense_scratch *s)
{
    const double first = (double)(w->panel->grid_fast + w->fast) - nearest_column(w->panel);
    if (s->columns.count == w->count && s->columns.first == first)
        return;
    s->columns = (struct dense_columns){first, w->count};
    const int last = w->count - 1;
    for (int i = 0; i < n; i++) {  // vectorised
        s->j[i] = first + (double)(i < last ? i : last);
        s->j_f[i] = (float)s->j[i];
    }
}

/* Fills the arrays of 1/r. There are two loops, because each operation of a pixel waits for the
 * previous operation, and a CPU can hold only a limited number of waiting operations. */
static void fill_airpaths(const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct quadratic half = half_square(row);
    const struct quadratic_f half_f = quadratic_f(half);
    for (int i = 0; i < n; i++)  // vectorised
        s->inverse_airpath_f[i] = rough_of_half(quadratic_f_at(half_f, s->j_f[i]));
    for (int i = 0; i < n; i++)  // vectorised
        s->inverse_airpath[i] =
            inverse_of_half(quadratic_at(half, s->j[i]), s->inverse_airpath_f[i]);
}

/* Fills pixel_factor[] with the product of the solid angle (if `solid`), the polarization (if
 * `polarized`) and `scale`, at the first subpixel. */
static void fill_pixel_factors(const struct cpu_job *job, const struct panel *p,
                               const struct dense_row *row, bool solid, bool polarized,
                               double scale, int n, struct dense_scratch *s)
{
    const struct dense_once o =
        dense_once(p, job->sources, job->x->beam.kahn, row, solid, polarized, scale);
    for (int i = 0; i < n; i++)  // vectorised
        s->pixel_factor[i] = dense_once_at(&o, s->j_f[i], s->inverse_airpath_f[i]);
}

static void fill_captures(const struct panel *p, int layer, double absorb,
                          const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct dense_layer l = dense_layer(p, layer, absorb, row);
    for (int i = 0; i < n; i++)  // vectorised
        s->capture[i] = dense_capture(l, s->j[i], s->inverse_airpath[i]);
}

static void fill_kept(const struct cpu_source *w, const struct dense_row *row, int n,
                      struct dense_scratch *s)
{
    const struct dense_cull c = dense_cull(w, row);
    for (int i = 0; i < n; i++)  // vectorised
        s->kept[i] = dense_kept(c, s->j[i], s->inverse_airpath[i]);
}

/* Fills polarization[] with the values for this source (if `each`), or else with the values for
 * the first source that dmin does not exclude. */
INLINE void fill_polarizations(const struct cpu_source *w, double kahn, const struct dense_row *row,
                               bool each, int n, struct dense_scratch *s)
{
    const struct quadratic q = kahn_quadratic(w, kahn, row);
    for (int i = 0; i < n; i++) {  // vectorised
        const double value = dense_polarization(q, s->j[i], s->inverse_airpath[i]);
        const double first = value * s->kept[i], old = s->polarization[i];
        s->polarization[i] = each ? value : old == 0.0 ? first : old;
    }
}

/* Sets term_factor[] to the product of the factors that differ between subpixels or sources. */
static void fill_term_factors(const struct panel *p, const struct sampling *each, bool culled,
                              int n, struct dense_scratch *s)
{
    for (int i = 0; i < n; i++)  // vectorised
        s->term_factor[i] = 1.0;
    if (p->thickness_m > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            s->term_factor[i] *= s->capture[i];
    if (culled)
        for (int i = 0; i < n; i++)  // vectorised
            s->term_factor[i] *= s->kept[i];
    if (each->each_polarization)
        for (int i = 0; i < n; i++)  // vectorised
            s->term_factor[i] *= s->polarization[i];
    if (each->each_solid_angle)
        for (int i = 0; i < n; i++)  // vectorised
            s->term_factor[i] *= solid_angle_of(p, s->inverse_airpath[i]);
}

/* Multiplies term_factor[] by the factors of the B factor of a lattice, for one source. */
static void damp_term_factors(const struct dense_lattice *l, const struct cpu_source *w,
                              const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct dense_damp d = dense_damp(l->damping_m2, w, row);
    for (int i = 0; i < n; i++)  // vectorised
        s->term_factor[i] *= dense_damping(d, s->j[i], s->inverse_airpath[i]);
}

/* ---- a block ----------------------------------------------------------------------- */

/* Adds the terms of all steps of one lattice and of the sources `from` to s->total. */
static void add_lattice(const struct cpu_job *job, const struct dense_lattice *l,
                        struct source_range from, const struct dense_row *row, int n,
                        struct dense_scratch *s)
{
    struct dense_terms *t = &s->terms;
    const double scale = l->scale;
    const size_t most = DENSE_TERMS / from.count;
    t->nsources = (int)from.count;
    t->single = from.count == 1 && shape_is_grating(l->shape);
    for (size_t first = 0; first < l->nsteps; first += most) {
        t->nsteps = (int)(l->nsteps - first < most ? l->nsteps - first : most);
        prepare_terms(job, l, first, from, row, t);
        if (s->shares)
            dense_reflections_begin(s->shares, job, (size_t)(l - job->dense), first, t, n,
                                    s->one_short_sum ? 1.0 : scale,
                                    s->has_term_factor ? s->term_factor : NULL);
        sum_lattice(l, n, s);
        if (s->one_short_sum)
            break;
        if (s->has_term_factor)
            for (int i = 0; i < n; i++)  // vectorised
                s->total[i] =
                    fused(s->term_factor[i] * scale, (double)s->short_sum[i], s->total[i]);
        else
            for (int i = 0; i < n; i++)  // vectorised
                s->total[i] = fused(scale, (double)s->short_sum[i], s->total[i]);
    }
}

/* Adds the water and all lattices for the sources `from`, which have the same factors. */
static void add_sources(const struct cpu_job *job, const struct panel *p, int layer,
                        struct source_range from, const struct dense_row *row, int n,
                        struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const struct cpu_source *sources = job->sources + from.first;
    const bool culled = x->dmin_m > 0.0, each = x->sampling.each_polarization;
    if (job->absorbs && p->thickness_m > 0.0)
        fill_captures(p, layer, sources->absorb, row, n, s);
    if (culled)
        fill_kept(sources, row, n, s);
    if (!x->beam.no_polarization && each)
        fill_polarizations(sources, x->beam.kahn, row, true, n, s);
    else if (!x->beam.no_polarization && culled)
        fill_polarizations(sources, x->beam.kahn, row, false, n, s);
    if (s->has_term_factor)
        fill_term_factors(p, &x->sampling, culled, n, s);
    double water = 0.0;
    for (size_t i = 0; i < from.count; i++)
        water += job->water * sources[i].weight;
    if (water > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            s->total[i] = fused(s->has_term_factor ? s->term_factor[i] : 1.0, water, s->total[i]);
    for (size_t i = 0; i < job->ndense; i++) {
        const bool damps = job->dense[i].damping_m2 > 0.0;
        if (damps)
            damp_term_factors(&job->dense[i], sources, row, n, s);
        add_lattice(job, &job->dense[i], from, row, n, s);
        if (damps)
            fill_term_factors(p, &x->sampling, culled, n, s);
    }
}

/* Adds the terms of one subpixel of one layer. The solid angle, the capture fraction and the
 * polarization are those of the first subpixel, unless the options ask for the value of each
 * subpixel, as in the reference engine. If the capture fraction differs between sources, it is
 * computed for each subpixel. If factors differ between sources (dmin, polarization of each
 * source, B factors), the sources are added one by one. */
static void add_subpixel(const struct cpu_job *job, const struct cpu_where *w, struct subpixel sub,
                         int n, struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const struct sampling *each = &x->sampling;
    const bool first = !sub.slow && !sub.fast, culled = x->dmin_m > 0.0;
    const bool alike = !culled && !each->each_polarization;
    const struct dense_row row =
        dense_row(w->panel, nearest_column(w->panel), w->slow, each->oversample, sub);
    fill_airpaths(&row, n, s);
    if (s->shares && s->shares->boxed)
        dense_reflections_find(job, &row, n, s);
    if (first && !sub.layer)
        fill_pixel_factors(job, w->panel, &row, !each->each_solid_angle,
                           alike && !x->beam.no_polarization,
                           s->one_short_sum ? job->dense[0].scale : 1.0, n, s);
    if (!job->absorbs && w->panel->thickness_m > 0.0 && (each->each_thickness || first))
        fill_captures(w->panel, sub.layer, 1.0, &row, n, s);
    const size_t most = alike && !job->damps ? DENSE_TERMS : 1;
    for (size_t i = 0; i < job->nsources;) {
        const struct source_range from = {i,
                                          cpu_sources_alike(job->sources, i, job->nsources, most)};
        add_sources(job, w->panel, sub.layer, from, &row, n, s);
        i += from.count;
    }
}

/* Decides how the sums of this block are computed, and clears these sums. */
static void start_block(const struct cpu_job *job, const struct cpu_where *w, int n,
                        struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const double polarization = x->beam.no_polarization ? 1.0 : 0.0;
    s->has_term_factor = job->damps || dense_is_varied(&x->sampling, w->panel, x->dmin_m > 0.0);
    s->one_short_sum = !s->has_term_factor && job->ndense == 1 && !job->sums && job->water == 0.0 &&
                       dense_is_alone(job->dense, w->panel, job->nsources, x->sampling.oversample);
    fill_columns(w, n, s);
    if (!s->one_short_sum)
        memset(s->total, 0, (size_t)n * sizeof *s->total);
    if (s->has_term_factor)
        for (int i = 0; i < n; i++) {  // vectorised
            s->polarization[i] = polarization;
            s->kept[i] = 1.0;
        }
}

/* Writes the photons of a block to the image, unless store_sum has written them already. */
static void store_photons(const struct cpu_where *w, struct dense_scratch *s, float *out)
{
    if (s->sum_to == out)
        return;
    if (s->one_short_sum) {
        memcpy(out, s->sum_to, (size_t)w->count * sizeof *out);
        return;
    }
    for (int i = 0; i < w->count; i++)  // vectorised
        out[i] = (float)(s->total[i] * (double)s->pixel_factor[i]);
    if (!photons_are_finite(out, (size_t)w->count))
        s->not_finite = true;
}

/* Computes the photons of w->count pixels. This is the member `dense` of struct cpu_kernels. */
void NAME(cpu_dense_, ISA)(const struct cpu_job *job, const struct cpu_where *w,
                           struct dense_scratch *s, float *out)
{
    const struct sampling *each = &job->x->sampling;
    const int n = (w->count + DENSE_PIXELS - 1) / DENSE_PIXELS * DENSE_PIXELS;
    start_block(job, w, n, s);
    s->sum_to = s->one_short_sum && n == w->count ? out : s->short_sum;
    if (s->shares)
        dense_reflections_clear(s->shares, job->ndense, n);
    const int64_t count = subpixels_of(w->panel, each->oversample);
    for (int64_t i = 0; i < count; i++)
        add_subpixel(job, w, subpixel_at(i, each->oversample), n, s);
    cpu_add_sums(job, w, s->total);
    if (job->x->dmin_m > 0.0 && !each->each_polarization)
        for (int i = 0; i < n; i++)  // vectorised
            s->pixel_factor[i] *= (float)s->polarization[i];
    store_photons(w, s, out);
    if (s->shares)
        dense_reflections_end(s->shares, job, w, n, s->pixel_factor);
    if (job->trace)
        cpu_trace_pixel(job, (double)out[0], out[0]);
}
