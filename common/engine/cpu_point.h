/*
 * What loops over blocks, over spots and over threads of a GPU share: one point at a
 * time, always inlined.  Compiled once per instruction set (ISA = baseline, avx2,
 * avx512), and as CUDA.
 */
#ifndef BRAGG_ENGINE_CPU_POINT_H
#define BRAGG_ENGINE_CPU_POINT_H

#include "engine/prepared.h"
#include "physics/fastmath.h"
#include "physics/pixel.h"

#define INLINE HD __attribute__((always_inline))

#define PASTE(a, b) a##b
#define NAME(stem, isa) PASTE(stem, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)

#ifdef __FMA__
#define ARITHMETIC "fma"
#else
#define ARITHMETIC "baseline"
#endif

/* Which subpixel of which layer of the block at hand. */
struct subpixel {
    int layer, slow, fast;
};

/* A row of subpixels on the flat panel: position = base + ((first + fast) pixel_m +
 * offset) along fast [1.8]. */
struct flat_row {
    double base[3], offset;  // m
    int32_t first;           // column of the plane where the panel begins
};

INLINE struct flat_row flat_row(const struct panel *p, int64_t slow_pixel, int oversample,
                                struct subpixel sub)
{
    const double edge = p->pixel_m / oversample;
    const double row_pixel = (double)(slow_pixel + p->grid_slow);
    const double slow = edge * (row_pixel * oversample + sub.slow) + edge / 2.0;
    const double *corner = pixel_plane(p);
    const double depth = sub.layer * p->layer_m;
    struct flat_row row = {.offset = edge * sub.fast + edge / 2.0, .first = (int32_t)p->grid_fast};
    for (int i = 0; i < 3; i++)
        row.base[i] = slow * p->slow[i] + depth * p->normal[i] + corner[i];
    return row;
}

/* v turned about the unit vector u by an angle of that sine and cosine. */
INLINE void turn(double v[3], const double u[3], double sine, double cosine)
{
    const double along = (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]) * (1.0 - cosine);
    const double x = u[0] * along + v[0] * cosine + (u[1] * v[2] - u[2] * v[1]) * sine;
    const double y = u[1] * along + v[1] * cosine + (u[2] * v[0] - u[0] * v[2]) * sine;
    const double z = u[2] * along + v[2] * cosine + (u[0] * v[1] - u[1] * v[0]) * sine;
    v[0] = x;
    v[1] = y;
    v[2] = z;
}

/* A row of subpixels on the sphere: position = sin(a) u + cos(a) v, a being the arc along
 * fast from the beam over distance_m, as pixel_curve. */
struct curved_row {
    double u[3], v[3];  // m
};

INLINE struct curved_row curved_row(const struct panel *p, const double beam[3], int64_t slow_pixel,
                                    int oversample, struct subpixel sub)
{
    const double distance = p->distance_m, edge = p->pixel_m / oversample;
    struct curved_row row;
    double sin_b, cos_b;
    pixel_curve_axes(p, beam, row.u, row.v);
    sincos_fast(
        (edge * ((double)slow_pixel * oversample + sub.slow) + edge / 2.0 - p->beam_slow_m) /
            distance,
        &sin_b, &cos_b);
    for (int i = 0; i < 3; i++) {
        row.v[i] = cos_b * (distance * beam[i]) + sin_b * distance * row.v[i];
        row.u[i] *= distance;
    }
    return row;
}

INLINE double solid_angle_of(const struct panel *p, double inverse_airpath)
{
    const double square = inverse_airpath * inverse_airpath;
    return p->point_pixel
               ? square
               : p->pixel_m * p->pixel_m * p->close_distance_m * square * inverse_airpath;
}

/* Capture fraction of a sensor layer along a unit vector, as pixel_capture. */
INLINE double capture_of(const struct panel *p, int layer, double x, double y, double z)
{
    if (!(p->thickness_m > 0.0))
        return 1.0;
    const double front = -layer * p->layer_m * p->absorption_1_m;
    const double back = -(layer + 1) * p->layer_m * p->absorption_1_m;
    const double parallax = fused(x, p->normal[0], fused(y, p->normal[1], z * p->normal[2]));
    return exp_fast(front / parallax) - exp_fast(back / parallax);
}

/* Kahn's factor, as polarization_factor. */
INLINE double kahn_factor(const struct cpu_source *w, double kahn, double x, double y, double z)
{
    const double c = fused(w->incident[0], x, fused(w->incident[1], y, w->incident[2] * z));
    const double e = fused(w->e[0], x, fused(w->e[1], y, w->e[2] * z));
    const double b = fused(w->b[0], x, fused(w->b[1], y, w->b[2] * z));
    return 0.5 * (fused(c, c, 1.0) - kahn * (e * e - b * b));
}

/* Slot of the table for whole indices; outside the box that of default_F. */
INLINE int32_t table_slot(const struct cpu_table *t, int32_t h, int32_t k, int32_t l)
{
    const uint32_t a = (uint32_t)h - (uint32_t)t->min[0], b = (uint32_t)k - (uint32_t)t->min[1];
    const uint32_t c = (uint32_t)l - (uint32_t)t->min[2];
    const uint32_t nb = (uint32_t)t->count[1], nc = (uint32_t)t->count[2];
    const int inside = (a < (uint32_t)t->count[0]) & (b < nb) & (c < nc);
    return inside ? (int32_t)((a * nb + b) * nc + c) : t->default_slot;
}

/* Index along one cell vector, times INDEX_SCALE. */
INLINE double index_along(const double cell[3], double qx, double qy, double qz)
{
    return fused(cell[0], qx, fused(cell[1], qy, cell[2] * qz));
}

#endif
