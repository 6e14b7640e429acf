/*
 * The formulas of the dense path for one row and one term.  dense_loop.c and the CUDA kernel
 * (gpu/dense.h) share them, so that both give the same bytes.  All of it compiles as CUDA.
 * dense.c explains the method.
 *
 * Most quantities have two functions.  One returns the constants of the quantity along a row
 * (dense_once, dense_layer, dense_cull, kahn_quadratic).  The other returns its value in column j,
 * from j and 1/r (dense_once_at, dense_capture, dense_kept, dense_polarization).  Columns are
 * counted from the one nearest to the sample, where the quadratics in j have no large terms that
 * cancel.
 */
#ifndef BRAGG_ENGINE_DENSE_ROW_H
#define BRAGG_ENGINE_DENSE_ROW_H

#include <string.h>

#include "base/vec.h"
#include "engine/cpu/cpu_point.h"
#include "engine/prepared.h"
#include "physics/crystal/shape.h"
#include "physics/detector/pixel.h"

/* The range of sources first .. first + count - 1 of a frame. */
struct source_range {
    size_t first, count;
};

/* ---- rows ------------------------------------------------------------------------ */

/* A row of subpixels.  Column j is at start + j step. */
struct dense_row {
    double start[3], step[3];  // m
};

/* Returns the column of the plane that is nearest to the sample, a whole number. */
INLINE double nearest_column(const struct panel *p)
{
    return round_even(-vec_dot(pixel_plane(p), p->fast) / p->pixel_m);
}

/* Returns the row of one subpixel row `slow`, with j counted from column `nearest`. */
INLINE struct dense_row dense_row(const struct panel *p, double nearest, int64_t slow,
                                  int oversample, struct subpixel sub)
{
    const struct flat_row flat = flat_row(p, slow, oversample, sub);
    const double f = fused(nearest, p->pixel_m, flat.offset);
    struct dense_row row;
    for (int i = 0; i < 3; i++) {
        row.start[i] = fused(f, p->fast[i], flat.base[i]);
        row.step[i] = p->pixel_m * p->fast[i];
    }
    return row;
}

/* A quadratic in j. */
struct quadratic {
    double a, b, c;  // a + j b + j^2 c
};

INLINE double quadratic_at(struct quadratic q, double j)
{
    return fused(fused(q.c, j, q.b), j, q.a);
}

/* Returns r^2/2 as a quadratic in j, where r is the distance from the sample. Half of the square
 * saves a factor in both of the next functions. */
INLINE struct quadratic half_square(const struct dense_row *row)
{
    const struct quadratic q = {0.5 * vec_dot(row->start, row->start),
                                vec_dot(row->start, row->step),
                                0.5 * vec_dot(row->step, row->step)};
    return q;
}

/* A quadratic in j in single precision, for quadratics whose terms do not cancel. */
struct quadratic_f {
    float a, b, c;
};

INLINE struct quadratic_f quadratic_f(struct quadratic q)
{
    const struct quadratic_f f = {(float)q.a, (float)q.b, (float)q.c};
    return f;
}

INLINE float quadratic_f_at(struct quadratic_f q, float j)
{
    return fused_f(fused_f(q.c, j, q.b), j, q.a);
}

/* Returns 1/r in single precision from r^2/2, with a relative error of 2e-7. A shift of the bits
 * halves the exponent and gives a first value, which a step of third order and a Newton step
 * improve. Eight products are faster than a square root and a division, for which other
 * operations would wait. */
INLINE float rough_of_half(float half_sqr)
{
    uint32_t bits;
    float y;
    memcpy(&bits, &half_sqr, sizeof bits);
    bits = 0x5ef75a86u - (bits >> 1);
    memcpy(&y, &bits, sizeof y);
    const float e = fused_f(-half_sqr * y, y, 0.5f);
    y *= fused_f(fused_f(1.5f, e, 1.0f), e, 1.0f);
    return y * fused_f(-half_sqr * y, y, 1.5f);
}

