/*
 * Computes narrow reflections one by one, see cpu_spots.h. The first part is the view: it
 * decides which lattice points the detector can see, and whether listing them is faster than
 * evaluating every pixel. The view does not change the value of a pixel: if a listed point gives
 * no photons, the kernel adds 0. The second part lists the spots, sorts them into bands of rows,
 * and adds them with several threads.
 */
#include "engine/spots/cpu_spots.h"

#include <math.h>

#include "base/vec.h"
#include "engine/dense/faint.h"
#include "physics/crystal/hkl.h"
#include "physics/crystal/shape_fast.h"
#include "physics/detector/pixel.h"

/* ---- the view of the detector --------------------------------------------------------------- */

/* Estimated costs in ns, measured with AVX2 and one thread. Only their ratios matter. */
static const double COST_LINE = 15.0;       // a row of lattice points
static const double COST_SPOT = 50.0;       // a spot, and a plane that may have it
static const double COST_BOX = 20.0;        // a layer and subpixel of a spot
static const double COST_CANDIDATE = 20.0;  // a pixel of these

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns true if two panels are parts of one plane. */
static bool one_plane(const struct panel *a, const struct panel *b)
{
    const double *at = pixel_plane(a), *bt = pixel_plane(b);
    bool same = a->pixel_m == b->pixel_m;
    for (int i = 0; i < 3; i++)
        same = same && at[i] == bt[i] && a->fast[i] == b->fast[i] && a->slow[i] == b->slow[i];
    return same;
}

/* Joins panel `first` and the panels after it that are on the same plane into *whole. Its region
 * of interest is the rectangle around theirs. Returns the index of the next panel. */
static size_t join_plane(const struct experiment *x, size_t first, struct panel *whole)
{
    struct roi r = {INT64_MAX, -INT64_MAX, INT64_MAX, -INT64_MAX};
    size_t i = first;
    for (; i < x->npanels && one_plane(&x->panels[first], &x->panels[i]); i++) {
        const struct panel *p = &x->panels[i];
        if (p->roi.fast_min > p->roi.fast_max)
            continue;  // a part without a pixel to compute
        r.fast_min = least(r.fast_min, p->roi.fast_min + p->grid_fast);
        r.slow_min = least(r.slow_min, p->roi.slow_min + p->grid_slow);
        r.fast_max = -least(-r.fast_max, -p->roi.fast_max - p->grid_fast);
        r.slow_max = -least(-r.slow_max, -p->roi.slow_max - p->grid_slow);
    }
    *whole = x->panels[first];
    vec_copy(whole->origin_m, pixel_plane(&x->panels[first]));
    whole->grid_fast = whole->grid_slow = 0;
    whole->roi = r;
    return i;
}

static size_t count_planes(const struct experiment *x)
{
    size_t count = 0;
    struct panel whole;
    for (size_t i = 0; i < x->npanels; count++)
        i = join_plane(x, i, &whole);
    return count;
}

/* Sets out[] to the unit direction of a corner of the region of interest, at the front or the
 * back of the sensor. */
static void corner(const struct panel *p, int which, double out[3])
{
    const double fast = p->pixel_m * (double)(which & 1 ? p->roi.fast_max + 1 : p->roi.fast_min);
    const double slow = p->pixel_m * (double)(which & 2 ? p->roi.slow_max + 1 : p->roi.slow_min);
    const double depth = which & 4 ? p->layers * p->layer_m : 0.0;
    for (int i = 0; i < 3; i++)
        out[i] = p->origin_m[i] + fast * p->fast[i] + slow * p->slow[i] + depth * p->normal[i];
    vec_unit(out, out);
}

/* Sets the narrowest cone that contains all corners of the planes. Its axis is the mean
 * direction of the corners. */
