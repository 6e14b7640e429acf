/*
 * The dense loop of cpu_dense.h, compiled once per instruction set: a block of pixels of one
 * row, the sums over layers, subpixels, lattices, steps and sources.  Loops marked
 * "vectorised" must be vectorised by the compiler, those of cpu_dense_term.h are vectors as
 * written; scripts/check-vectorised sees to both.
 */
#include <string.h>

#include "base/vec.h"
#include "engine/cpu/cpu.h"
#include "engine/dense/cpu_dense.h"
#include "engine/dense/cpu_dense_boxes.h"
#include "engine/dense/cpu_dense_pieces.h"
#include "engine/dense/cpu_dense_pixels.h"
#include "engine/dense/cpu_dense_term.h"
#include "engine/reflections/photons.h"

/* Two groups of LANES pixels side by side hide the latency of the division; a block is computed
 * in multiples of both.  One at a time where the shape leaves no registers for two, or a gather
 * comes between terms that are kept. */
enum { DENSE_GROUPS = 2, DENSE_PIXELS = DENSE_GROUPS * LANES };

/* ---- terms --------------------------------------------------------------------- */

/* Stores the sum of LANES pixels, or their photons where it is alone; *lost gets NaN where one of
 * these is not finite. */
LANES_INLINE void put_sum(struct dense_scratch *s, int first, floats sum, floats *lost)
{
    if (s->alone) {
        sum *= floats_load(s->once + first);
        *lost += sum - sum;
    }
    floats_store(s->to + first, sum);
}

/* Sums of all terms for all pixels. */
LANES_INLINE void sum_terms(const struct dense_lattice *lattice, const struct dense_terms *t,
                            struct dense_kind kind, int n, struct dense_scratch *s)
{
    const struct dense_lattice l = *lattice;
    const bool square = kind.shape == SHAPE_SQUARE;
    const int groups = square && (kind.flat || !kind.keyed) ? DENSE_GROUPS : 1;
    floats lost = {0};
    for (int i = 0; i < n; i += groups * LANES) {
        struct doubles_pair j[DENSE_GROUPS], inverse[DENSE_GROUPS];
        floats sum[DENSE_GROUPS];
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            j[g] = doubles_pair_load(s->j + i + g * LANES, square);
            inverse[g] = doubles_pair_load(s->inverse + i + g * LANES, square);
            sum[g] = (floats){0};
        }
        struct dense_met met[DENSE_GROUPS][DENSE_TERMS];
        for (int step = 0; step < t->nsteps; step++) {
            struct dense_step at[DENSE_GROUPS];
#pragma GCC unroll 2
            for (int g = 0; g < groups; g++) {
                at[g] = dense_step(t, step, kind, j[g], inverse[g]);
            }
            const int sources = kind.single ? 1 : t->nsources;
            for (int source = 0; source < sources; source++)
#pragma GCC unroll 2
                for (int g = 0; g < groups; g++) {
                    const doubles per_m = doubles_of(t->per_m[source]);
                    const struct doubles_pair same = {per_m, per_m};
                    dense_term(&l, t, step * sources + source, kind, &at[g],
                               kind.single ? inverse[g] : same, &sum[g], met[g]);
                }
        }
        for (int g = 0; g < groups && kind.keyed; g++)
            dense_keyed_take(s->shares, t, i + g * LANES, met[g]);
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++)
            put_sum(s, i + g * LANES,
                    dense_weighs_sum(kind) ? sum[g] * floats_of(t->weight[0]) : sum[g], &lost);
    }
    if (lanes_below(lost, floats_of(1.0f)) != LANES_ALL)
        s->not_finite = true;
}

/* One constant combination per line, so that each becomes a loop of its own. */
LANES_INLINE void sum_sources(const struct dense_lattice *l, struct dense_kind kind, int n,
                              struct dense_scratch *s)
{
    kind.single = true;
    if (s->terms.single)
        sum_terms(l, &s->terms, kind, n, s);
    kind.single = false;
    if (!s->terms.single)
        sum_terms(l, &s->terms, kind, n, s);
}

LANES_INLINE void sum_factors(const struct dense_lattice *l, struct dense_kind kind, int n,
                              struct dense_scratch *s)
{
    const bool fine = kind.fine, keyed = kind.keyed;
    if (l->flat)
        sum_sources(l, (struct dense_kind){fine, true, keyed, false, keyed, SHAPE_SQUARE}, n, s);
    else if (l->wide)
        sum_sources(l, (struct dense_kind){fine, false, true, false, keyed, SHAPE_SQUARE}, n, s);
    else
        sum_sources(l, (struct dense_kind){fine, false, false, false, keyed, SHAPE_SQUARE}, n, s);
}

LANES_INLINE void sum_offsets(const struct dense_lattice *l, struct dense_kind kind,
                              enum crystal_shape shape, int n, struct dense_scratch *s)
{
    const bool fine = kind.fine, keyed = kind.keyed;
    if (l->flat)
        sum_terms(l, &s->terms, (struct dense_kind){fine, true, true, false, keyed, shape}, n, s);
    else
        sum_terms(l, &s->terms, (struct dense_kind){fine, false, true, false, keyed, shape}, n, s);
}

