/*
 * Lists the spots of scattered lattices and shares them out.  See cpu_spots.h.
 */
#include "engine/cpu_spots.h"

#include <math.h>

#include "physics/hkl.h"
#include "physics/shape_fast.h"
#include "physics/vec.h"

/* Spots listed before they are scattered, about: they stay in the caches. */
static const double SPOTS_AT_ONCE = 1e5;

static bool append(struct cpu_spots *list, const struct cpu_spot *spot)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 256;
        struct cpu_spot *items = mem_array(capacity, sizeof *items);
        if (!items)
            return false;
        for (size_t i = 0; i < list->count; i++)
            items[i] = list->items[i];
        mem_free(list->items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *spot;
    return true;
}

/* Least and largest x/z over a ball of that radius about (x, z), z > 0; without bounds
 * where the ball comes near z = 0. */
static void tangents(double x, double z, double radius, double out[2])
{
    const double below = z * z - radius * radius;
    out[0] = -HUGE_VAL;
    out[1] = HUGE_VAL;
    if (z < 1.01 * radius)
        return;
    const double root = radius * sqrt(x * x + below);
    out[0] = (x * z - root) / below;
    out[1] = (x * z + root) / below;
}

/* Pixels, not rounded, at which the tangents `t` meet the panel along one of its axes,
 * over all layers. */
static void span(const struct panel *p, const double axis[3], const double t[2], double out[2])
{
    const double near = vec_dot(p->origin_m, p->normal), far = near + p->layers * p->layer_m;
    const double origin = vec_dot(p->origin_m, axis);
    out[0] = ((t[0] < 0.0 ? far : near) * t[0] - origin) / p->pixel_m;
    out[1] = ((t[1] < 0.0 ? near : far) * t[1] - origin) / p->pixel_m;
}

/* Adds a spot for every panel that a ball about `direction` on the unit sphere meets. */
static bool add_on_panels(const struct experiment *x, const double direction[3], double radius,
                          struct cpu_spot *spot, struct cpu_spots *list)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const double z = vec_dot(direction, p->normal);
        double columns[2], rows[2];
        if (z < -radius)
            continue;
        tangents(vec_dot(direction, p->fast), z, radius, spot->fast);
        tangents(vec_dot(direction, p->slow), z, radius, spot->slow);
        span(p, p->fast, spot->fast, columns);
        span(p, p->slow, spot->slow, rows);
        const struct roi *roi = &p->roi;
        if (columns[1] < (double)roi->fast_min || columns[0] > (double)roi->fast_max + 1.0 ||
            rows[1] < (double)roi->slow_min || rows[0] > (double)roi->slow_max + 1.0)
            continue;
        spot->panel = (int32_t)i;
        spot->row_min = (int32_t)fmax(rows[0] - 1.0, (double)roi->slow_min);
        spot->row_max = (int32_t)fmin(rows[1], (double)roi->slow_max);
        if (!append(list, spot))
            return false;
    }
    return true;
}

/* The lattice point of spot->index, if its ball meets the Ewald sphere. */
static bool add_point(const struct experiment *x, const struct cpu_view_step *s,
                      struct cpu_spot *spot, struct cpu_spots *list)
{
    const double per_m = s->source->index_per_m / INDEX_SCALE, reach = s->lattice->reach_1_m;
    const double hkl[3] = {spot->index[0], spot->index[1], spot->index[2]};
    const double F = hkl_nearest(&s->lattice->crystal->table, hkl) / s->lattice->table->F_max;
    double exit[3];  // of the diffracted beam, 1/m
    for (int i = 0; i < 3; i++)
        exit[i] = s->source->incident[i] * per_m + hkl[0] * s->reciprocal[i] +
                  hkl[1] * s->reciprocal[3 + i] + hkl[2] * s->reciprocal[6 + i];
    const double length = vec_unit(exit, exit), gap = length - per_m;
    /* |d/lambda - exit|^2 = gap^2 + |d - direction|^2 |exit|/lambda on the sphere */
    const double radius_sqr = (reach * reach - gap * gap) / (length * per_m);
    if (F == 0.0 || !(radius_sqr > 0.0))
        return true;
    spot->F_sqr = F * F;
    return add_on_panels(x, exit, sqrt(radius_sqr), spot, list);
}

