/*
 * The squared lattice factor times the squared structure factor of one step and one source, for
 * LANES pixels: a part of cpu_dense_loop.c.  Written as vectors, because compilers make five
 * operations of the shuffle that parts two vectors of doubles into halves.  What bounds it:
 * arithmetic.  Of 84 operations of a term 50 are products, for which a processor has two ports: 25
 * cycles at least, 28 measured (Zen 5, with AVX-512 and AVX2 alike); with a table the gather, too.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_TERM_H
#define BRAGG_ENGINE_CPU_DENSE_TERM_H

#include "engine/cpu/lanes.h"
#include "engine/dense/cpu_dense.h"
#include "engine/dense/cpu_dense_keys.h"
#include "engine/dense/cpu_dense_shape.h"

/* What the loop is compiled for: constants where it is called. */
struct dense_kind {
    bool fine, flat, wide;  // as in struct dense_lattice
    bool single;            // one source: per_m is in start and slope
    bool keyed;             // terms are kept, to be summed by reflection
    enum crystal_shape shape;
};

/* An index along one axis, negative: its fraction d, |d| <= 1/2, N times the same modulo 1, both
 * times DENSE_UNIT, and the nearest index, halves down. */
struct dense_index {
    floats d, x;
    words whole;
};

/* Parts fixed-point numbers.  d and x are made of the same bits and rest, so that their ratio
 * is right to single precision however small they are; neither is ever 0. */
LANES_INLINE struct dense_index dense_index(struct doubles_pair t, struct dense_kind kind,
                                            uint32_t cells, float N, floats rest, floats rest_N)
{
    long_words first = (long_words)t.first, second = (long_words)t.second;
    if (kind.fine) {
        const words low = words_low(first, second) & 255u;
        rest = floats_fused(floats_of_ints(low), floats_of(DENSE_UNIT * 0x1p-40f),
                            floats_of(DENSE_UNIT * 0x1p-41f));
        rest_N = rest * N;
        first >>= 8;
        second >>= 8;
    }
    words fraction = words_low(first, second), up = {0};
    if (!kind.flat)
        fraction ^= 0x80000000u;  // less the half that rounds the index
    else if (kind.keyed)
        up = fraction >> 31;
    const floats unit = floats_of(DENSE_UNIT * 0x1p-32f);
    const struct dense_index i = {
        .d = floats_fused(floats_of_ints(fraction), unit, rest),
        .x = floats_fused(floats_of_ints(fraction * cells), unit, rest_N),
        .whole = words_high(first, second) + up,
    };
    return i;
}

/* sin(pi x)/(pi x) times a constant that ratios do not see, from DENSE_UNIT x; relative error 6e-9
 * before rounding.  A polynomial of fourth degree in x^2 is the product of two quadratics, whose
 * difference is linear: in this unit the second one takes two additions, for which processors may
 * have other ports than for products. */
LANES_INLINE floats dense_sine(floats x)
{
    const floats y = x * x;
    const floats first = floats_fused(y + floats_of(-0x1.ea5a9cp+2f), y, floats_of(0x1.78031ap+3f));
    const floats second = first + (floats_of(0x1.cafcdap+5f) - y);
    return first * second;
}

/* The product of sin(pi N h)/sin(pi h) over the axes: one division. */
LANES_INLINE floats dense_ratio(const struct dense_index i[3])
{
    const floats x = i[0].x * i[1].x * i[2].x, d = i[0].d * i[1].d * i[2].d;
    const floats p = dense_sine(i[0].x) * dense_sine(i[1].x) * dense_sine(i[2].x);
    const floats q = dense_sine(i[0].d) * dense_sine(i[1].d) * dense_sine(i[2].d);
    return (x * p) / (d * q);
}

/* Items of the padded table. */
LANES_INLINE words dense_slot(const struct dense_lattice *l, bool wide,
                              const struct dense_index i[3])
{
    const words zero = {0}, along_h = zero + l->stride[0], along_k = zero + l->stride[1];
    const words h = wide ? i[0].whole * along_h : words_times_short(i[0].whole, along_h);
    const words k = wide ? i[1].whole * along_k : words_times_short(i[1].whole, along_k);
    return h + k + (i[2].whole + l->offset);
}