LANES_INLINE void sum_shape(const struct dense_lattice *l, struct dense_kind kind, int n,
                            struct dense_scratch *s)
{
    switch (l->shape) {
    case SHAPE_SQUARE:
        sum_factors(l, kind, n, s);
        break;
    case SHAPE_ROUND:
        sum_offsets(l, kind, SHAPE_ROUND, n, s);
        break;
    case SHAPE_GAUSS:
        sum_offsets(l, kind, SHAPE_GAUSS, n, s);
        break;
    case SHAPE_TOPHAT:
        sum_offsets(l, kind, SHAPE_TOPHAT, n, s);
        break;
    }
}

/* Functions of their own, because compilers run out of registers in larger ones. */
#define SUM_FUNCTION(name, is_fine, is_keyed)                                            \
    __attribute__((noinline)) static void name(const struct dense_lattice *l, int n,     \
                                               struct dense_scratch *s)                  \
    {                                                                                    \
        sum_shape(l, (struct dense_kind){.fine = (is_fine), .keyed = (is_keyed)}, n, s); \
    }
SUM_FUNCTION(sum_low, false, false)
SUM_FUNCTION(sum_fine, true, false)
SUM_FUNCTION(sum_low_keyed, false, true)
SUM_FUNCTION(sum_fine_keyed, true, true)

static void sum_lattice(const struct dense_lattice *l, int n, struct dense_scratch *s)
{
    if (s->shares && l->fine)
        sum_fine_keyed(l, n, s);
    else if (s->shares)
        sum_low_keyed(l, n, s);
    else if (l->fine)
        sum_fine(l, n, s);
    else
        sum_low(l, n, s);
}

/* Start and slope of steps; their indices are times the wavelength but for one source. */
static void prepare_steps(const struct dense_lattice *l, size_t first, const struct dense_row *row,
                          struct dense_terms *t)
{
    const double per_m = t->single ? t->per_m[0] : 1.0;
    for (int step = 0; step < t->nsteps; step++)
        for (int axis = 0; axis < 3; axis++)
            dense_step_axis(l->cells + 9 * (first + (size_t)step) + 3 * axis, row, per_m,
                            &t->start[step][axis], &t->slope[step][axis]);
}

static void prepare_term(const struct dense_lattice *l, const double *cell,
                         const struct cpu_source *source, double per_m, struct dense_terms *t,
                         int term)
{
    for (int axis = 0; axis < 3; axis++) {
        t->magic[term][axis] =
            dense_term_axis(l, cell + 3 * axis, source, per_m, &t->rest[term][axis]);
        t->rest_N[term][axis] = t->rest[term][axis] * l->N[axis];
    }
}

static void prepare_terms(const struct cpu_job *job, const struct dense_lattice *l, size_t first,
                          struct source_range from, const struct dense_row *row,
                          struct dense_terms *t)
{
    const float F_sqr = l->flat ? l->F_sqr[0] : 1.0f;
    for (size_t i = 0; i < from.count; i++)
        t->per_m[i] = job->sources[from.first + i].index_per_m * (1.0 / INDEX_SCALE);
    prepare_steps(l, first, row, t);
    int term = 0;
    for (int step = 0; step < t->nsteps; step++)
        for (size_t i = 0; i < from.count; i++, term++) {
            const struct cpu_source *source = &job->sources[from.first + i];
            prepare_term(l, l->cells + 9 * (first + (size_t)step), source, t->per_m[i], t, term);
            t->weight[term] = (float)source->weight * F_sqr;
        }
}

/* Adds all steps of one lattice for some sources to s->total. */
static void add_lattice(const struct cpu_job *job, const struct dense_lattice *l,
                        struct source_range from, const struct dense_row *row, int n,
                        struct dense_scratch *s)
{
    struct dense_terms *t = &s->terms;
    const double scale = l->scale;
    const size_t most = DENSE_TERMS / from.count;
    t->nsources = (int)from.count;
    t->single = from.count == 1 && l->shape == SHAPE_SQUARE;
    for (size_t first = 0; first < l->nsteps; first += most) {
        t->nsteps = (int)(l->nsteps - first < most ? l->nsteps - first : most);
        prepare_terms(job, l, first, from, row, t);
        if (s->shares)
            dense_shares_begin(s->shares, job, (size_t)(l - job->dense), first, t, n,
                               s->alone ? 1.0 : scale, s->varied ? s->factor : NULL);
        sum_lattice(l, n, s);
        if (s->alone)
            break;
        if (s->varied)
            for (int i = 0; i < n; i++)  // vectorised
                s->total[i] = fused(s->factor[i] * scale, (double)s->sum[i], s->total[i]);
        else
            for (int i = 0; i < n; i++)  // vectorised
                s->total[i] = fused(scale, (double)s->sum[i], s->total[i]);
    }
}

/* ---- sums ---------------------------------------------------------------------- */

