/*
 * Code for one point at a time, shared by loops over blocks, loops over spots, and threads of a
 * GPU.  It is always inlined.  Compiled once per instruction set (ISA = baseline, avx2, avx512),
 * and as CUDA.
 */
#ifndef BRAGG_ENGINE_CPU_POINT_H
#define BRAGG_ENGINE_CPU_POINT_H

#include <stdbool.h>

#include "base/isa.h"
#include "engine/prepared.h"
#include "physics/crystal/shape_fast.h"
#include "physics/detector/pixel.h"
#include "physics/fastmath.h"

#define INLINE HD __attribute__((always_inline))

#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)

#ifdef __FMA__
#define ARITHMETIC "fma"
#else
#define ARITHMETIC "baseline"
#endif

/* A position in m from the sample, or a direction. */
struct point {
    double x, y, z;
};

/* The current subpixel and layer of a block. */
struct subpixel {
    int layer, slow, fast;
};

/* Returns subpixel and layer number i of a pixel. The fast direction varies fastest, the layer
 * slowest. */
INLINE struct subpixel subpixel_at(int64_t i, int oversample)
{
    const int64_t row = i / oversample;
    const struct subpixel sub = {(int)(row / oversample), (int)(row % oversample),
                                 (int)(i % oversample)};
    return sub;
}

INLINE int64_t subpixels_of(const struct panel *p, int oversample)
{
    return (int64_t)p->layers * oversample * oversample;
}

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
    const double depth = pixel_layer_depth(p, sub.layer);
    struct flat_row row = {.offset = edge * sub.fast + edge / 2.0, .first = (int32_t)p->grid_fast};
    for (int i = 0; i < 3; i++)
        row.base[i] = slow * p->slow[i] + depth * p->normal[i] + corner[i];
    return row;
}

/* Position of the subpixel of column `fast`. */
INLINE struct point flat_point(const struct panel *p, const struct flat_row *row, int32_t fast)
{
    const double f = fused((double)(row->first + fast), p->pixel_m, row->offset);
    const struct point at = {fused(f, p->fast[0], row->base[0]), fused(f, p->fast[1], row->base[1]),
                             fused(f, p->fast[2], row->base[2])};
    return at;
}

/* Returns v, turned about the unit vector u by the angle with this sine and cosine. */
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

/* Returns a position on the flat panel, moved onto the sphere as by pixel_curve_faithful. */
INLINE struct point curved_point_faithful(const struct panel *p, const double beam[3],
                                          struct point flat)
{
    const double distance = p->distance_m;
    double v[3] = {beam[0] * distance, beam[1] * distance, beam[2] * distance};
    double sine, cosine;
    sincos_fast(flat.y / distance, &sine, &cosine);
    turn(v, p->slow, sine, cosine);
    sincos_fast(flat.z / distance, &sine, &cosine);
    turn(v, p->fast, sine, cosine);
    const struct point at = {v[0], v[1], v[2]};
    return at;
}

/* A row of subpixels on the sphere: position = sin(a) u + cos(a) v, a being the arc along
 * fast from the beam, fast pixel_m + offset, over distance_m, as pixel_curve. */
struct curved_row {
    double u[3], v[3], offset;  // m
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
    row.offset = edge * sub.fast + edge / 2.0 - p->beam_fast_m;
    return row;
}

/* Position of the subpixel of column `fast`. */
INLINE struct point curved_point(const struct panel *p, const struct curved_row *row, int32_t fast)
{
    double sine, cosine;
    sincos_fast(fused((double)fast, p->pixel_m, row->offset) / p->distance_m, &sine, &cosine);
    const struct point at = {fused(sine, row->u[0], cosine * row->v[0]),
                             fused(sine, row->u[1], cosine * row->v[1]),
                             fused(sine, row->u[2], cosine * row->v[2])};
    return at;
}

INLINE double inverse_length(struct point v)
{
    return inverse_sqrt(fused(v.x, v.x, fused(v.y, v.y, v.z * v.z)));
}

INLINE double solid_angle_of(const struct panel *p, double inverse_airpath)
{
    const double area = p->point_pixel ? 1.0 : p->pixel_m * p->pixel_m * p->close_distance_m;
    const double square = area * inverse_airpath * inverse_airpath;
    return p->point_pixel ? square : square * inverse_airpath;
}

/* Returns the capture fraction of a layer of a thick sensor along a unit vector, as
 * pixel_capture_of. */
INLINE double layer_capture(const struct panel *p, int layer, double absorb, double x, double y,
                            double z)
{
    const double mu = p->absorption_1_m * absorb;
    const double front = -layer * p->layer_m * mu;
    const double back = -(layer + 1) * p->layer_m * mu;
    const double parallax = fused(x, p->normal[0], fused(y, p->normal[1], z * p->normal[2]));
    return exp_fast(front / parallax) - exp_fast(back / parallax);
}

INLINE double capture_of(const struct panel *p, int layer, double absorb, double x, double y,
                         double z)
{
    return p->thickness_m > 0.0 ? layer_capture(p, layer, absorb, x, y, z) : 1.0;
}

/* Returns true if dmin excludes this source in this direction. */
INLINE bool is_culled(const struct cpu_source *source, double x, double y, double z)
{
    const double dx = x - source->incident[0], dy = y - source->incident[1];
    const double dz = z - source->incident[2];
    return fused(dx, dx, fused(dy, dy, dz * dz)) > source->reach_sqr;
}

/* Returns Kahn's factor, as polarization_factor. */
INLINE double kahn_factor(const struct cpu_source *w, double kahn, double x, double y, double z)
{
    const double c = fused(w->incident[0], x, fused(w->incident[1], y, w->incident[2] * z));
    const double e = fused(w->e[0], x, fused(w->e[1], y, w->e[2] * z));
    const double b = fused(w->b[0], x, fused(w->b[1], y, w->b[2] * z));
    return 0.5 * (fused(c, c, 1.0) - kahn * (e * e - b * b));
}

