/*
 * What the pixels of a block see before any crystal is asked: where they are, how
 * large they look, what a sensor layer catches, the scattering vector of a source,
 * polarization.  A part of cpu_loop.c, compiled once per instruction set; loops
 * marked "vectorised" must be.
 */
#ifndef BRAGG_ENGINE_CPU_PIXELS_H
#define BRAGG_ENGINE_CPU_PIXELS_H

#include "engine/cpu_point.h"

/* Positions of the block's pixels on the flat panel. */
static void flat_positions(const struct cpu_where *w, int oversample, struct subpixel sub, int n,
                           struct cpu_scratch *s)
{
    const struct panel *p = w->panel;
    const struct flat_row row = flat_row(p, w->slow, oversample, sub);
    const double fx = p->fast[0], fy = p->fast[1], fz = p->fast[2];
    const double bx = row.base[0], by = row.base[1], bz = row.base[2];
    const double offset = row.offset, pixel = p->pixel_m;
    const int32_t first = row.first + (int32_t)w->fast;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double f = fused((double)(first + i), pixel, offset);
        s->x[i] = fused(f, fx, bx);
        s->y[i] = fused(f, fy, by);
        s->z[i] = fused(f, fz, bz);
    }
}

/* Moves flat positions onto the sphere, as pixel_curve_faithful. */
static void curve_positions_faithful(const struct panel *p, const double beam[3], int n,
                                     struct cpu_scratch *s)
{
    const double distance = p->distance_m;
    const double centre[3] = {beam[0] * distance, beam[1] * distance, beam[2] * distance};
    const double slow[3] = {p->slow[0], p->slow[1], p->slow[2]};
    const double fast[3] = {p->fast[0], p->fast[1], p->fast[2]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        double v[3] = {centre[0], centre[1], centre[2]};
        double sine, cosine;
        sincos_fast(s->y[i] / distance, &sine, &cosine);
        turn(v, slow, sine, cosine);
        sincos_fast(s->z[i] / distance, &sine, &cosine);
        turn(v, fast, sine, cosine);
        s->x[i] = v[0];
        s->y[i] = v[1];
        s->z[i] = v[2];
    }
}

/* Replaces flat positions by those on the sphere, as pixel_curve. */
static void curve_positions(const struct cpu_where *w, const double beam[3], int oversample,
                            struct subpixel sub, int n, struct cpu_scratch *s)
{
    const struct panel *p = w->panel;
    const double distance = p->distance_m, edge = p->pixel_m / oversample;
    const struct curved_row row = curved_row(p, beam, w->slow, oversample, sub);
    const double ux = row.u[0], uy = row.u[1], uz = row.u[2];
    const double vx = row.v[0], vy = row.v[1], vz = row.v[2];
    const double offset = edge * sub.fast + edge / 2.0 - p->beam_fast_m;
    const double pixel = p->pixel_m;
    const int32_t first = (int32_t)w->fast;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        double sine, cosine;
        sincos_fast(fused((double)(first + i), pixel, offset) / distance, &sine, &cosine);
        s->x[i] = fused(sine, ux, cosine * vx);
        s->y[i] = fused(sine, uy, cosine * vy);
        s->z[i] = fused(sine, uz, cosine * vz);
    }
}

/* Positions become unit vectors. */
static void directions(int n, struct cpu_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double x = s->x[i], y = s->y[i], z = s->z[i];
        const double inverse = inverse_sqrt(fused(x, x, fused(y, y, z * z)));
        s->inverse_airpath[i] = inverse;
        s->x[i] = x * inverse;
        s->y[i] = y * inverse;
        s->z[i] = z * inverse;
    }
}

static void solid_angles(const struct panel *p, int n, struct cpu_scratch *s)
{
    const double area = p->pixel_m * p->pixel_m * p->close_distance_m;
    if (p->point_pixel)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->solid_angle[i] = s->inverse_airpath[i] * s->inverse_airpath[i];
    else
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->solid_angle[i] =
                area * s->inverse_airpath[i] * s->inverse_airpath[i] * s->inverse_airpath[i];
}

/* Capture fractions of a sensor layer, as pixel_capture. */
static void captures(const struct panel *p, int layer, int n, struct cpu_scratch *s)
{
    const double front = -layer * p->layer_m * p->absorption_1_m;
    const double back = -(layer + 1) * p->layer_m * p->absorption_1_m;
    const double nx = p->normal[0], ny = p->normal[1], nz = p->normal[2];
    if (!(p->thickness_m > 0.0)) {
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->capture[i] = 1.0;
        return;
    }
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double parallax = fused(s->x[i], nx, fused(s->y[i], ny, s->z[i] * nz));
        s->capture[i] = exp_fast(front / parallax) - exp_fast(back / parallax);
    }
}

static void scattering(const struct cpu_source *source, int n, struct cpu_scratch *s)
{
    const double ix = source->incident[0], iy = source->incident[1], iz = source->incident[2];
    const double scale = source->index_per_m;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->qx[i] = (s->x[i] - ix) * scale;
        s->qy[i] = (s->y[i] - iy) * scale;
        s->qz[i] = (s->z[i] - iz) * scale;
    }
}

/* Where dmin lets a pixel see the source. */
static void culls(const struct cpu_source *source, int n, struct cpu_scratch *s)
{
    const double ix = source->incident[0], iy = source->incident[1], iz = source->incident[2];
    const double reach_sqr = source->reach_sqr;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double dx = s->x[i] - ix, dy = s->y[i] - iy, dz = s->z[i] - iz;
        s->kept[i] = fused(dx, dx, fused(dy, dy, dz * dz)) > reach_sqr ? 0.0 : 1.0;
    }
}

/* Kahn's factor of this source (`each`), or of the first one that is not culled. */
INLINE void polarizations(const struct cpu_source *source, double kahn, bool each, int n,
                          struct cpu_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double value = kahn_factor(&w, kahn, s->x[i], s->y[i], s->z[i]);
        const double first = value * s->kept[i], old = s->polarization[i];
        s->polarization[i] = each ? value : old == 0.0 ? first : old;
    }
}

/* What multiplies all terms of this source and subpixel. */
static void factors(const struct cpu_source *source, const struct sampling *each, int n,
                    struct cpu_scratch *s)
{
    const double weight = source->weight;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->factor[i] = weight * s->capture[i] * s->kept[i];
    if (each->each_polarization)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->factor[i] *= s->polarization[i];
    if (each->each_solid_angle)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->factor[i] *= s->solid_angle[i];
}

#endif