/* Adds sources whose factors are the same. */
static void add_sources(const struct cpu_job *job, const struct panel *p, int layer,
                        struct source_range from, const struct dense_row *row, int n,
                        struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const struct cpu_source *sources = job->sources + from.first;
    const bool culled = x->dmin_m > 0.0, each = x->sampling.each_polarization;
    if (job->absorbs && p->thickness_m > 0.0)
        captures(p, layer, sources->absorb, row, n, s);
    if (culled)
        culls(sources, row, n, s);
    if (!x->beam.no_polarization && each)
        polarizations(sources, x->beam.kahn, row, true, n, s);
    else if (!x->beam.no_polarization && culled)
        polarizations(sources, x->beam.kahn, row, false, n, s);
    if (s->varied)
        factors(p, &x->sampling, culled, n, s);
    double water = 0.0;
    for (size_t i = 0; i < from.count; i++)
        water += job->water * sources[i].weight;
    if (water > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            s->total[i] = fused(s->varied ? s->factor[i] : 1.0, water, s->total[i]);
    for (size_t i = 0; i < job->ndense; i++)
        add_lattice(job, &job->dense[i], from, row, n, s);
}

/* Adds one subpixel of one layer.  Where the options do not ask for the solid angle, the capture
 * fraction or the polarization of each subpixel, the value of the first subpixel is used, as in the
 * reference engine.  Where the capture fraction differs between sources, it is computed for each
 * subpixel. */
static void add_subpixel(const struct cpu_job *job, const struct cpu_where *w, struct subpixel sub,
                         int n, struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const struct sampling *each = &x->sampling;
    const bool first = !sub.slow && !sub.fast, culled = x->dmin_m > 0.0;
    const bool alike = !culled && !each->each_polarization;
    const struct dense_row row =
        dense_row(w->panel, nearest_column(w->panel), w->slow, each->oversample, sub);
    airpaths(&row, n, s);
    if (s->shares && s->shares->boxed)
        dense_boxes(job, &row, n, s);
    if (first && !sub.layer)
        once(job, w->panel, &row, !each->each_solid_angle, alike && !x->beam.no_polarization,
             s->alone ? job->dense[0].scale : 1.0, n, s);
    if (!job->absorbs && w->panel->thickness_m > 0.0 && (each->each_thickness || first))
        captures(w->panel, sub.layer, 1.0, &row, n, s);
    const size_t most = alike ? DENSE_TERMS : 1;
    for (size_t i = 0; i < job->nsources;) {
        const struct source_range from = {i,
                                          cpu_sources_alike(job->sources, i, job->nsources, most)};
        add_sources(job, w->panel, sub.layer, from, &row, n, s);
        i += from.count;
    }
}

/* Chooses how the photons of a block are summed, and clears the sums. */
static void start_block(const struct cpu_job *job, const struct cpu_where *w, int n,
                        struct dense_scratch *s)
{
    const struct experiment *x = job->x;
    const double polarization = x->beam.no_polarization ? 1.0 : 0.0;
    s->varied = dense_is_varied(&x->sampling, w->panel, x->dmin_m > 0.0);
    s->alone = !s->varied && job->ndense == 1 && !job->sums && job->water == 0.0 &&
               dense_is_alone(job->dense, w->panel, job->nsources, x->sampling.oversample);
    columns(w, n, s);
    if (!s->alone)
        memset(s->total, 0, (size_t)n * sizeof *s->total);
    if (s->varied)
        for (int i = 0; i < n; i++) {  // vectorised
            s->polarization[i] = polarization;
            s->kept[i] = 1.0;
        }
}

/* Stores the photons of a block, unless sum_terms has stored them. */
static void put_photons(const struct cpu_where *w, struct dense_scratch *s, float *out)
{
    if (s->to == out)
        return;
    if (s->alone) {
        memcpy(out, s->to, (size_t)w->count * sizeof *out);
        return;
    }
    for (int i = 0; i < w->count; i++)  // vectorised
        out[i] = (float)(s->total[i] * (double)s->once[i]);
    if (!photons_are_finite(out, (size_t)w->count))
        s->not_finite = true;
}

/* See struct cpu_kernels. */
void NAME(cpu_dense_, ISA)(const struct cpu_job *job, const struct cpu_where *w,
                           struct dense_scratch *s, float *out)
{
    const struct sampling *each = &job->x->sampling;
    const int n = (w->count + DENSE_PIXELS - 1) / DENSE_PIXELS * DENSE_PIXELS;
    start_block(job, w, n, s);
    s->to = s->alone && n == w->count ? out : s->sum;
    if (s->shares)
        dense_shares_clear(s->shares, job->ndense, n);
    const int64_t count = subpixels_of(w->panel, each->oversample);
    for (int64_t i = 0; i < count; i++)
        add_subpixel(job, w, subpixel_at(i, each->oversample), n, s);
    cpu_add_sums(job, w, s->total);
    if (job->x->dmin_m > 0.0 && !each->each_polarization)
        for (int i = 0; i < n; i++)  // vectorised
            s->once[i] *= (float)s->polarization[i];
    put_photons(w, s, out);
    if (s->shares)
        dense_shares_end(s->shares, job, w, n, s->once);
    if (job->trace)
        cpu_trace_pixel(job, (double)out[0], out[0]);
}
