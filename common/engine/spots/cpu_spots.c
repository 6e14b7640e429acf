/*
 * Lists the spots of scattered lattices and shares them out.  See cpu_spots.h.
 */
#include "engine/spots/cpu_spots.h"

#include <math.h>

#include "base/vec.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape_fast.h"

/* Spots listed before they are scattered, about: they stay in the caches. */
static const double SPOTS_AT_ONCE = 1e5;

/* The data that the threads share. */
struct work {
    const struct cpu_kernels *kernels;
    const struct cpu_job *job;
    struct cpu_view view;
    int threads;
    size_t nlists;
    struct cpu_spots *lists;  // owned, one per step
    uint32_t *weights;        // owned, of rows
    int64_t *ends;            // owned, of bands
};

static bool append(struct cpu_spots *list, const struct cpu_spot *spot)
{
    struct cpu_spot *items = mem_grow(list->items, list->count, 1, sizeof *items, &list->capacity);
    if (!items)
        return false;
    list->items = items;
    list->items[list->count++] = *spot;
    return true;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Least and largest x/z over a ball about (x, z) = (tangent z, z); radius = ratio z. */
static void tangents(double tangent, double ratio, double out[2])
{
    const double scale = 1.0 / (1.0 - ratio * ratio);
    const double root = ratio * sqrt(tangent * tangent + 1.0 - ratio * ratio);
    out[0] = (tangent - root) * scale;
    out[1] = (tangent + root) * scale;
}

/* Distances from the edge in m at which the tangents `t` meet a panel, over all layers. */
static void span(const struct cpu_screen *p, double edge, const double t[2], double out[2])
{
    out[0] = (t[0] < 0.0 ? p->far : p->near) * t[0] - edge;
    out[1] = (t[1] < 0.0 ? p->near : p->far) * t[1] - edge;
}

bool cpu_view_reaches(const struct cpu_screen *p, const double direction[3], double radius,
                      struct cpu_spot *spot, double columns[2])
{
    const double z = vec_dot(direction, p->panel->normal);
    double rows[2];
    if (z < -radius)
        return false;
    if (z > 1.01 * radius) {
        const double inverse = 1.0 / z;
        tangents(vec_dot(direction, p->panel->fast) * inverse, radius * inverse, spot->fast);
        tangents(vec_dot(direction, p->panel->slow) * inverse, radius * inverse, spot->slow);
    } else {
        spot->fast[0] = spot->slow[0] = -1e9;  // almost along the panel
        spot->fast[1] = spot->slow[1] = 1e9;
    }
    span(p, p->fast_m, spot->fast, columns);
    span(p, p->slow_m, spot->slow, rows);
    if (columns[1] < p->min[0] || columns[0] > p->max[0] || rows[1] < p->min[1] ||
        rows[0] > p->max[1])
        return false;
    spot->row_min = (int32_t)(larger(rows[0], p->min[1]) / p->panel->pixel_m - 1e-6);
    spot->row_max = (int32_t)(smaller(rows[1], p->max[1]) / p->panel->pixel_m + 1e-6);
    return true;
}

/* Squared structure factor of a lattice point, relative. */
static double point_F_sqr(const struct cpu_lattice *l, const int32_t index[3])
{
    const struct hkl_table *t = &l->crystal->table;
    int64_t item = 0;
    bool inside = !l->table->flat;
    for (int i = 0; i < 3; i++) {
        const int64_t from_min = (int64_t)index[i] - t->min[i];
        inside = inside && from_min >= 0 && from_min < t->count[i];
        item = item * t->count[i] + from_min;
    }
    const double F = (inside ? t->F[item] : t->default_F) / l->table->F_max;
    return F * F;
}

/* The lattice point of spot->index, if its ball meets the Ewald sphere: spots for every
 * panel that it can light.  `exit`: of the diffracted beam, 1/m. */
static bool add_point(const struct cpu_view *v, const struct cpu_view_step *s, const double exit[3],
                      struct cpu_spot *spot, struct cpu_spots *list)
{
    const double reach = s->lattice->reach_1_m;
    const double length = vec_length(exit), gap = length - s->per_m, inverse = 1.0 / length;
    /* |d/lambda - exit|^2 = gap^2 + |d - direction|^2 |exit|/lambda on the sphere */
    const double radius_sqr = (reach * reach - gap * gap) * inverse * s->wavelength_m;
    if (!(radius_sqr > 0.0))
        return true;
    const double radius = sqrt(radius_sqr);
    const double direction[3] = {exit[0] * inverse, exit[1] * inverse, exit[2] * inverse};
    for (size_t i = 0; i < v->nscreens; i++) {
        double columns[2];
        if (!cpu_view_reaches(&v->screens[i], direction, radius, spot, columns))
            continue;
        spot->panel = (int32_t)i;
        spot->F_sqr = point_F_sqr(s->lattice, spot->index);
        if (spot->F_sqr != 0.0 && !append(list, spot))
            return false;
    }
    return true;
}

/* Points of `count` <= CPU_BLOCK neighbouring rows, the first one through `start`. */
static bool add_rows(const struct work *w, const struct cpu_view_step *s, const double start[3],
                     int count, struct cpu_spot *spot, struct cpu_spots *list)
{
    const double *side = s->reciprocal + 3 * s->outer[1], *step = s->reciprocal + 3 * s->inner;
    const int32_t first = spot->index[s->outer[1]];
    struct cpu_rows rows;
    w->kernels->rows(s, start, count, &rows);
    for (int i = 0; i < count; i++)
        for (int part = 0; part < 2; part++)
            for (int t = rows.begin[part][i]; t <= rows.end[part][i]; t++) {
                double exit[3];
                for (int j = 0; j < 3; j++)
                    exit[j] = start[j] + i * side[j] + t * step[j];
                spot->index[s->outer[1]] = first + i;
                spot->index[s->inner] = t;
                if (!add_point(&w->view, s, exit, spot, list))
                    return false;
            }
    return true;
}

/* All spots of one step, in the order of the indices. */
static bool list_step(const struct work *w, const struct cpu_view_step *s, struct cpu_spot *spot,
                      struct cpu_spots *list)
{
    const int a = s->outer[0], b = s->outer[1];
    for (int h = s->min[a]; h <= s->max[a]; h++)
        for (int k = s->min[b]; k <= s->max[b]; k += CPU_BLOCK) {
            double start[3];
            for (int i = 0; i < 3; i++)
                start[i] = s->source->incident[i] * s->per_m + h * s->reciprocal[3 * a + i] +
                           k * s->reciprocal[3 * b + i];
            spot->index[a] = h;
            spot->index[b] = k;
            const int left = s->max[b] - k + 1;
            if (!add_rows(w, s, start, left < CPU_BLOCK ? left : CPU_BLOCK, spot, list))
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
static bool add_steps(const struct work *w, uint32_t lattice, uint32_t source, double *sums)
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
            if (cpu_view_step(&s, &w->view, from, l, first + k))
                done = list_step(w, &s, &spot, &w->lists[k]) && done;
        }
        if (done)
            scatter_lists(w, count, sums);
    }
    return done;
}

static bool work_open(struct work *w)
{
    const struct cpu_job *job = w->job;
    double spots = 1.0;
    int64_t rows = 1;
    for (size_t i = 0; i < job->nlattices; i++) {
        struct cpu_view_step s;
        if (job->lattices[i].scattered &&
            cpu_view_step(&s, &w->view, job->sources, &job->lattices[i], 0))
            spots = fmax(spots, cpu_view_reflections(&w->view, &s));
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
    struct work w = {.kernels = kernels, .job = job, .threads = threads};
    bool done = cpu_view_open(&w.view, job->x) && work_open(&w);
    for (uint32_t l = 0; l < job->nlattices && done; l++)
        for (uint32_t s = 0; s < job->nsources && done && job->lattices[l].scattered; s++)
            done = add_steps(&w, l, s, sums);
    work_close(&w);
    cpu_view_close(&w.view);
    return done ? STATUS_OK : error_memory(e, "the reflections");
}