/* Points first .. last of a row. */
static bool add_row(const struct experiment *x, const struct cpu_view_step *s, int inner,
                    double first, double last, struct cpu_spot *spot, struct cpu_spots *list)
{
    const int begin = (int)ceil(fmax(first, s->min[inner]));
    const int end = (int)floor(fmin(last, s->max[inner]));
    for (int i = begin; i <= end; i++) {
        spot->index[inner] = i;
        if (!add_point(x, s, spot, list))
            return false;
    }
    return true;
}

/* Points of a row inside the shell of twice the reach about the Ewald sphere: where the
 * line k + t v, k = `exit` at t = 0, is between two spheres about the origin. */
static bool cross_shell(const struct experiment *x, const struct cpu_view_step *s, int inner,
                        const double exit[3], struct cpu_spot *spot, struct cpu_spots *list)
{
    const double *v = s->reciprocal + 3 * inner;
    const double per_m = s->source->index_per_m / INDEX_SCALE;
    const double reach = s->lattice->reach_1_m + 1e-9 * per_m;
    const double outer = per_m + reach, hollow = per_m - reach > 0.0 ? per_m - reach : 0.0;
    const double vv = vec_dot(v, v), kv = vec_dot(exit, v) / vv, kk = vec_dot(exit, exit);
    const double out = kv * kv - (kk - outer * outer) / vv;
    if (!(out >= 0.0))
        return true;
    const double in = kv * kv - (kk - hollow * hollow) / vv, far = sqrt(out);
    if (!(in > 0.0))
        return add_row(x, s, inner, -kv - far, -kv + far, spot, list);
    const double near = sqrt(in);
    /* a point on both edges would be added twice */
    const double second = fmax(-kv + near, floor(-kv - near) + 1.0);
    return add_row(x, s, inner, -kv - far, -kv - near, spot, list) &&
           add_row(x, s, inner, second, -kv + far, spot, list);
}

/* All spots of one step, in the order of the indices. */
static bool list_step(const struct experiment *x, const struct cpu_view_step *s,
                      struct cpu_spot *spot, struct cpu_spots *list)
{
    int inner = 0;  // the axis with the longest rows
    for (int i = 1; i < 3; i++)
        if (s->max[i] - s->min[i] > s->max[inner] - s->min[inner])
            inner = i;
    const int a = (inner + 1) % 3, b = (inner + 2) % 3;
    const double per_m = s->source->index_per_m / INDEX_SCALE;
    for (int h = s->min[a]; h <= s->max[a]; h++)
        for (int k = s->min[b]; k <= s->max[b]; k++) {
            double exit[3];
            for (int i = 0; i < 3; i++)
                exit[i] = s->source->incident[i] * per_m + h * s->reciprocal[3 * a + i] +
                          k * s->reciprocal[3 * b + i];
            spot->index[a] = h;
            spot->index[b] = k;
            if (!cross_shell(x, s, inner, exit, spot, list))
                return false;
        }
    return true;
}

/* Rows of a panel in as many bands of about equal work as there are threads. */
static void cut_bands(const struct cpu_spots *lists, size_t count, int32_t panel, int64_t rows,
                      int threads, uint32_t *weights, int64_t *ends)
{
    uint64_t total = 0, sum = 0;
    for (int64_t row = 0; row < rows; row++)
        weights[row] = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < lists[i].count; k++)
            if (lists[i].items[k].panel == panel) {
                weights[lists[i].items[k].row_min]++;
                total++;
            }
    int band = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += weights[row];
        while (band < threads - 1 && sum * (uint64_t)threads >= total * (uint64_t)(band + 1))
            ends[band++] = row + 1;
    }
    while (band < threads)
        ends[band++] = rows;
}

