/*
 * The factors of the pixels of a block that do not depend on a crystal: positions, solid angles,
 * the capture of a sensor layer, the scattering vector of a source, polarization.  This is a part
 * of cpu_block.h.  Loops marked "vectorised" must be vectorised.  One root and a few divisions a
 * pixel limit their speed.
 */
#ifndef BRAGG_ENGINE_CPU_PIXELS_H
#define BRAGG_ENGINE_CPU_PIXELS_H

#include "engine/cpu/cpu_point.h"

/* Positions of the block's pixels on the flat panel. */
static void flat_positions(const struct cpu_where *w, int oversample, struct subpixel sub, int n,
                           struct cpu_scratch *s)
{
    const struct panel *p = w->panel;
    const struct flat_row row = flat_row(p, w->slow, oversample, sub);
    const int32_t first = (int32_t)w->fast;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const struct point at = flat_point(p, &row, first + i);
        s->x[i] = at.x;
        s->y[i] = at.y;
        s->z[i] = at.z;
    }
}

/* Moves flat positions onto the sphere. */
static void curve_positions_faithful(const struct panel *p, const double beam[3], int n,
                                     struct cpu_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const struct point flat = {s->x[i], s->y[i], s->z[i]};
        const struct point at = curved_point_faithful(p, beam, flat);
        s->x[i] = at.x;
        s->y[i] = at.y;
        s->z[i] = at.z;
    }
}

/* Replaces flat positions by those on the sphere. */
static void curve_positions(const struct cpu_where *w, const double beam[3], int oversample,
                            struct subpixel sub, int n, struct cpu_scratch *s)
{
    const struct panel *p = w->panel;
    const struct curved_row row = curved_row(p, beam, w->slow, oversample, sub);
    const int32_t first = (int32_t)w->fast;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const struct point at = curved_point(p, &row, first + i);
        s->x[i] = at.x;
        s->y[i] = at.y;
        s->z[i] = at.z;
    }
}

/* Positions become unit vectors. */
static void directions(int n, struct cpu_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const struct point at = {s->x[i], s->y[i], s->z[i]};
        const double inverse = inverse_length(at);
        s->inverse_airpath[i] = inverse;
        s->x[i] = at.x * inverse;
        s->y[i] = at.y * inverse;
        s->z[i] = at.z * inverse;
    }
}

static void solid_angles(const struct panel *p, int n, struct cpu_scratch *s)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->solid_angle[i] = solid_angle_of(p, s->inverse_airpath[i]);
}

/* Capture fractions of a sensor layer, see struct cpu_source. */
static void captures(const struct panel *p, int layer, double absorb, int n, struct cpu_scratch *s)
{
    if (p->thickness_m > 0.0)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->capture[i] = layer_capture(p, layer, absorb, s->x[i], s->y[i], s->z[i]);
    else
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->capture[i] = 1.0;
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

/* 1 for pixels at which dmin keeps the reflections of this source, 0 for others. */
static void culls(const struct cpu_source *source, int n, struct cpu_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->kept[i] = is_culled(&w, s->x[i], s->y[i], s->z[i]) ? 0.0 : 1.0;
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

/* The factors of all terms of this source and subpixel. */
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