/* One step as seen from LANES pixels: (start + j slope) / r for each axis, for a single source
 * without r. */
struct dense_step {
    struct doubles_pair g[3];
};

LANES_INLINE struct dense_step dense_step(const struct dense_terms *t, int step,
                                          struct dense_kind kind, struct doubles_pair j,
                                          struct doubles_pair inverse)
{
    struct dense_step s;
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        const doubles start = doubles_of(t->start[step][axis]);
        const doubles slope = doubles_of(t->slope[step][axis]);
        s.g[axis].first = doubles_fused(j.first, slope, start);
        s.g[axis].second = doubles_fused(j.second, slope, start);
        if (!kind.single) {
            s.g[axis].first *= inverse.first;
            s.g[axis].second *= inverse.second;
        }
    }
    return s;
}

/* Fractions of fixed-point numbers, that is, offsets to the nearest index, negative.  What the
 * numbers lost is too little for shapes without a division by an offset. */
LANES_INLINE doubles dense_fraction(doubles t, bool fine)
{
    const doubles whole = (doubles)((long_words)t & (UINT64_MAX << (fine ? 40 : 32)));
    return (t - whole) - 0.5;
}

/* Shape and slots of one term, where h[] are fixed-point indices. */
LANES_INLINE floats dense_offset_shape(const struct dense_lattice *l, struct dense_kind kind,
                                       const struct doubles_pair h[3], words *slot)
{
    struct doubles_pair d[3];
    struct dense_index i[3];
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        d[axis].first = dense_fraction(h[axis].first, kind.fine);
        d[axis].second = dense_fraction(h[axis].second, kind.fine);
        const int below = kind.fine ? 8 : 0;
        i[axis].whole =
            words_high((long_words)h[axis].first >> below, (long_words)h[axis].second >> below);
    }
    if (!kind.flat || kind.keyed)
        *slot = words_in_order(dense_slot(l, kind.wide, i));
    return dense_shape(l, kind.shape, d);
}

/* The root of the shape, and slots, of SQUARE. */
LANES_INLINE floats dense_square_root(const struct dense_lattice *l, const struct dense_terms *t,
                                      int term, struct dense_kind kind,
                                      const struct doubles_pair h[3], words *slot)
{
    struct dense_index i[3];
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++)
        i[axis] = dense_index(h[axis], kind, l->turns[axis], l->N[axis],
                              floats_of(t->rest[term][axis]), floats_of(t->rest_N[term][axis]));
    if (!kind.flat || kind.keyed)
        *slot = dense_slot(l, kind.wide, i);
    return dense_ratio(i);
}

/* Whether all terms have the same weight, which then multiplies their sum. */
LANES_INLINE bool dense_weighs_sum(struct dense_kind kind)
{
    return kind.flat && kind.single;
}

/* Adds one term to *sum and, where terms are keyed, keeps it in *met.  `per_m`: 1/wavelength, or
 * 1/(r wavelength) for a single source. */
LANES_INLINE void dense_term(const struct dense_lattice *l, const struct dense_terms *t, int term,
                             struct dense_kind kind, const struct dense_step *s,
                             struct doubles_pair per_m, floats *sum, struct dense_met *met)
{
    const bool square = kind.shape == SHAPE_SQUARE;
    struct doubles_pair h[3];
    words slot;
#pragma GCC unroll 3
    for (int axis = 0; axis < 3; axis++) {
        const doubles magic = doubles_of(t->magic[term][axis]);
        h[axis].first = doubles_fused(s->g[axis].first, per_m.first, magic);
        h[axis].second = doubles_fused(s->g[axis].second, per_m.second, magic);
    }
    const floats root = square ? dense_square_root(l, t, term, kind, h, &slot) : floats_of(0.0f);
    floats shape = square ? root * root : dense_offset_shape(l, kind, h, &slot);
    floats weight = floats_of(t->weight[term]);
    if (!kind.flat) {
        shape *= weight;
        weight = floats_gather(l->F_sqr, slot);
    }
    *sum =
        dense_weighs_sum(kind) ? floats_fused(root, root, *sum) : floats_fused(shape, weight, *sum);
    if (kind.keyed) {
        met[term].slot = slot;
        met[term].term = shape * weight;
    }
}

#endif