/* Returns the slot of the table for whole indices. Outside the box it is the slot of default_F. */
INLINE int32_t table_slot(const struct cpu_table *t, int32_t h, int32_t k, int32_t l)
{
    const uint32_t a = (uint32_t)h - (uint32_t)t->min[0], b = (uint32_t)k - (uint32_t)t->min[1];
    const uint32_t c = (uint32_t)l - (uint32_t)t->min[2];
    const uint32_t nb = (uint32_t)t->count[1], nc = (uint32_t)t->count[2];
    const int inside = (a < (uint32_t)t->count[0]) & (b < nb) & (c < nc);
    return inside ? (int32_t)((a * nb + b) * nc + c) : t->default_slot;
}

/* Returns whole indices, |h| < INDEX_LIMIT, packed into one number. */
INLINE int64_t hkl_key(int32_t h, int32_t k, int32_t l)
{
    return (int64_t)h * 4294967296 + (int64_t)k * 65536 + (int64_t)l;
}

INLINE void hkl_of_key(int64_t key, int32_t hkl[3])
{
    hkl[2] = (int16_t)(key & 0xffff);
    key = (key - hkl[2]) >> 16;
    hkl[1] = (int16_t)(key & 0xffff);
    hkl[0] = (int32_t)((key - hkl[1]) >> 16);
}

/* Returns the index along one cell vector, times INDEX_SCALE. */
INLINE double index_along(const double cell[3], double qx, double qy, double qz)
{
    return fused(cell[0], qx, fused(cell[1], qy, cell[2] * qz));
}

/* ---- squared lattice factors of one step / shape_unit; `wide` and `shape` are constants
 * where they are called ------------------------------------------------------------- */

/* Returns the squared lattice factor of SQUARE. It takes six short polynomials and one division
 * for three axes. */
INLINE float square_at(const struct cpu_lattice *l, bool wide, struct index_split h,
                       struct index_split k, struct index_split m)
{
    float numerator = l->start, denominator = 1.0f;
    square_axis(h, l->N[0], l->turns[0], wide, &numerator, &denominator);
    square_axis(k, l->N[1], l->turns[1], wide, &numerator, &denominator);
    square_axis(m, l->N[2], l->turns[2], wide, &numerator, &denominator);
    const float ratio = numerator / denominator;
    return ratio * ratio;
}

INLINE double square_at_double(const struct cpu_lattice *l, double dh, double dk, double dl)
{
    double numerator = (double)l->start, denominator = 1.0;
    square_axis_double(dh, (double)l->N[0], &numerator, &denominator);
    square_axis_double(dk, (double)l->N[1], &numerator, &denominator);
    square_axis_double(dl, (double)l->N[2], &numerator, &denominator);
    const double ratio = numerator / denominator;
    return ratio * ratio;
}

INLINE double round_at(const struct cpu_lattice *l, double dh, double dk, double dl)
{
    return round_squared(fused(dh * dh, l->cells_fudge[0],
                               fused(dk * dk, l->cells_fudge[1], dl * dl * l->cells_fudge[2])));
}

/* Returns the squared lattice factor of ROUND, GAUSS or TOPHAT in single precision, from the
 * offsets to the nearest lattice point. */
INLINE float shape_at_offset(const struct cpu_lattice *l, enum crystal_shape shape, double dh,
                             double dk, double dl)
{
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_ellipsoid(shape))
        return (float)round_at(l, dh, dk, dl);
    if (shape_is_gaussian(shape))
        return exp2_negative_f(distance_of_form(l->form, dh, dk, dl));
    return distance_of_form(l->form, dh, dk, dl) < TOPHAT_LIMIT ? 1.0f : 0.0f;
}

/* Returns the squared lattice factor of any shape in double precision, from the offsets to the
 * nearest lattice point. */
INLINE double shape_at_offset_double(const struct cpu_lattice *l, enum crystal_shape shape,
                                     double dh, double dk, double dl)
{
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_grating(shape))
        return square_at_double(l, dh, dk, dl);
    if (shape_is_ellipsoid(shape))
        return round_at(l, dh, dk, dl);
    if (shape_is_gaussian(shape))
        return exp2_negative(distance_of_form(l->form, dh, dk, dl));
    return distance_of_form(l->form, dh, dk, dl) < TOPHAT_LIMIT ? 1.0 : 0.0;
}

/* ---- tricubic structure factors, as hkl_tricubic ----------------------------------- */

/* The nodes along one axis: the first one, counted from the edge of the box, and weights
 * (Lagrange's of -1, 0, 1, 2). */
struct cubic_nodes {
    int32_t first;
    int room;  // whether the box has room for them, as hkl_can_interpolate
    double weight[4];
};

INLINE struct cubic_nodes cubic_nodes(const struct cpu_table *t, int axis, double h)
{
    struct cubic_nodes n;
    const double floor = floor_fast(h), at = h - floor;
    const double below = at + 1.0, above = at - 1.0, far = at - 2.0;
    n.room = (h - t->min[axis] + 3.0 <= t->count[axis]) & (h - 2.0 >= t->min[axis]);
    n.first = n.room ? (int32_t)floor - 1 - t->min[axis] : 0;
    n.weight[0] = at * above * far * (-1.0 / 6.0);
    n.weight[1] = below * above * far * 0.5;
    n.weight[2] = below * at * far * -0.5;
    n.weight[3] = below * at * above * (1.0 / 6.0);
    return n;
}

#endif
