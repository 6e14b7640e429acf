/*
 * The parts of rows of lattice points near the Ewald sphere, and the pixels that a spot reaches,
 * see cpu_spots.h.
 *
 * The file is compiled once per instruction set, for fused().  The arithmetic of pixels is that of
 * cpu_block.h, pixel by pixel, in double precision.  The listing of rows does not change the value
 * of a pixel.  The speed is limited by two square roots a row, and by the latency of about a
 * hundred operations a pixel; few of these pixels get photons.
 */
#include <string.h>

#include "base/vec.h"
#include "engine/cpu/cpu_point.h"
#include "engine/spots/cpu_spots.h"
#include "physics/crystal/shape_fast.h"

/* ---- rows of lattice points ----------------------------------------------------------------- */

/* Computes in double precision without branches, which is faster. An empty range has begin 1 and
 * end 0. */
void NAME(cpu_rows_, ISA)(const struct cpu_view_step *s, const double start[3], int count,
                          struct cpu_rows *rows)
{
    const double *side = s->reciprocal + 3 * s->outer[1], *step = s->reciprocal + 3 * s->inner;
    const double x = start[0], y = start[1], z = start[2];
    const double sx = side[0], sy = side[1], sz = side[2];
    const double tx = step[0], ty = step[1], tz = step[2];
    const double inverse = s->inverse_sqr[s->inner];
    const double outer_sqr = s->outer_sqr, inner_sqr = s->inner_sqr;
    const double min = s->min[s->inner], max = s->max[s->inner];
    const int n = (count + CPU_LANES - 1) / CPU_LANES;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double kx = x + i * sx, ky = y + i * sy, kz = z + i * sz;
        const double kt = (kx * tx + ky * ty + kz * tz) * inverse;
        const double kk = kx * kx + ky * ky + kz * kz;
        /* The row start + t step is between two spheres around the origin. */
        const double out = kt * kt - (kk - outer_sqr) * inverse;
        const double in = kt * kt - (kk - inner_sqr) * inverse;
        const double far = sqrt(out > 0.0 ? out : 0.0), near = sqrt(in > 0.0 ? in : 0.0);
        const double enter = -kt - far, leave = -kt + far;
        double first_end = floor_fast(-kt - near);
        double second_begin = -floor_fast(kt - near);
        /* If the row does not enter the inner sphere, or only touches it, there is one range. */
        second_begin = second_begin > first_end ? second_begin : first_end + 1.0;
        double first_begin = -floor_fast(-enter), second_end = floor_fast(leave);
        first_begin = first_begin > min ? first_begin : min;
        first_end = first_end < max ? first_end : max;
        second_begin = second_begin > min ? second_begin : min;
        second_end = second_end < max ? second_end : max;
        const int dark = !(out >= 0.0);
        rows->begin[0][i] = dark ? 1 : (int32_t)first_begin;
        rows->end[0][i] = dark ? 0 : (int32_t)first_end;
        rows->begin[1][i] = dark ? 1 : (int32_t)second_begin;
        rows->end[1][i] = dark ? 0 : (int32_t)second_end;
    }
}

/* ---- pixels --------------------------------------------------------------------------------- */

/* A spot on one layer and one subpixel grid of its panel. */
struct site {
    const struct cpu_job *job;
    const struct panel *panel;
    const struct cpu_spot *spot;
    struct subpixel sub;
    double cell[9], incident[3], index_per_m;  // copies, which stores to the sums cannot change
};

/* Sets d[] to the unit vector to a pixel, and returns 1/airpath. */
INLINE double direction_to(const struct site *at, const struct flat_row *row, int64_t fast,
                           double d[3])
{
    const struct point to = flat_point(at->panel, row, (int32_t)fast);
    const double inverse = inverse_length(to);
    d[0] = to.x * inverse;
    d[1] = to.y * inverse;
    d[2] = to.z * inverse;
    return inverse;
}

/* Returns the squared lattice factor / shape_unit in the direction d. Returns 0 if another
 * lattice point is nearer. */
INLINE double shape_at(const struct site *at, const double d[3])
{
    const struct cpu_lattice *l = &at->job->lattices[at->spot->lattice];
    const double *c = at->cell;
    double q[3];
    for (int i = 0; i < 3; i++)
        q[i] = (d[i] - at->incident[i]) * at->index_per_m;
    int32_t h, k, m;
    const double dh = index_offset(index_along(c, q[0], q[1], q[2]), &h);
    const double dk = index_offset(index_along(c + 3, q[0], q[1], q[2]), &k);
    const double dl = index_offset(index_along(c + 6, q[0], q[1], q[2]), &m);
    const int32_t *index = at->spot->index;
    if (h != index[0] || k != index[1] || m != index[2])
        return 0.0;
    const double form = distance_of_form(l->form, dh, dk, dl);
    CRYSTAL_SHAPES_ARE(4);
    if (!shape_is_gaussian(l->shape))
        return form < TOPHAT_LIMIT ? 1.0 : 0.0;
    return form <= EXP2_LIMIT ? exp2_negative(form) : 0.0;
}

/* Returns the factor of the B factor of a lattice, as damp() of cpu_block.h. */
INLINE double damping_at(const struct site *at, double damping, const double d[3])
{
    double q_sqr = 0.0;
    for (int i = 0; i < 3; i++) {
        const double q = (d[i] - at->incident[i]) * at->index_per_m * (1.0 / INDEX_SCALE);
        q_sqr = fused(q, q, q_sqr);
    }
    return exp_fast(-damping * q_sqr);
}

