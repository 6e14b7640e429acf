/*
 * The loop of the CPU engine, compiled once per instruction set (ISA = baseline,
 * avx2, avx512).  Loops marked "vectorised" must be vectorised by the compiler;
 * scripts/check-vectorised reads its report.  They run over CPU_LANES * n pixels,
 * so that no remainder is left, and over arrays of one struct, so that nothing
 * aliases.  What bounds them: arithmetic, never memory.
 */
#include <string.h>

#include "engine/cpu.h"
#include "engine/cpu_cubic.h"
#include "engine/cpu_pixels.h"
#include "physics/shape_fast.h"

#define PASTE(a, b) a##b
#define NAME(stem, isa) PASTE(stem, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)

#ifdef __FMA__
#define IDENTITY "cpu-fma"
#else
#define IDENTITY "cpu-baseline"
#endif

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

/* SQUARE: squared lattice factors of one step, and slots where `indexed`.  Six short
 * polynomials and one division for three axes; bounded by their multiplications. */
INLINE void square_shape(const struct cpu_lattice *lattice, const double *step, bool wide,
                         bool indexed, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->qx[i], qy = s->qy[i], qz = s->qz[i];
        const struct index_split h = index_split(index_along(c, qx, qy, qz));
        const struct index_split k = index_split(index_along(c + 3, qx, qy, qz));
        const struct index_split m = index_split(index_along(c + 6, qx, qy, qz));
        float numerator = l.start, denominator = 1.0f;
        square_axis(h, l.N[0], l.turns[0], wide, &numerator, &denominator);
        square_axis(k, l.N[1], l.turns[1], wide, &numerator, &denominator);
        square_axis(m, l.N[2], l.turns[2], wide, &numerator, &denominator);
        const float ratio = numerator / denominator;
        s->shape[i] = ratio * ratio;
        if (indexed)
            s->slot[i] = table_slot(&t, index_split_nearest(h), index_split_nearest(k),
                                    index_split_nearest(m));
    }
}

/* ROUND, GAUSS and TOPHAT: from the offsets to the nearest lattice point. */
INLINE void offset_shape(const struct cpu_lattice *lattice, const double *step,
                         enum crystal_shape shape, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->qx[i], qy = s->qy[i], qz = s->qz[i];
        int32_t h, k, m;
        const double dh = index_offset(index_along(c, qx, qy, qz), &h);
        const double dk = index_offset(index_along(c + 3, qx, qy, qz), &k);
        const double dl = index_offset(index_along(c + 6, qx, qy, qz), &m);
        if (shape == SHAPE_ROUND)
            s->shape[i] = (float)round_squared(
                fused(dh * dh, l.cells_fudge[0],
                      fused(dk * dk, l.cells_fudge[1], dl * dl * l.cells_fudge[2])));
        else if (shape == SHAPE_GAUSS)
            s->shape[i] = exp2_negative_f(distance_of_form(l.form, dh, dk, dl));
        else
            s->shape[i] = distance_of_form(l.form, dh, dk, dl) < 0.3969 ? 1.0f : 0.0f;
        s->slot[i] = table_slot(&t, h, k, m);
    }
}

/* One constant combination per line, so that each becomes a loop of its own. */
static void shapes(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    const bool indexed = !l->table->flat;
    switch (l->crystal->shape) {
    case SHAPE_SQUARE:
        if (l->wide)
            square_shape(l, step, true, true, n, s);
        else if (indexed)
            square_shape(l, step, false, true, n, s);
        else
            square_shape(l, step, false, false, n, s);
        break;
    case SHAPE_ROUND:
        offset_shape(l, step, SHAPE_ROUND, n, s);
        break;
    case SHAPE_GAUSS:
        offset_shape(l, step, SHAPE_GAUSS, n, s);
        break;
    case SHAPE_TOPHAT:
        offset_shape(l, step, SHAPE_TOPHAT, n, s);
        break;
    }
}

/* Tricubic structure factors where the box allows it, nearest elsewhere.  What
 * bounds it: 64 loads a pixel, of four neighbours at a time. */
