/*
 * What the pixels of a block of the dense loop see before any crystal is asked: airpaths, solid
 * angles, what a sensor layer catches, polarization, all as functions of the column j.  A part of
 * cpu_dense_loop.c; loops marked "vectorised" must be.  What bounds them: one root and one
 * division a pixel.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_PIXELS_H
#define BRAGG_ENGINE_CPU_DENSE_PIXELS_H

#include "base/vec.h"
#include "engine/cpu.h"
#include "engine/cpu_dense.h"
#include "engine/cpu_point.h"
#include "physics/pixel.h"

/* ---- positions ----------------------------------------------------------------- */

/* A row of subpixels: position = start + j step. */
struct dense_row {
    double start[3], step[3];  // m
};

/* Column of the plane nearest to the sample, a whole number. */
static double nearest_column(const struct panel *p)
{
    return round_even(-vec_dot(pixel_plane(p), p->fast) / p->pixel_m);
}

static struct dense_row dense_row(const struct panel *p, int64_t slow, int oversample,
                                  struct subpixel sub)
{
    const struct flat_row flat = flat_row(p, slow, oversample, sub);
    const double f = fused(nearest_column(p), p->pixel_m, flat.offset);
    struct dense_row row;
    for (int i = 0; i < 3; i++) {
        row.start[i] = fused(f, p->fast[i], flat.base[i]);
        row.step[i] = p->pixel_m * p->fast[i];
    }
    return row;
}

/* Lanes beyond the last pixel compute that pixel once more, so that no index is beyond the
 * table. */
static void columns(const struct cpu_where *w, int n, struct dense_scratch *s)
{
    const int32_t first = (int32_t)(w->panel->grid_fast + w->fast), last = w->count - 1;
    const double nearest = nearest_column(w->panel);
    for (int i = 0; i < n; i++)  // vectorised
        s->j[i] = (double)(first + (i < last ? i : last)) - nearest;
}

/* 1/airpath from half of its square: a start in single precision and a step of Newton's;
 * relative error 3e-14. */
INLINE double inverse_of_half(double half_sqr)
{
    const double y = (double)(0.70710678f / sqrtf((float)half_sqr));
    return y * fused(-half_sqr * y, y, 1.5);
}

/* A quadratic of j. */
struct quadratic {
    double a, b, c;  // a + j b + j^2 c
};

INLINE double quadratic_at(struct quadratic q, double j)
{
    return fused(fused(q.c, j, q.b), j, q.a);
}

/* Half of the square of the airpath. */
static struct quadratic half_square(const struct dense_row *row)
{
    const struct quadratic q = {0.5 * vec_dot(row->start, row->start),
                                vec_dot(row->start, row->step),
                                0.5 * vec_dot(row->step, row->step)};
    return q;
}

static void airpaths(const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct quadratic half = half_square(row);
    for (int i = 0; i < n; i++)  // vectorised
        s->inverse[i] = inverse_of_half(quadratic_at(half, s->j[i]));
}

/* Kahn's factor is 1/2 and this times 1/r^2. */
static struct quadratic kahn_quadratic(const struct cpu_source *w, double kahn,
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

/* Airpaths of the first subpixel and what is taken of it for all of the pixel: solid angle
 * (`solid`) and polarization by the first source (`polarized`), else 1. */
static void first_airpaths(const struct cpu_job *job, const struct panel *p,
                           const struct dense_row *row, bool solid, bool polarized, int n,
                           struct dense_scratch *s)
{
    const struct quadratic half = half_square(row), none = {0.0, 0.0, 0.0};
    const struct quadratic kahn =
        polarized ? kahn_quadratic(job->sources, job->x->beam.kahn, row) : none;
    const double one = polarized ? 0.5 : 1.0;
    /* solid angle = alone + square / r^2 + cube / r^3 */
    const double alone = solid ? 0.0 : 1.0, square = solid && p->point_pixel ? 1.0 : 0.0;
    const double cube =
        solid && !p->point_pixel ? p->pixel_m * p->pixel_m * p->close_distance_m : 0.0;
    for (int i = 0; i < n; i++) {  // vectorised
        const double inverse = inverse_of_half(quadratic_at(half, s->j[i]));
        const double sqr = inverse * inverse;
        s->inverse[i] = inverse;
        s->once[i] = fused(sqr, quadratic_at(kahn, s->j[i]), one) *
                     fused(sqr, fused(cube, inverse, square), alone);
    }
}

/* ---- factors ------------------------------------------------------------------- */

/* Capture fractions of a sensor layer, as pixel_capture. */
static void captures(const struct panel *p, int layer, const struct dense_row *row, int n,
                     struct dense_scratch *s)
{
    const double front = -layer * p->layer_m * p->absorption_1_m;
    const double back = -(layer + 1) * p->layer_m * p->absorption_1_m;
    const double a = vec_dot(row->start, p->normal), b = vec_dot(row->step, p->normal);
    for (int i = 0; i < n; i++) {  // vectorised
        const double parallax = fused(b, s->j[i], a) * s->inverse[i];
        const double slant = 1.0 / parallax;
        s->capture[i] = exp_fast(front * slant) - exp_fast(back * slant);
    }
}

/* Where dmin lets a pixel see the source. */
static void culls(const struct cpu_source *w, const struct dense_row *row, int n,
                  struct dense_scratch *s)
{
    const double a = vec_dot(w->incident, row->start), b = vec_dot(w->incident, row->step);
    const double limit = 0.5 * (1.0 + vec_dot(w->incident, w->incident) - w->reach_sqr);
    for (int i = 0; i < n; i++)  // vectorised
        s->kept[i] = fused(b, s->j[i], a) * s->inverse[i] < limit ? 0.0 : 1.0;
}

/* Kahn's factor of this source (`each`), or of the first one that is not culled. */
INLINE void polarizations(const struct cpu_source *w, double kahn, const struct dense_row *row,
                          bool each, int n, struct dense_scratch *s)
{
    const struct quadratic q = kahn_quadratic(w, kahn, row);
    for (int i = 0; i < n; i++) {  // vectorised
        const double sqr = s->inverse[i] * s->inverse[i];
        const double value = fused(sqr, quadratic_at(q, s->j[i]), 0.5);
        const double first = value * s->kept[i], old = s->polarization[i];
        s->polarization[i] = each ? value : old == 0.0 ? first : old;
    }
}

/* What multiplies all terms of some sources but their weight. */
static void factors(const struct panel *p, const struct sampling *each, bool culled, int n,
                    struct dense_scratch *s)
{
    for (int i = 0; i < n; i++)  // vectorised
        s->factor[i] = 1.0;
    if (p->thickness_m > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            s->factor[i] *= s->capture[i];
    if (culled)
        for (int i = 0; i < n; i++)  // vectorised
            s->factor[i] *= s->kept[i];
    if (each->each_polarization)
        for (int i = 0; i < n; i++)  // vectorised
            s->factor[i] *= s->polarization[i];
    if (each->each_solid_angle)
        for (int i = 0; i < n; i++)  // vectorised
            s->factor[i] *= solid_angle_of(p, s->inverse[i]);
}

#endif
