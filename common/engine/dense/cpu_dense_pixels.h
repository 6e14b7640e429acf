/*
 * What the pixels of a block of the dense loop see before any crystal is asked: airpaths, solid
 * angles, what a sensor layer catches, polarization, all as functions of the column j.  A part of
 * cpu_dense_loop.c; loops marked "vectorised" must be.  What bounds them: 17 products of a pixel in
 * single precision and 5 in double, on half as many lanes, most of which wait for one another.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_PIXELS_H
#define BRAGG_ENGINE_CPU_DENSE_PIXELS_H

#include "engine/cpu/cpu.h"
#include "engine/dense/cpu_dense.h"
#include "engine/dense/dense_row.h"

/* ---- positions ----------------------------------------------------------------- */

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

/* In two passes: each operation of a pixel waits for the one before, and a processor holds only so
 * many that wait. */
static void airpaths(const struct dense_row *row, int n, struct dense_scratch *s)
{
    const struct quadratic half = half_square(row);
    const struct quadratic_f half_f = quadratic_f(half);
    for (int i = 0; i < n; i++)  // vectorised
        s->rough[i] = rough_of_half(quadratic_f_at(half_f, s->column[i]));
    for (int i = 0; i < n; i++)  // vectorised
        s->inverse[i] = inverse_of_half(quadratic_at(half, s->j[i]), s->rough[i]);
}

/* The factors that the first subpixel gives for the whole pixel, see dense_once. */
static void once(const struct cpu_job *job, const struct panel *p, const struct dense_row *row,
                 bool solid, bool polarized, double scale, int n, struct dense_scratch *s)
{
    const struct dense_once o =
        dense_once(p, job->sources, job->x->beam.kahn, row, solid, polarized, scale);
    for (int i = 0; i < n; i++)  // vectorised
        s->once[i] = dense_once_at(&o, s->column[i], s->rough[i]);
}

/* ---- factors ------------------------------------------------------------------- */

/* Capture fractions of a sensor layer, see struct cpu_source. */
static void captures(const struct panel *p, int layer, double absorb, const struct dense_row *row,
                     int n, struct dense_scratch *s)
{
    const struct dense_layer l = dense_layer(p, layer, absorb, row);
    for (int i = 0; i < n; i++)  // vectorised
        s->capture[i] = dense_capture(l, s->j[i], s->inverse[i]);
}

/* 1 for pixels at which dmin keeps the reflections of this source, 0 for others. */
static void culls(const struct cpu_source *w, const struct dense_row *row, int n,
                  struct dense_scratch *s)
{
    const struct dense_cull c = dense_cull(w, row);
    for (int i = 0; i < n; i++)  // vectorised
        s->kept[i] = dense_kept(c, s->j[i], s->inverse[i]);
}

/* Kahn's factor of this source (`each`), or of the first one that is not culled. */
INLINE void polarizations(const struct cpu_source *w, double kahn, const struct dense_row *row,
                          bool each, int n, struct dense_scratch *s)
{
    const struct quadratic q = kahn_quadratic(w, kahn, row);
    for (int i = 0; i < n; i++) {  // vectorised
        const double value = dense_polarization(q, s->j[i], s->inverse[i]);
        const double first = value * s->kept[i], old = s->polarization[i];
        s->polarization[i] = each ? value : old == 0.0 ? first : old;
    }
}

/* The factors of all terms of some sources, without their weights. */
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