static void set_cone(struct cpu_view *v, const struct experiment *x)
{
    double d[3];
    struct panel plane;
    for (size_t i = 0; i < x->npanels;) {
        i = join_plane(x, i, &plane);
        for (int which = 0; which < 8; which++) {
            corner(&plane, which, d);
            for (int j = 0; j < 3; j++)
                v->axis[j] += d[j];
        }
    }
    vec_unit(v->axis, v->axis);
    for (size_t i = 0; i < x->npanels;) {
        i = join_plane(x, i, &plane);
        for (int which = 0; which < 8; which++) {
            corner(&plane, which, d);
            v->cosine = fmin(v->cosine, vec_dot(d, v->axis));
        }
    }
    v->cosine -= 1e-9;
    if (!(v->cosine > 0.05))
        v->cosine = -1.0;  // a cone that wide is not convex
    v->sine = sqrt(1.0 - v->cosine * v->cosine);
}

void cpu_view_open(struct cpu_view *v, const struct experiment *x)
{
    *v = (struct cpu_view){.cosine = 1.0, .nscreens = x->npanels};
    set_cone(v, x);
    v->screens = mem_array(x->npanels, sizeof *v->screens);
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const double *plane = pixel_plane(p);
        const double near = vec_dot(plane, p->normal), pixel = p->pixel_m;
        v->screens[i] = (struct cpu_screen){
            .panel = p,
            .fast_m = vec_dot(plane, p->fast) + pixel * (double)p->grid_fast,
            .slow_m = vec_dot(plane, p->slow) + pixel * (double)p->grid_slow,
            .near = near,
            .far = near + p->layers * p->layer_m,
            .min = {pixel * (double)p->roi.fast_min, pixel * (double)p->roi.slow_min},
            .max = {pixel * (double)(p->roi.fast_max + 1), pixel * (double)(p->roi.slow_max + 1)},
        };
    }
}

void cpu_view_close(struct cpu_view *v)
{
    mem_free(v->screens);
    v->screens = NULL;
}

/* Returns the largest scalar product of `a` and a unit vector in the cone. */
static double largest_product(const struct cpu_view *v, const double a[3])
{
    const double length = vec_length(a), along = vec_dot(a, v->axis);
    if (along >= length * v->cosine)
        return length;
    const double across = length * length - along * along;
    return along * v->cosine + sqrt(across > 0.0 ? across : 0.0) * v->sine;
}

/* Prepares *s. Returns false if the cell has no volume. */
static bool open_step(struct cpu_view_step *s, const struct cpu_view *v,
                      const struct cpu_source *source, const struct cpu_lattice *l, size_t step)
{
    *s = (struct cpu_view_step){.source = source, .lattice = l, .cell = l->cells + 9 * step};
    const double volume = mat_determinant(s->cell);
    if (!(fabs(volume) > 0.0))
        return false;
    const double per_m = source->index_per_m / INDEX_SCALE;
    const double reach = l->reach_1_m + 1e-9 * per_m;  // room for rounding
    const double hollow = per_m > reach ? per_m - reach : 0.0;
    s->per_m = per_m;
    s->wavelength_m = 1.0 / per_m;
    s->inner_sqr = hollow * hollow;
    s->outer_sqr = (per_m + reach) * (per_m + reach);
    for (int i = 0; i < 3; i++) {
        const double *a = s->cell + 3 * i;
        const double back[3] = {-a[0], -a[1], -a[2]};
        const double margin = vec_length(a) * l->reach_1_m + 1e-6;
        const double start = vec_dot(a, source->incident);
        s->min[i] = (int)ceil((-largest_product(v, back) - start) * per_m - margin);
        s->max[i] = (int)floor((largest_product(v, a) - start) * per_m + margin);
        vec_cross(s->cell + 3 * ((i + 1) % 3), s->cell + 3 * ((i + 2) % 3), s->reciprocal + 3 * i);
        vec_scale(s->reciprocal + 3 * i, 1.0 / volume, s->reciprocal + 3 * i);
        if (s->max[i] - s->min[i] > s->max[s->inner] - s->min[s->inner])
            s->inner = i;
        s->inverse_sqr[i] = 1.0 / vec_dot(s->reciprocal + 3 * i, s->reciprocal + 3 * i);
    }
    s->outer[0] = (s->inner + 1) % 3;
    s->outer[1] = (s->inner + 2) % 3;
    return true;
}

