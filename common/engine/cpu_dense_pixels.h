/*
 * What the pixels of a block of the dense loop see before any crystal is asked: airpaths, solid
 * angles, what a sensor layer catches, polarization, all as functions of the column j.  A part of
 * cpu_dense_loop.c; loops marked "vectorised" must be.  What bounds them: the root and
 * the division of a pixel.
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
    const double first = (double)(w->panel->grid_fast + w->fast) - nearest_column(w->panel);
    if (s->columns.count == w->count && s->columns.first == first)
        return;
    s->columns = (struct dense_columns){first, w->count};
    const int last = w->count - 1;
    for (int i = 0; i < n; i++) {  // vectorised
        s->j[i] = first + (double)(i < last ? i : last);
        s->column[i] = (float)s->j[i];
    }
}

/* 1/airpath from half of its square and from itself in single precision, by a step of
 * Newton's; relative error 3e-14. */
INLINE double inverse_of_half(double half_sqr, float rough)
{
    const double y = (double)rough;
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

/* Likewise in single precision, for what is no index. */
struct rough_quadratic {
    float a, b, c;
};

INLINE struct rough_quadratic rough_quadratic(struct quadratic q)
{
    return (struct rough_quadratic){(float)q.a, (float)q.b, (float)q.c};
}

INLINE float rough_quadratic_at(struct rough_quadratic q, float j)
{
    return fused_f(fused_f(q.c, j, q.b), j, q.a);
}

/* Half of the square of the airpath. */
static struct quadratic half_square(const struct dense_row *row)
{
    const struct quadratic q = {0.5 * vec_dot(row->start, row->start),
                                vec_dot(row->start, row->step),
                                0.5 * vec_dot(row->step, row->step)};
    return q;
}

/* In two passes: a root and a division wait so long that little else would be in flight. */
static void airpaths(const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct quadratic half = half_square(row);
    for (int i = 0; i < n; i++)  // vectorised
        s->rough[i] = 0.70710678f / sqrtf((float)quadratic_at(half, s->j[i]));
    for (int i = 0; i < n; i++)  // vectorised
        s->inverse[i] = inverse_of_half(quadratic_at(half, s->j[i]), s->rough[i]);
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

/* What is taken of the first subpixel for all of the pixel: solid angle (`solid`) and polarization
 * by the first source (`polarized`), else 1; times `scale`. */
static void once(const struct cpu_job *job, const struct panel *p, const struct dense_row *row,
                 bool solid, bool polarized, double scale, int n, struct dense_scratch *s)
{
    const struct quadratic none = {0.0, 0.0, 0.0};
    const struct rough_quadratic kahn =
        rough_quadratic(polarized ? kahn_quadratic(job->sources, job->x->beam.kahn, row) : none);
    const float one = polarized ? 0.5f : 1.0f;
    /* solid angle = alone + square / r^2 + cube / r^3 */
    const float alone = solid ? 0.0f : (float)scale;
    const float square = solid && p->point_pixel ? (float)scale : 0.0f;
    const float cube = solid && !p->point_pixel
                           ? (float)(p->pixel_m * p->pixel_m * p->close_distance_m * scale)
                           : 0.0f;
    for (int i = 0; i < n; i++) {  // vectorised
        const float inverse = s->rough[i], sqr = inverse * inverse;
        s->once[i] = fused_f(sqr, rough_quadratic_at(kahn, s->column[i]), one) *
                     fused_f(sqr, fused_f(cube, inverse, square), alone);
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