/* What the threads share. */
struct work {
    const struct cpu_kernels *kernels;
    const struct cpu_job *job;
    int threads;
    size_t nlists;
    struct cpu_spots *lists;  // owned, one per step
    uint32_t *weights;        // owned, of rows
    int64_t *ends;            // owned, of bands
};

static void scatter_lists(const struct work *w, size_t count, double *sums)
{
    for (size_t i = 0; i < w->job->x->npanels; i++) {
        const struct panel *p = &w->job->x->panels[i];
        cut_bands(w->lists, count, (int32_t)i, p->slow_pixels, w->threads, w->weights, w->ends);
#pragma omp parallel for num_threads(w->threads) schedule(static, 1)
        for (int band = 0; band < w->threads; band++)
            for (size_t k = 0; k < count; k++)
                w->kernels->scatter(w->job, &w->lists[k], (int32_t)i, band ? w->ends[band - 1] : 0,
                                    w->ends[band], sums);
    }
}

/* All steps of one lattice and source: lists of spots, then pixels, a few lists at a
 * time. */
static bool add_steps(const struct work *w, const struct cpu_view *view, uint32_t lattice,
                      uint32_t source, double *sums)
{
    const struct cpu_lattice *l = &w->job->lattices[lattice];
    const struct cpu_source *from = &w->job->sources[source];
    bool done = true;
    for (size_t first = 0; first < l->nsteps && done; first += w->nlists) {
        const size_t count = l->nsteps - first < w->nlists ? l->nsteps - first : w->nlists;
#pragma omp parallel for num_threads(w->threads) schedule(dynamic) reduction(&& : done)
        for (size_t k = 0; k < count; k++) {
            struct cpu_view_step s;
            struct cpu_spot spot = {
                .lattice = lattice, .source = source, .step = (uint32_t)(first + k)};
            w->lists[k].count = 0;
            if (cpu_view_step(&s, view, from, l, first + k))
                done = list_step(w->job->x, &s, &spot, &w->lists[k]) && done;
        }
        if (done)
            scatter_lists(w, count, sums);
    }
    return done;
}

static bool work_open(struct work *w, const struct cpu_view *view)
{
    const struct cpu_job *job = w->job;
    double spots = 1.0;
    int64_t rows = 1;
    for (size_t i = 0; i < job->nlattices; i++) {
        struct cpu_view_step s;
        if (job->lattices[i].scattered &&
            cpu_view_step(&s, view, job->sources, &job->lattices[i], 0))
            spots = fmax(spots, cpu_view_reflections(view, &s));
    }
    for (size_t i = 0; i < job->x->npanels; i++)
        rows = job->x->panels[i].slow_pixels > rows ? job->x->panels[i].slow_pixels : rows;
    w->nlists = (size_t)fmax(SPOTS_AT_ONCE / spots, 4.0 * w->threads);
    w->lists = mem_array(w->nlists, sizeof *w->lists);
    w->weights = mem_array((size_t)rows, sizeof *w->weights);
    w->ends = mem_array((size_t)w->threads, sizeof *w->ends);
    return w->lists && w->weights && w->ends;
}

static void work_close(struct work *w)
{
    for (size_t i = 0; w->lists && i < w->nlists; i++)
        mem_free(w->lists[i].items);
    mem_free(w->lists);
    mem_free(w->weights);
    mem_free(w->ends);
}

enum status cpu_spots_add(const struct cpu_kernels *kernels, const struct cpu_job *job, int threads,
                          double *sums, struct error *e)
{
    struct cpu_view view;
    struct work w = {.kernels = kernels, .job = job, .threads = threads};
    cpu_view_open(&view, job->x);
    bool done = work_open(&w, &view);
    for (uint32_t l = 0; l < job->nlattices && done; l++)
        for (uint32_t s = 0; s < job->nsources && done && job->lattices[l].scattered; s++)
            done = add_steps(&w, &view, l, s, sums);
    work_close(&w);
    return done ? STATUS_OK : error_memory(e, "the reflections");
}