/* Returns about how many reflections of a step have a ball that meets the Ewald sphere in view
 * of the detector. */
static double count_reflections(const struct cpu_view *v, const struct cpu_view_step *s)
{
    const double area = 2.0 * M_PI * (1.0 - v->cosine) * s->per_m * s->per_m;
    return area * 2.0 * s->lattice->reach_1_m * fabs(mat_determinant(s->cell));
}

/* Returns the quadratic form of GAUSS beyond which all terms of a pixel together are below
 * 2^-176 photons, which is far too small for float32, or below the photons that it may lose. */
static double gauss_limit(const struct cpu_job *job, const struct cpu_lattice *l)
{
    const double faint = dense_faint_share(job, (size_t)(l - job->lattices));
    const struct experiment *x = job->x;
    double weight = 0.0, omega = 0.0, layers = 1.0;
    for (size_t i = 0; i < job->nsources; i++)
        weight = fmax(weight, fabs(job->sources[i].weight));
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        const double near = vec_dot(pixel_plane(p), p->normal), area = p->pixel_m * p->pixel_m;
        omega =
            fmax(omega, (p->point_pixel ? 1.0 : area * p->close_distance_m / near) / near / near);
        layers = fmax(layers, p->layers);
    }
    const double n = x->sampling.oversample;
    const double terms = (double)l->nsteps * (double)job->nsources * n * n * layers;
    int exponent, least = -175;
    if (faint > 0.0)
        (void)frexp(faint, &least);
    (void)frexp(ldexp(l->scale * weight * omega * terms, EXP2_BIAS), &exponent);
    return fmin(fmax(exponent + 1.0 - fmax(least, -175.0), 1.0), EXP2_LIMIT);
}

/* Returns an upper bound of the largest eigenvalue of the inverse of a symmetric matrix, from
 * Gershgorin's circles. Returns HUGE_VAL if the matrix has no inverse. */
static double inverse_bound(const double m[9])
{
    const double determinant = mat_determinant(m);
    double most = 0.0;
    for (int i = 0; i < 3; i++) {
        double row[3];
        vec_cross(m + 3 * ((i + 1) % 3), m + 3 * ((i + 2) % 3), row);
        most = fmax(most, fabs(row[0]) + fabs(row[1]) + fabs(row[2]));
    }
    return determinant > 0.0 ? most / determinant : HUGE_VAL;
}

/* Returns the radius in 1/m of a ball around a lattice point that contains all q for which the
 * lattice factor is not 0. Returns HUGE_VAL if there is no bound. */
static double reach_of(const struct cpu_job *job, const struct cpu_lattice *l)
{
    const double *m = l->form;
    const double M[9] = {m[0],       0.5 * m[3], 0.5 * m[4], 0.5 * m[3], m[1],
                         0.5 * m[5], 0.5 * m[4], 0.5 * m[5], m[2]};
    const double limit = shape_is_gaussian(l->shape) ? gauss_limit(job, l) : TOPHAT_LIMIT;
    double reach = 0.0;
    for (size_t step = 0; step < l->nsteps; step++) {
        const double *A = l->cells + 9 * step;
        double MA[9] = {0}, form_of_q[9] = {0};
        for (int i = 0; i < 9; i++)
            for (int k = 0; k < 3; k++)
                MA[i] += M[i / 3 * 3 + k] * A[3 * k + i % 3];
        for (int i = 0; i < 9; i++)
            for (int k = 0; k < 3; k++)
                form_of_q[i] += A[3 * k + i / 3] * MA[3 * k + i % 3];
        reach = fmax(reach, sqrt(limit * inverse_bound(form_of_q)));
    }
    return reach * (1.0 + 1e-6);
}

bool cpu_view_is_plain(const struct experiment *x)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        if (p->curved || fabs(vec_dot(p->fast, p->slow)) > 1e-9 ||
            fabs(vec_dot(p->fast, p->normal)) > 1e-9 || fabs(vec_dot(p->slow, p->normal)) > 1e-9 ||
            !(vec_dot(p->origin_m, p->normal) > 0.0))
            return false;
    }
    return true;
}