/* Returns 1/r from r^2/2 and from 1/r in single precision (`rough`), with one Newton step. The
 * relative error is 3e-14. */
INLINE double inverse_of_half(double half_sqr, float rough)
{
    const double y = (double)rough;
    return y * fused(-half_sqr * y, y, 1.5);
}

/* Returns the quadratic q of the polarization factor 1/2 + q(j) / r^2 (Kahn et al., J. Appl. Cryst.
 * 15, 330, 1982). */
INLINE struct quadratic kahn_quadratic(const struct cpu_source *w, double kahn,
                                       const struct dense_row *row)
{
    const double c = vec_dot(w->incident, row->start), dc = vec_dot(w->incident, row->step);
    const double e = vec_dot(w->e, row->start), de = vec_dot(w->e, row->step);
    const double b = vec_dot(w->b, row->start), db = vec_dot(w->b, row->step);
    const struct quadratic q = {0.5 * (c * c - kahn * (e * e - b * b)),
                                c * dc - kahn * (e * de - b * db),
                                0.5 * (dc * dc - kahn * (de * de - db * db))};
    return q;
}

/* Factors for which the first subpixel stands for the whole pixel, in single precision:
 * (one + kahn(j) / r^2) (alone + square / r^2 + cube / r^3). */
struct dense_once {
    float kahn[3];  // a, b, c of a quadratic
    float one, alone, square, cube;
};

/* Returns the constants of solid angle (if `solid`) times polarization by this source (if
 * `polarized`) times `scale`. */
INLINE struct dense_once dense_once(const struct panel *p, const struct cpu_source *source,
                                    double kahn, const struct dense_row *row, bool solid,
                                    bool polarized, double scale)
{
    struct dense_once o = {{0.0f, 0.0f, 0.0f}, 1.0f, (float)scale, 0.0f, 0.0f};
    if (polarized) {
        const struct quadratic q = kahn_quadratic(source, kahn, row);
        o.kahn[0] = (float)q.a;
        o.kahn[1] = (float)q.b;
        o.kahn[2] = (float)q.c;
        o.one = 0.5f;
    }
    if (solid) {
        o.alone = 0.0f;
        if (p->point_pixel)
            o.square = (float)scale;
        else
            o.cube = (float)(p->pixel_m * p->pixel_m * p->close_distance_m * scale);
    }
    return o;
}

INLINE float dense_once_at(const struct dense_once *o, float j, float inverse)
{
    const float sqr = inverse * inverse;
    const float kahn = fused_f(fused_f(o->kahn[2], j, o->kahn[1]), j, o->kahn[0]);
    return fused_f(sqr, kahn, o->one) *
           fused_f(sqr, fused_f(o->cube, inverse, o->square), o->alone);
}

/* ---- factors of terms ------------------------------------------------------------ */

/* Constants of the capture fraction of a sensor layer for a source whose coefficient is `absorb`
 * times that of the panel: the negative depths of its front and its back over the attenuation
 * length, and the row along the normal. */
struct dense_layer {
    double front, back, start, step;
};

INLINE struct dense_layer dense_layer(const struct panel *p, int layer, double absorb,
                                      const struct dense_row *row)
{
    const double mu = p->absorption_1_m * absorb;
    const struct dense_layer l = {-layer * p->layer_m * mu, -(layer + 1) * p->layer_m * mu,
                                  vec_dot(row->start, p->normal), vec_dot(row->step, p->normal)};
    return l;
}

/* Returns the capture fraction in column j, as pixel_capture_of in physics/detector/pixel.h
 * computes it. */
INLINE double dense_capture(struct dense_layer l, double j, double inverse)
{
    const double parallax = fused(l.step, j, l.start) * inverse;
    const double slant = 1.0 / parallax;
    return exp_fast(l.front * slant) - exp_fast(l.back * slant);
}

