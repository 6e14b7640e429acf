/*
 * Bounds of the photons that steps give to a tile, see faint.h.  The file is compiled once per
 * instruction set.  Lanes are steps.  The bound of a step and source is the bound of the lattice
 * factor at the smallest offset of each index in the tile, times the largest squared structure
 * factor of the reflections nearby:
 *
 *     no index of the tile is a half     that of the nearest reflection
 *     an index is near a half            the largest of the 8 reflections around, `around`
 *     the tile is wider than an index    1, the largest of all
 */
#include "engine/dense/faint.h"

#include <math.h>
#include <string.h>

#include "engine/cpu/cpu_point.h"
#include "physics/crystal/shape_fast.h"

enum { CHUNK = 64 };  // steps whose arrays are filled at once

/* Room for rounding of an index. */
#define INDEX_ROOM 1e-6

/* The arrays of some steps: indices times the wavelength, how much they vary in the tile, the sum
 * or product of the bounds of the axes, items of the box. */
struct chunk {
    double middle[3][CHUNK], half[3][CHUNK];
    double bound[CHUNK], wide[CHUNK];
    double item[CHUNK], corner[CHUNK];  // of the nearest reflection; of the first of 8 around
};

/* Returns a lower bound of sin(pi d) for 0 <= d <= 1/2: its series up to the seventh power. */
INLINE double least_sine(double d)
{
    const double x = M_PI * d, y = x * x;
    return x * (1.0 - y * (1.0 / 6.0) * (1.0 - y * (1.0 / 20.0) * (1.0 - y * (1.0 / 42.0))));
}

/* Returns the bound of one factor of SQUARE. */
INLINE double bound_square(double N_sqr, double offset)
{
    const double sine = least_sine(offset), sqr = sine * sine;
    return N_sqr * sqr > 1.0 ? 1.0 / sqr : N_sqr;
}

/* Returns the bound of another shape from its quadratic form. */
INLINE double bound_form(enum crystal_shape shape, double form)
{
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_ellipsoid(shape)) {
        const double y = M_PI * M_PI * form, envelope = 9.0 * (1.0 + y), cube = y * y * y;
        return envelope < cube ? envelope / cube : 1.0;
    }
    if (shape_is_gaussian(shape))
        return (double)exp2_negative_f(form);
    return form < TOPHAT_LIMIT ? 1.0 : 0.0;
}

INLINE double clamped(double value, double limit)
{
    const double above = value < -limit ? -limit : value;
    return above > limit ? limit : above;
}

/* Fills the arrays that do not depend on the source. */
static void fill_middles(const struct dense_tile *t, const struct shown_lattice *shown,
                         const double *const cell[9], size_t first, int count, struct chunk *c)
{
    const double *d = t->direction, *u = t->slope[0], *v = t->slope[1], *w = t->slope[2];
    const double d0 = d[0], d1 = d[1], d2 = d[2], u0 = u[0], u1 = u[1], u2 = u[2];
    const double v0 = v[0], v1 = v[1], v2 = v[2], w0 = w[0], w1 = w[1], w2 = w[2];
    for (int axis = 0; axis < 3; axis++) {
        const double *x = cell[3 * axis] + first, *y = cell[3 * axis + 1] + first;
        const double *z = cell[3 * axis + 2] + first;
        const double bend = t->bend * shown->longest[axis];
        for (int i = 0; i < count; i++) {  // vectorised
            c->middle[axis][i] = x[i] * d0 + y[i] * d1 + z[i] * d2;
            c->half[axis][i] = fabs(x[i] * u0 + y[i] * u1 + z[i] * u2) +
                               fabs(x[i] * v0 + y[i] * v1 + z[i] * v2) +
                               fabs(x[i] * w0 + y[i] * w1 + z[i] * w2) + bend;
        }
    }
}