/* Returns true if listing the spots of a lattice is estimated to be faster than evaluating every
 * pixel. Requires l->reach_1_m. */
static bool pays(const struct cpu_job *job, const struct cpu_view *v, const struct cpu_lattice *l,
                 double step_ns)
{
    struct cpu_view_step s;
    if (!open_step(&s, v, job->sources, l, 0))
        return false;
    const double reach = l->reach_1_m;
    const double n = job->x->sampling.oversample;
    const double grids = n * n * job->x->panels[0].layers;
    const double pixels = grids * (double)experiment_pixels(job->x);
    const double lit = 4.0 / 3.0 * M_PI * reach * reach * reach * fabs(mat_determinant(s.cell));
    double points = 1.0, longest = 1.0;
    for (int i = 0; i < 3; i++) {
        const double range = s.max[i] < s.min[i] ? 1.0 : (double)s.max[i] - s.min[i] + 1.0;
        points *= range;
        longest = fmax(longest, range);
    }
    const double spots = count_reflections(v, &s);
    const double cost = points / longest * COST_LINE +
                        spots * (COST_SPOT * (double)count_planes(job->x) + COST_BOX * grids) +
                        2.0 * (spots * grids + lit * pixels) * COST_CANDIDATE;
    return cost < step_ns * pixels;
}

void cpu_spots_choose(struct cpu_job *job, double step_ns)
{
    struct cpu_view view = {.cosine = 1.0};
    set_cone(&view, job->x);
    const bool plain = cpu_view_is_plain(job->x);
    bool all = true;
    for (size_t i = 0; i < job->nlattices; i++) {
        struct cpu_lattice *l = &job->lattices[i];
        const bool narrow = plain && shape_is_bounded(l->shape) && !l->table->F;
        l->reach_1_m = narrow ? reach_of(job, l) : HUGE_VAL;
        l->scattered = narrow && l->reach_1_m < HUGE_VAL && l->nsteps <= UINT32_MAX &&
                       pays(job, &view, l, step_ns);
        all = all && l->scattered;
    }
    job->lean = all && !(job->water > 0.0) && !(job->x->dmin_m > 0.0);
}

/* ---- spots ---------------------------------------------------------------------------------- */

/* About how many spots are listed before their pixels are computed. That number of spots fits
 * into the caches. */
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

static void append_spot(struct cpu_spots *list, const struct cpu_spot *spot)
{
    list->items = mem_grow(list->items, list->count, 1, sizeof *list->items, &list->capacity);
    list->items[list->count++] = *spot;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Sets out[] to the smallest and largest x/z over a ball with centre (x, z) = (tangent z, z) and
 * radius ratio z. */
static void tangents(double tangent, double ratio, double out[2])
{
    const double scale = 1.0 / (1.0 - ratio * ratio);
    const double root = ratio * sqrt(tangent * tangent + 1.0 - ratio * ratio);
    out[0] = (tangent - root) * scale;
    out[1] = (tangent + root) * scale;
}

/* Sets out[] to the range of distances from the edge in m at which directions between the
 * tangents t[] meet a panel, over all its layers. */
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

/* Returns the squared structure factor of a lattice point, relative to the largest one. */
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

/* Lists spots for the lattice point of spot->index, one for each panel that the spot can reach,
 * if the ball of the point meets the Ewald sphere. exit[] is the diffracted beam in 1/m. */
static void add_point(const struct cpu_view *v, const struct cpu_view_step *s, const double exit[3],
                      struct cpu_spot *spot, struct cpu_spots *list)
{
    const double reach = s->lattice->reach_1_m;
    const double length = vec_length(exit), gap = length - s->per_m, inverse = 1.0 / length;
    /* |d/lambda - exit|^2 = gap^2 + |d - direction|^2 |exit|/lambda on the sphere */
    const double radius_sqr = (reach * reach - gap * gap) * inverse * s->wavelength_m;
    if (!(radius_sqr > 0.0))
        return;
    const double radius = sqrt(radius_sqr);
    const double direction[3] = {exit[0] * inverse, exit[1] * inverse, exit[2] * inverse};
    for (size_t i = 0; i < v->nscreens; i++) {
        double columns[2];
        if (!cpu_view_reaches(&v->screens[i], direction, radius, spot, columns))
            continue;
        spot->panel = (int32_t)i;
        spot->F_sqr = point_F_sqr(s->lattice, spot->index);
        if (spot->F_sqr != 0.0)
            append_spot(list, spot);
    }
}

/* Lists the spots of `count` <= CPU_BLOCK neighbouring rows of lattice points. The first row
 * begins at `start`. */
static void add_rows(const struct work *w, const struct cpu_view_step *s, const double start[3],
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
                add_point(&w->view, s, exit, spot, list);
            }
}

