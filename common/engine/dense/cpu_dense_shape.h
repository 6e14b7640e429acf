/*
 * ROUND, GAUSS and TOPHAT for LANES pixels, from offsets to the nearest lattice point in double
 * precision: a part of cpu_dense_loop.c, as cpu_dense_term.h.  Doubles are in the order of
 * pixels.  What bounds it: arithmetic, two thirds of it in double precision on half as many lanes.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_SHAPE_H
#define BRAGG_ENGINE_CPU_DENSE_SHAPE_H

#include "engine/cpu/lanes.h"
#include "engine/dense/cpu_dense.h"

/* sin(pi x)/(pi x) from x^2, as sinc_scaled_f without its scale. */
LANES_INLINE floats dense_sinc(floats x)
{
    const floats y = x * x;
    floats p = floats_fused(floats_of(0x1.9409a0p-6f), y, floats_of(-0x1.85fa48p-3f));
    p = floats_fused(p, y, floats_of(0x1.9f98ccp-1f));
    p = floats_fused(p, y, floats_of(-0x1.a51a58p+0f));
    return floats_fused(p, y, floats_of(1.0f));
}

/* m[0] h^2 + m[1] k^2 + m[2] l^2. */
LANES_INLINE doubles dense_squares(const double m[3], doubles h, doubles k, doubles l)
{
    return doubles_fused(h * h, doubles_of(m[0]),
                         doubles_fused(k * k, doubles_of(m[1]), l * l * m[2]));
}

/* As distance_of_form. */
LANES_INLINE doubles dense_form(const double m[6], doubles dh, doubles dk, doubles dl)
{
    const doubles h =
        doubles_fused(dh, doubles_of(m[0]), doubles_fused(dk, doubles_of(m[3]), dl * m[4]));
    const doubles k = doubles_fused(dk, doubles_of(m[1]), dl * m[5]);
    return doubles_fused(h, dh, doubles_fused(k, dk, dl * dl * m[2]));
}

LANES_INLINE struct doubles_pair dense_distance(const struct dense_lattice *l, bool squares,
                                                const struct doubles_pair d[3])
{
    const struct doubles_pair r = {
        squares ? dense_squares(l->form, d[0].first, d[1].first, d[2].first)
                : dense_form(l->form, d[0].first, d[1].first, d[2].first),
        squares ? dense_squares(l->form, d[0].second, d[1].second, d[2].second)
                : dense_form(l->form, d[0].second, d[1].second, d[2].second),
    };
    return r;
}

/* As round_squared: the root in single precision, what it lacks from the square in double. */
LANES_INLINE floats dense_round(struct doubles_pair r)
{
    const floats r_f = floats_of_doubles(r), root = floats_root(r_f), inverse = 1.0f / root;
    const struct doubles_pair s = doubles_of_floats(root);
    const struct doubles_pair rest = {doubles_fused(-s.first, s.first, r.first),
                                      doubles_fused(-s.second, s.second, r.second)};
    const floats whole = (root + 0x1.8p23f) - 0x1.8p23f;
    const floats f = floats_fused(floats_of_doubles(rest), 0.5f * inverse, root - whole);
    const floats up = 0.5f - (floats)((ints)f & INT32_MAX);
    const floats sine = f * dense_sinc(f), cosine = up * dense_sinc(up);  // / pi
    const floats w = inverse * 0x1.45f306p-2f, x_sqr = r_f * 0x1.3bd3ccp+3f;
    /* 3 (sin x / x - cos x) / x^2, x = pi root */
    const floats closed = 0x1.e8ec8ap-1f * inverse * inverse * floats_fused(sine, w, -cosine);
    floats p = floats_fused(floats_of(0x1.937e12p-21f), x_sqr, floats_of(-0x1.1566acp-14f));
    p = floats_fused(p, x_sqr, floats_of(0x1.d41d42p-9f));
    p = floats_fused(p, x_sqr, floats_of(-0.1f));
    p = floats_fused(p, x_sqr, floats_of(1.0f));
    const floats factor = floats_select((ints)(x_sqr < 1.0f), p, closed);
    return factor * factor;
}

/* As exp2_negative_f. */
LANES_INLINE floats dense_gauss(struct doubles_pair t)
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

/* 1 where the form is below TOPHAT_LIMIT, else 0. */
LANES_INLINE floats dense_tophat(struct doubles_pair r)
{
    const struct doubles_pair above = {r.first - TOPHAT_LIMIT, r.second - TOPHAT_LIMIT};
    return (floats)((ints)(floats_of_doubles(above) < 0.0f) & (ints)floats_of(1.0f));
}

LANES_INLINE floats dense_shape(const struct dense_lattice *l, enum crystal_shape shape,
                                const struct doubles_pair d[3])
{
    if (shape == SHAPE_ROUND)
        return dense_round(dense_distance(l, true, d));
    const struct doubles_pair form = dense_distance(l, false, d);
    return shape == SHAPE_GAUSS ? dense_gauss(form) : dense_tophat(form);
}

#endif