/* Adds one axis to the bounds and the items for a source. */
INLINE void add_axis(const struct dense_lattice *l, bool square, int axis,
                     const struct cpu_source *source, const double *const cell[9], size_t first,
                     int count, struct chunk *c)
{
    const double per_m = source->index_per_m * (1.0 / INDEX_SCALE);
    const double s0 = source->incident[0], s1 = source->incident[1], s2 = source->incident[2];
    const double *x = cell[3 * axis] + first, *y = cell[3 * axis + 1] + first;
    const double *z = cell[3 * axis + 2] + first;
    const double stride = axis == 2 ? 1.0 : (double)l->stride[axis];
    const double reach = (double)l->reach[axis];
    const double factor = square ? (double)l->N[axis] * (double)l->N[axis] : l->form[axis];
    for (int i = 0; i < count; i++) {  // vectorised
        const double at = (c->middle[axis][i] - (x[i] * s0 + y[i] * s1 + z[i] * s2)) * per_m;
        const double half = c->half[axis][i] * per_m + INDEX_ROOM;
        const double whole = round_even(at), from = fabs(at - whole), least = from - half;
        const double offset = least > 0.0 ? least : 0.0;
        const double bound = square ? bound_square(factor, offset) : factor * offset * offset;
        c->bound[i] = square ? c->bound[i] * bound : c->bound[i] + bound;
        const double below = whole > at ? whole - 1.0 : whole;
        c->item[i] += (reach - clamped(whole, reach)) * stride;
        c->corner[i] += (reach - clamped(below, reach)) * stride;
        const double wide = half < 0.5 ? from + half < 0.5 ? 0.0 : 1.0 : 2.0;
        c->wide[i] = c->wide[i] > wide ? c->wide[i] : wide;
    }
}

/* Adds the bounds for one source to most[]. */
INLINE void add_bounds(const struct dense_lattice *l, const struct shown_lattice *shown,
                       enum crystal_shape shape, const struct cpu_source *source,
                       const double *const cell[9], size_t first, int count, struct chunk *c,
                       double *most)
{
    const bool square = shape_is_grating(shape);
    const double weight = fabs(source->weight) * shown->photons;
    for (int i = 0; i < count; i++) {  // vectorised
        c->bound[i] = square ? 1.0 : 0.0;
        c->item[i] = c->corner[i] = c->wide[i] = 0.0;
    }
    for (int axis = 0; axis < 3; axis++)
        add_axis(l, square, axis, source, cell, first, count, c);
    if (!square)
        for (int i = 0; i < count; i++)  // vectorised
            c->bound[i] = bound_form(shape, c->bound[i]);
    for (int i = 0; i < count; i++) {
        const float F_sqr = l->flat             ? l->F_sqr[0]
                            : c->wide[i] == 0.0 ? l->F_sqr[(int32_t)c->item[i]]
                            : c->wide[i] == 1.0 ? shown->around[(int32_t)c->corner[i]]
                                                : 1.0f;
        most[i] += weight * c->bound[i] * (double)F_sqr;
    }
}

/* Sets most[count] from step `first` on. */
static void bound_chunk(const struct cpu_job *job, const struct dense_tile *t,
                        const struct dense_lattice *l, const struct shown_lattice *shown,
                        const double *const cell[9], size_t first, int count, double *most)
{
    struct chunk c;
    fill_middles(t, shown, cell, first, count, &c);
    memset(most, 0, (size_t)count * sizeof *most);
    for (size_t s = 0; s < job->nsources; s++) {
        const struct cpu_source *source = &job->sources[s];
#define ADD_SHAPE(shape)                                                   \
    case shape:                                                            \
        add_bounds(l, shown, shape, source, cell, first, count, &c, most); \
        break;
        switch (l->shape) {
            CRYSTAL_SHAPES(ADD_SHAPE)
        }
#undef ADD_SHAPE
    }
}

/* See faint.h. */
void NAME(dense_bounds_, ISA)(const struct cpu_job *job, const struct dense_tile *t, size_t lattice,
                              const struct shown_lattice *shown, const double *const cell[9],
                              size_t count, double *most)
{
    for (size_t first = 0; first < count; first += CHUNK) {
        const int n = (int)(count - first < CHUNK ? count - first : CHUNK);
        bound_chunk(job, t, &job->dense[lattice], shown, cell, first, n, most + first);
    }
}
