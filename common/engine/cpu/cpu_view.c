/*
 * Which lattice points a detector can see, and whether it pays to list them.
 * Nothing here has a part in the value of a pixel: what is listed too much is found
 * dark by the kernel.
 */
#include <math.h>

#include "base/vec.h"
#include "engine/spots/cpu_spots.h"
#include "physics/crystal/shape_fast.h"
#include "physics/detector/pixel.h"

/* Estimated cost in ns, AVX2, one thread: only their ratios matter. */
static const double COST_LINE = 15.0;       // a row of lattice points
static const double COST_SPOT = 50.0;       // a spot, and a plane that may have it
static const double COST_BOX = 20.0;        // a layer and subpixel of a spot
static const double COST_CANDIDATE = 20.0;  // a pixel of these

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether two panels are cut from one plane. */
static bool one_plane(const struct panel *a, const struct panel *b)
{
    const double *at = pixel_plane(a), *bt = pixel_plane(b);
    bool same = a->pixel_m == b->pixel_m;
    for (int i = 0; i < 3; i++)
        same = same && at[i] == bt[i] && a->fast[i] == b->fast[i] && a->slow[i] == b->slow[i];
    return same;
}

/* Makes *whole of panel `first` and those that follow on its plane, as if they had not been
 * cut apart, with the rectangle about their regions of interest; returns the next panel. */
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

/* Unit direction of a corner of the region of interest, at the front or the back. */
static void corner(const struct panel *p, int which, double out[3])
{
    const double fast = p->pixel_m * (double)(which & 1 ? p->roi.fast_max + 1 : p->roi.fast_min);
    const double slow = p->pixel_m * (double)(which & 2 ? p->roi.slow_max + 1 : p->roi.slow_min);
    const double depth = which & 4 ? p->layers * p->layer_m : 0.0;
    for (int i = 0; i < 3; i++)
        out[i] = p->origin_m[i] + fast * p->fast[i] + slow * p->slow[i] + depth * p->normal[i];
    vec_unit(out, out);
}

/* The narrowest cone around the mean of all corners of planes that holds them. */
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

bool cpu_view_open(struct cpu_view *v, const struct experiment *x)
{
    *v = (struct cpu_view){.cosine = 1.0, .nscreens = x->npanels};
    set_cone(v, x);
    v->screens = mem_array(x->npanels, sizeof *v->screens);
    for (size_t i = 0; i < x->npanels && v->screens; i++) {
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
    return v->screens;
}

void cpu_view_close(struct cpu_view *v)
{
    mem_free(v->screens);
    v->screens = NULL;
}

/* Largest product of `a` and a unit vector in the cone. */
static double largest_product(const struct cpu_view *v, const double a[3])
{
    const double length = vec_length(a), along = vec_dot(a, v->axis);
    if (along >= length * v->cosine)
        return length;
    const double across = length * length - along * along;
    return along * v->cosine + sqrt(across > 0.0 ? across : 0.0) * v->sine;
}

bool cpu_view_step(struct cpu_view_step *s, const struct cpu_view *v,
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

double cpu_view_reflections(const struct cpu_view *v, const struct cpu_view_step *s)
{
    const double area = 2.0 * M_PI * (1.0 - v->cosine) * s->per_m * s->per_m;
    return area * 2.0 * s->lattice->reach_1_m * fabs(mat_determinant(s->cell));
}

/* Form of GAUSS beyond which all terms of a pixel together are below 2^-176 photons: too
 * little for float32 by far. */
static double gauss_limit(const struct cpu_job *job, const struct cpu_lattice *l)
{
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
    int exponent;
    (void)frexp(ldexp(l->scale * weight * omega * terms, EXP2_BIAS), &exponent);
    return fmin(fmax(exponent + 176.0, 1.0), EXP2_LIMIT);
}

/* Largest eigenvalue of the inverse of a symmetric matrix, or a little more: by Gershgorin's
 * circles; HUGE_VAL when there is no inverse. */
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

/* Radius in 1/m of a ball that holds all q whose offset from a lattice point makes the
 * form of the shape small enough to be lit.  HUGE_VAL when there is no bound. */
static double reach_of(const struct cpu_job *job, const struct cpu_lattice *l)
{
    const double *m = l->form;
    const double M[9] = {m[0],       0.5 * m[3], 0.5 * m[4], 0.5 * m[3], m[1],
                         0.5 * m[5], 0.5 * m[4], 0.5 * m[5], m[2]};
    const double limit = l->shape == SHAPE_GAUSS ? gauss_limit(job, l) : TOPHAT_LIMIT;
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

/* Whether listing the spots of a lattice is estimated to be faster than asking every
 * pixel; its reach is known. */
static bool pays(const struct cpu_job *job, const struct cpu_view *v, const struct cpu_lattice *l,
                 double step_ns)
{
    struct cpu_view_step s;
    if (!cpu_view_step(&s, v, job->sources, l, 0))
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
    const double spots = cpu_view_reflections(v, &s);
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
        const enum crystal_shape shape = l->shape;
        const bool narrow =
            plain && (shape == SHAPE_GAUSS || shape == SHAPE_TOPHAT) && !l->table->F;
        l->reach_1_m = narrow ? reach_of(job, l) : HUGE_VAL;
        l->scattered = narrow && l->reach_1_m < HUGE_VAL && l->nsteps <= UINT32_MAX &&
                       pays(job, &view, l, step_ns);
        all = all && l->scattered;
    }
    job->lean = all && !(job->water > 0.0) && !(job->x->dmin_m > 0.0);
}