static void cubic_factors(const struct cpu_table *t, const double *step, int n,
                          struct cpu_scratch *s)
{
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    const double unit = 1.0 / t->F_max;
    struct cubic_lanes lanes;
    for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
        const double *qx = s->qx + first, *qy = s->qy + first, *qz = s->qz + first;
        for (int i = 0; i < CPU_LANES; i++)  // vectorised
            cubic_prepare(t, index_along(c, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                          index_along(c + 3, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE),
                          index_along(c + 6, qx[i], qy[i], qz[i]) * (1.0 / INDEX_SCALE), i, &lanes);
        for (int i = 0; i < CPU_LANES; i++) {
            const double F = unit * cubic_sum(t, &lanes, i);
            s->F_sqr[first + i] = lanes.base[i] < 0 ? t->F_sqr[s->slot[first + i]] : (float)(F * F);
        }
    }
}

/* A loop of its own, because gcc does not vectorise a gather beside what computes its
 * index; unconditional, because default_F has a slot. */
static void add_gathered(const float *restrict F_sqr, int n, struct cpu_scratch *restrict s)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        s->sum[i] = fused_f(s->shape[i], F_sqr[s->slot[i]], s->sum[i]);
}

/* Adds shape times structure factor of one step to the short sums. */
static void add_step(const struct cpu_lattice *l, const double *step, int n, struct cpu_scratch *s)
{
    if (l->table->F) {
        cubic_factors(l->table, step, n, s);
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->sum[i] = fused_f(s->shape[i], s->F_sqr[i], s->sum[i]);
    } else if (l->table->flat) {
        const float F = l->table->F_sqr[0];
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->sum[i] = fused_f(s->shape[i], F, s->sum[i]);
    } else {
        add_gathered(l->table->F_sqr, n, s);
    }
}

/* All steps of one lattice for the source and subpixel at hand. */
static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s)
{
    const struct cpu_lattice *l = &job->lattices[index];
    const double scale = l->scale;
    for (size_t first = 0; first < l->nsteps; first += CPU_FLOAT_TERMS) {
        const size_t end =
            l->nsteps - first > CPU_FLOAT_TERMS ? first + CPU_FLOAT_TERMS : l->nsteps;
        memset(s->sum, 0, sizeof s->sum);
        for (size_t step = first; step < end; step++) {
            shapes(l, l->cells + 9 * step, n, s);
            add_step(l, l->cells + 9 * step, n, s);
            if (job->trace)
                cpu_trace_step(job, s, index, step);
        }
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] = fused(s->factor[i] * scale, (double)s->sum[i], s->total[i]);
    }
}

/* One source seen from the subpixel at hand. */
static void add_source(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *s)
{
    const struct cpu_source *source = &job->sources[index];
    const struct experiment *x = job->x;
    scattering(source, n, s);
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
    for (size_t l = 0; l < job->nlattices; l++)
        add_lattice(job, l, n, s);
}

/* One subpixel of one layer.  Solid angle, capture fraction and polarization that are
 * not taken of each are those of the first subpixel, as in the reference engine. */
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
        captures(w->panel, sub.layer, n, s);
    if (job->trace)
        cpu_trace_direction(job, s);
    for (size_t i = 0; i < job->nsources; i++)
        add_source(job, i, n, s);
}

/* See struct cpu_kernels.  Lanes beyond `count` compute pixels that nobody keeps. */
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
    struct subpixel sub;
    for (sub.layer = 0; sub.layer < w->panel->layers; sub.layer++)
        for (sub.slow = 0; sub.slow < each->oversample; sub.slow++)
            for (sub.fast = 0; sub.fast < each->oversample; sub.fast++)
                add_subpixel(job, w, sub, n, s);
    if (!each->each_polarization)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->polarization[i];
    if (!each->each_solid_angle)
        for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
            s->total[i] *= s->solid_angle[i];
    for (int i = 0; i < w->count; i++)
        out[i] = (float)s->total[i];
    if (job->trace)
        cpu_trace_pixel(job, s, out[0]);
}

const struct cpu_kernels NAME(cpu_kernels_, ISA) = {
    .name = TEXT_OF(ISA),
    .identity = IDENTITY,
    .block = block,
};