/* The constants of the resolution limit dmin: a source is not excluded in a pixel if the cosine
 * of the direction to the pixel is not below `limit`. */
struct dense_cull {
    double start, step, limit;
};

INLINE struct dense_cull dense_cull(const struct cpu_source *w, const struct dense_row *row)
{
    const struct dense_cull c = {vec_dot(w->incident, row->start), vec_dot(w->incident, row->step),
                                 0.5 * (1.0 + vec_dot(w->incident, w->incident) - w->reach_sqr)};
    return c;
}

/* Returns 0 if dmin excludes the source in column j, else 1. */
INLINE double dense_kept(struct dense_cull c, double j, double inverse)
{
    return fused(c.step, j, c.start) * inverse < c.limit ? 0.0 : 1.0;
}

/* The constants of the factor exp(-damping q^2) of a lattice for one source: q^2 is
 * (|s|^2 + 1 - 2 s . d) / wavelength^2 in the direction d, s being the direction of the source. */
struct dense_damp {
    double start, step, alone, twice;
};

INLINE struct dense_damp dense_damp(double damping_m2, const struct cpu_source *w,
                                    const struct dense_row *row)
{
    const double per_m = w->index_per_m * (1.0 / INDEX_SCALE), k = damping_m2 * per_m * per_m;
    const struct dense_damp d = {vec_dot(w->incident, row->start), vec_dot(w->incident, row->step),
                                 -k * (1.0 + vec_dot(w->incident, w->incident)), 2.0 * k};
    return d;
}

/* Returns the factor in column j. */
INLINE double dense_damping(struct dense_damp d, double j, double inverse)
{
    return exp_fast(fused(d.twice, fused(d.step, j, d.start) * inverse, d.alone));
}

INLINE double dense_polarization(struct quadratic kahn, double j, double inverse)
{
    return fused(inverse * inverse, quadratic_at(kahn, j), 0.5);
}

/* ---- steps and terms --------------------------------------------------------------- */

/* Sets start and slope of one step along one cell vector: -h modulo 1 is
 * (start + j slope) / (r wavelength) + magic.  `per_m` is 1/wavelength for a single source, else 1.
 */
INLINE void dense_step_axis(const double cell[3], const struct dense_row *row, double per_m,
                            double *start, double *slope)
{
    *start = -vec_dot(cell, row->start) * per_m;
    *slope = -vec_dot(cell, row->step) * per_m;
}

/* Returns the constant of one source and step along one cell vector, which makes -h a fixed-point
 * number.  Sets *rest to what rounding took from it, times DENSE_UNIT; it is never 0. */
INLINE double dense_term_axis(const struct dense_lattice *l, const double cell[3],
                              const struct cpu_source *source, double per_m, float *rest)
{
    const double one = l->fine ? DENSE_FINE : DENSE_LOW,
                 half = l->flat && shape_is_grating(l->shape) ? 0.0 : 0.5;
    const double h = vec_dot(cell, source->incident) * per_m;
    const double magic = one + (h + half);
    const double lost = h - (magic - one - half);
    *rest = DENSE_UNIT * (float)(fabs(lost) < 0x1p-40 ? 0x1p-40 : lost);
    return magic;
}

/* Returns true if the photons of a pixel are one short sum, which then stays in single
 * precision. Only for frames with one lattice and without water. */
INLINE bool dense_is_alone(const struct dense_lattice *l, const struct panel *p, size_t nsources,
                           int oversample)
{
    return nsources * l->nsteps <= DENSE_TERMS && subpixels_of(p, oversample) == 1 &&
           l->scale > 1e-20 && l->scale < 1e20;
}

/* Returns true if the factors of a pixel differ between subpixels or between sources. */
INLINE bool dense_is_varied(const struct sampling *each, const struct panel *p, bool culled)
{
    return p->thickness_m > 0.0 || culled || each->each_polarization || each->each_solid_angle;
}

#endif