/* Returns the product of the other factors of the term, as factors() of cpu_block.h. */
INLINE double factor_at(const struct site *at, int64_t fast, int64_t slow, const double d[3],
                        double inverse_airpath)
{
    const struct experiment *x = at->job->x;
    const struct sampling *each = &x->sampling;
    const struct cpu_source *source = &at->job->sources[at->spot->source];
    double first[3] = {d[0], d[1], d[2]};
    if (at->panel->thickness_m > 0.0 && !each->each_thickness && !at->job->absorbs) {
        struct site corner = *at;
        corner.sub.fast = corner.sub.slow = 0;
        const struct flat_row row = flat_row(at->panel, slow, each->oversample, corner.sub);
        (void)direction_to(&corner, &row, fast, first);
    }
    double factor = source->weight * capture_of(at->panel, at->sub.layer, source->absorb, first[0],
                                                first[1], first[2]);
    if (each->each_polarization && !x->beam.no_polarization)
        factor *= kahn_factor(source, x->beam.kahn, d[0], d[1], d[2]);
    if (each->each_solid_angle)
        factor *= solid_angle_of(at->panel, inverse_airpath);
    const double damping = at->job->lattices[at->spot->lattice].damping_m2;
    return damping > 0.0 ? factor * damping_at(at, damping, d) : factor;
}

/* Sets out[] to the smallest and largest pixel whose subpixel `sub` of `n` is between two
 * distances from the edge. Both are between `min` and `max`. */
INLINE void pixel_range(const double range_m[2], double pixel_m, int sub, int n, int64_t min,
                        int64_t max, int64_t out[2])
{
    const double centre = (sub + 0.5) / n;
    const double first = floor_fast(range_m[0] / pixel_m - centre - 1e-6) + 1.0;
    const double last = floor_fast(range_m[1] / pixel_m - centre + 1e-6);
    out[0] = first > (double)min ? (first > (double)max ? max + 1 : (int64_t)first) : min;
    out[1] = last < (double)max ? (last < (double)min ? min - 1 : (int64_t)last) : max;
}

/* Adds a spot to all pixels of one subpixel grid. */
INLINE void scatter_grid(const struct site *at, int64_t row_begin, int64_t row_end, double *sums)
{
    const struct panel *p = at->panel;
    const struct cpu_spot *spot = at->spot;
    const struct cpu_lattice *l = &at->job->lattices[spot->lattice];
    const struct cpu_source *source = &at->job->sources[spot->source];
    const bool culled = at->job->x->dmin_m > 0.0;
    const int n = at->job->x->sampling.oversample;
    const double *corner = pixel_plane(p);
    const double depth = vec_dot(corner, p->normal) + pixel_layer_depth(p, at->sub.layer);
    const double fast_m = vec_dot(corner, p->fast) + p->pixel_m * (double)p->grid_fast;
    const double slow_m = vec_dot(corner, p->slow) + p->pixel_m * (double)p->grid_slow;
    const struct roi *roi = &p->roi;
    int64_t f[2], s[2];
    pixel_range((double[]){depth * spot->fast[0] - fast_m, depth * spot->fast[1] - fast_m},
                p->pixel_m, at->sub.fast, n, roi->fast_min, roi->fast_max, f);
    pixel_range((double[]){depth * spot->slow[0] - slow_m, depth * spot->slow[1] - slow_m},
                p->pixel_m, at->sub.slow, n, roi->slow_min > row_begin ? roi->slow_min : row_begin,
                roi->slow_max < row_end - 1 ? roi->slow_max : row_end - 1, s);
    for (int64_t slow = s[0]; slow <= s[1]; slow++) {
        const struct flat_row row = flat_row(p, slow, n, at->sub);
        double *out = sums + p->first_pixel + slow * p->fast_pixels;
        for (int64_t fast = f[0]; fast <= f[1]; fast++) {
            double d[3];
            const double inverse = direction_to(at, &row, fast, d);
            const double shape = shape_at(at, d);
            if (shape == 0.0 || (culled && is_culled(source, d[0], d[1], d[2])))
                continue;
            out[fast] = fused(factor_at(at, fast, slow, d, inverse) * l->scale, shape * spot->F_sqr,
                              out[fast]);
        }
    }
}

/* See struct cpu_kernels. */
void NAME(cpu_scatter_, ISA)(const struct cpu_job *job, const struct cpu_spots *spots,
                             int32_t panel, int64_t row_begin, int64_t row_end, double *sums)
{
    const int n = job->x->sampling.oversample;
    for (size_t i = 0; i < spots->count; i++) {
        const struct cpu_spot *spot = &spots->items[i];
        if (spot->panel != panel || spot->row_max < row_begin || spot->row_min >= row_end)
            continue;
        const struct cpu_source *source = &job->sources[spot->source];
        const double *cell = job->lattices[spot->lattice].cells + 9 * (size_t)spot->step;
        struct site at = {.job = job, .panel = &job->x->panels[panel], .spot = spot};
        memcpy(at.cell, cell, sizeof at.cell);
        memcpy(at.incident, source->incident, sizeof at.incident);
        at.index_per_m = source->index_per_m;
        for (at.sub.layer = 0; at.sub.layer < at.panel->layers; at.sub.layer++)
            for (at.sub.slow = 0; at.sub.slow < n; at.sub.slow++)
                for (at.sub.fast = 0; at.sub.fast < n; at.sub.fast++)
                    scatter_grid(&at, row_begin, row_end, sums);
    }
}
