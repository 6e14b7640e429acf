/*
 * A block of pixels, for lattices of either precision.
 *
 * First come the factors of pixels that do not depend on a crystal: positions, solid angles, the
 * capture of a sensor layer, the scattering vector of a source, polarization.  Then come tricubic
 * structure factors, and last the sums over layers, subpixels and sources.  The speed of the first
 * part is limited by one square root and a few divisions a pixel, that of the second by 64 loads a
 * pixel and step.
 *
 * This file is a part of the loops of the CPU engine, compiled once per instruction set (ISA =
 * baseline, avx2, avx512); cpu_lattice.h defines add_lattice.  The compiler must vectorise loops
 * marked "vectorised"; scripts/check-vectorised reads its report.  These loops run over CPU_LANES *
 * n pixels, so that no remainder is left, and over arrays of one struct, so that pointers do not
 * alias.
 */
#ifndef BRAGG_ENGINE_CPU_BLOCK_H
#define BRAGG_ENGINE_CPU_BLOCK_H

#include <string.h>

#ifdef __FMA__
#include <immintrin.h>
#endif

#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_point.h"
#include "engine/reflections/photons.h"
#include "physics/crystal/shape_fast.h"

/* ---- factors of pixels ---------------------------------------------------------------------- */

/* Computes the positions of the pixels of the block on the flat panel. */
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

/* Converts the positions to unit vectors. */
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

/* Computes the capture fractions of a sensor layer, see struct cpu_source. */
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

/* Sets the factor of dmin to 1 for pixels at which the reflections of this source are kept, and
 * to 0 for other pixels. */
static void culls(const struct cpu_source *source, int n, struct cpu_scratch *s)
{
    const struct cpu_source w = *source;
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->kept[i] = is_culled(&w, s->x[i], s->y[i], s->z[i]) ? 0.0 : 1.0;
}

/* Computes Kahn's factor: for this source if `each` is true, otherwise for the first source that
 * dmin does not exclude. */
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

/* Computes the factors that all terms of this source and subpixel have. */
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

/* Multiplies the factors by those of the B factor of a lattice. */
static void damp(const struct cpu_lattice *l, int n, struct cpu_scratch *s)
{
    const double damping = l->damping_m2 * (1.0 / INDEX_SCALE) * (1.0 / INDEX_SCALE);
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->qx[i], qy = s->qy[i], qz = s->qz[i];
        s->factor[i] *= exp_fast(-damping * fused(qx, qx, fused(qy, qy, qz * qz)));
    }
}

/* ---- tricubic structure factors -------------------------------------------------------------
 *
 * CPU_LANES pixels at a time: the nodes, limits and polynomial of hkl_tricubic, with the weights of
 * the four nodes in closed form.  Nodes and weights are prepared across pixels; the sums over the
 * 64 nodes run over four neighbours along l, a few pixels side by side, always in the same order.
 */

struct cubic_lanes {
    alignas(MEM_ALIGNMENT) double h[4][CPU_LANES];  // weights of the nodes along h
    double k[4][CPU_LANES], l[4][CPU_LANES];
    int32_t base[CPU_LANES];  // item of the first node; -1: no room for the nodes
};

/* Sets the nodes and weights of the interpolation for one pixel at the indices h, k, l. */
INLINE void cubic_prepare(const struct cpu_table *t, double h, double k, double l, int lane,
                          struct cubic_lanes *lanes)
{
    const struct cubic_nodes a = cubic_nodes(t, 0, h), b = cubic_nodes(t, 1, k);
    const struct cubic_nodes c = cubic_nodes(t, 2, l);
    const int32_t item = (a.first * t->count[1] + b.first) * t->count[2] + c.first;
    lanes->base[lane] = a.room & b.room & c.room ? item : -1;
    for (int i = 0; i < 4; i++) {
        lanes->h[i][lane] = a.weight[i];
        lanes->k[i][lane] = b.weight[i];
        lanes->l[i][lane] = c.weight[i];
    }
}

/* Sums over four neighbours along l. The code is written as vectors, because compilers group the
 * items in another way. */
typedef double four __attribute__((vector_size(32)));
#ifdef __FMA__
#define FOUR_FUSED(a, b, c) ((four)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#else
#define FOUR_FUSED(a, b, c) ((a) * (b) + (c))
#endif

/* Number of pixels whose sums are computed side by side, which hides the latency of additions. */
enum { CUBIC_SIDE = 4 };

/* Computes F in electrons for CUBIC_SIDE pixels from `first` on. F is undefined for pixels near
 * the edge of the table. */
INLINE void cubic_sums(const struct cpu_table *t, const struct cubic_lanes *w, int first, double *F)
{
    const size_t nk = (size_t)t->count[1], nl = (size_t)t->count[2];
    four sum[CUBIC_SIDE] = {{0.0}};
    const double *node[CUBIC_SIDE];
#pragma GCC unroll 4
    for (int p = 0; p < CUBIC_SIDE; p++)
        node[p] = t->F + (w->base[first + p] < 0 ? 0 : w->base[first + p]);
    for (size_t a = 0; a < 4; a++)
#pragma GCC unroll 4
        for (size_t b = 0; b < 4; b++)
#pragma GCC unroll 4
            for (int p = 0; p < CUBIC_SIDE; p++) {
                four F_l;
                memcpy(&F_l, node[p] + (a * nk + b) * nl, sizeof F_l);
                const four weight = w->h[a][first + p] * w->k[b][first + p] - (four){0};
                sum[p] = FOUR_FUSED(weight, F_l, sum[p]);
            }
#pragma GCC unroll 4
    for (int p = 0; p < CUBIC_SIDE; p++) {
        const int i = first + p;
        const double low = fused(w->l[0][i], sum[p][0], w->l[1][i] * sum[p][1]);
        F[i] = low + fused(w->l[2][i], sum[p][2], w->l[3][i] * sum[p][3]);
    }
}