/* Lists all spots of one step, in the order of the indices. */
static void list_step(const struct work *w, const struct cpu_view_step *s, struct cpu_spot *spot,
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
            add_rows(w, s, start, left < CPU_BLOCK ? left : CPU_BLOCK, spot, list);
        }
}

/* Divides the rows of a panel into one band for each thread. The bands have about the same
 * amount of work. */
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

/* Adds all steps of one lattice and source: lists the spots of a few steps, then adds their
 * pixels, and so on. */
static void add_steps(const struct work *w, uint32_t lattice, uint32_t source, double *sums)
{
    const struct cpu_lattice *l = &w->job->lattices[lattice];
    const struct cpu_source *from = &w->job->sources[source];
    for (size_t first = 0; first < l->nsteps; first += w->nlists) {
        const size_t count = l->nsteps - first < w->nlists ? l->nsteps - first : w->nlists;
#pragma omp parallel for num_threads(w->threads) schedule(dynamic)
        for (size_t k = 0; k < count; k++) {
            struct cpu_view_step s;
            struct cpu_spot spot = {
                .lattice = lattice, .source = source, .step = (uint32_t)(first + k)};
            w->lists[k].count = 0;
            if (open_step(&s, &w->view, from, l, first + k))
                list_step(w, &s, &spot, &w->lists[k]);
        }
        scatter_lists(w, count, sums);
    }
}

static void work_open(struct work *w)
{
    const struct cpu_job *job = w->job;
    double spots = 1.0;
    int64_t rows = 1;
    for (size_t i = 0; i < job->nlattices; i++) {
        struct cpu_view_step s;
        if (job->lattices[i].scattered &&
            open_step(&s, &w->view, job->sources, &job->lattices[i], 0))
            spots = fmax(spots, count_reflections(&w->view, &s));
    }
    for (size_t i = 0; i < job->x->npanels; i++)
        rows = job->x->panels[i].slow_pixels > rows ? job->x->panels[i].slow_pixels : rows;
    w->nlists = (size_t)fmax(SPOTS_AT_ONCE / spots, 4.0 * w->threads);
    w->lists = mem_array(w->nlists, sizeof *w->lists);
    w->weights = mem_array((size_t)rows, sizeof *w->weights);
    w->ends = mem_array((size_t)w->threads, sizeof *w->ends);
}

static void work_close(struct work *w)
{
    for (size_t i = 0; i < w->nlists; i++)
        mem_free(w->lists[i].items);
    mem_free(w->lists);
    mem_free(w->weights);
    mem_free(w->ends);
}

void cpu_spots_add(const struct cpu_kernels *kernels, const struct cpu_job *job, int threads,
                   double *sums)
{
    struct work w = {.kernels = kernels, .job = job, .threads = threads};
    cpu_view_open(&w.view, job->x);
    work_open(&w);
    for (uint32_t l = 0; l < job->nlattices; l++)
        for (uint32_t s = 0; s < job->nsources && job->lattices[l].scattered; s++)
            add_steps(&w, l, s, sums);
    work_close(&w);
    cpu_view_close(&w.view);
}