/* Computes the tricubic structure factors in electrons of the pixels first .. first + CPU_LANES
 * - 1 for one step, if the box contains all neighbours. base[i] of the lanes says whether it
 * does. */
static void cubic_factors(const struct cpu_table *t, const double *step, int first,
                          const struct cpu_scratch *s, struct cubic_lanes *lanes,
                          double F[CPU_LANES])
{
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    const double *qx = s->qx + first, *qy = s->qy + first, *qz = s->qz + first;
    for (int i = 0; i < CPU_LANES; i++)  // vectorised
        cubic_prepare(t, index_along(c, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                      index_along(c + 3, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                      index_along(c + 6, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE), i, lanes);
    for (int i = 0; i < CPU_LANES; i += CUBIC_SIDE)
        cubic_sums(t, lanes, i, F);
}

/* ---- sums over layers, subpixels and sources ------------------------------------------------ */

/* Adds all steps of one lattice to s->total, for the current source and subpixel. */
static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s);

/* Adds one source to the sums of the current subpixel. */
static void add_source(const struct cpu_job *job, const struct panel *p, int layer, size_t index,
                       int n, struct cpu_scratch *s)
{
    const struct cpu_source *source = &job->sources[index];
    const struct experiment *x = job->x;
    scattering(source, n, s);
    if (job->absorbs)
        captures(p, layer, source->absorb, n, s);
    if (x->dmin_m > 0.0)
        culls(source, n, s);
    if (!x->beam.no_polarization && x->sampling.each_polarization)
        polarizations(source, x->beam.kahn, true, n, s);
    else if (!x->beam.no_polarization)
        polarizations(source, x->beam.kahn, false, n, s);
    factors(source, &x->sampling, n, s);
    if (job->trace)
        cpu_trace_source(job, s, index);
    const double water = job->water;
    if (water > 0.0)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] = fused(s->factor[i], water, s->total[i]);
    for (size_t l = 0; l < job->nlattices; l++) {
        const struct cpu_lattice *lattice = &job->lattices[l];
        if (lattice->scattered)
            continue;
        if (lattice->damping_m2 > 0.0)
            damp(lattice, n, s);
        add_lattice(job, l, n, s);
        if (lattice->damping_m2 > 0.0)
            factors(source, &x->sampling, n, s);
    }
}

/* Adds one subpixel of one layer.  Where the options do not ask for the solid angle, the capture
 * fraction or the polarization of each subpixel, the value of the first subpixel is used, as in the
 * reference engine.  Where the capture fraction differs between sources, it is computed for each
 * subpixel. */
static void add_subpixel(const struct cpu_job *job, const struct cpu_where *w, struct subpixel sub,
                         int n, struct cpu_scratch *s)
{
    const struct experiment *x = job->x;
    const bool first = !sub.slow && !sub.fast;
    flat_positions(w, x->sampling.oversample, sub, n, s);
    if (w->panel->curved && x->physics == PHYSICS_FAITHFUL)
        curve_positions_faithful(w->panel, x->beam.direction, n, s);
    else if (w->panel->curved)
        curve_positions(w, x->beam.direction, x->sampling.oversample, sub, n, s);
    if (job->trace)
        cpu_trace_subpixel(job, s, sub.layer, sub.slow, sub.fast);
    directions(n, s);
    if (x->sampling.each_solid_angle || (first && !sub.layer))
        solid_angles(w->panel, n, s);
    if (x->sampling.each_thickness || first)
        captures(w->panel, sub.layer, 1.0, n, s);
    if (job->trace)
        cpu_trace_direction(job, s);
    for (size_t i = 0; i < (job->lean ? 1 : job->nsources); i++)
        add_source(job, w->panel, sub.layer, i, n, s);
}

/* See struct cpu_kernels.  Lanes beyond `count` compute pixels that are not used. */
static void block(const struct cpu_job *job, const struct cpu_where *w, struct cpu_scratch *s,
                  float *out)
{
    const struct sampling *each = &job->x->sampling;
    const int n = (w->count + CPU_LANES - 1) / CPU_LANES;
    const double polarization = job->x->beam.no_polarization ? 1.0 : 0.0;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->total[i] = 0.0;
        s->polarization[i] = polarization;
        s->kept[i] = 1.0;
    }
    /* lean: only the first subpixel is computed, for solid angle and polarization. */
    const int64_t count = job->lean ? 1 : subpixels_of(w->panel, each->oversample);
    for (int64_t i = 0; i < count; i++)
        add_subpixel(job, w, subpixel_at(i, each->oversample), n, s);
    cpu_add_sums(job, w, s->total);
    if (!each->each_polarization)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->polarization[i];
    if (!each->each_solid_angle)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->solid_angle[i];
    for (int i = 0; i < w->count; i++)
        out[i] = (float)s->total[i];
    if (!photons_are_finite(out, (size_t)w->count))
        s->not_finite = true;
    if (job->trace && !job->ndense)
        cpu_trace_pixel(job, s->total[0], out[0]);
}

#endif
