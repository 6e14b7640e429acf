#include "physics/detector/predict.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

/* One source and one step of the rotation of one lattice. */
struct view {
    size_t lattice;
    const double *axes;    // rows a, b, c in m
    double reciprocal[9];  // rows a*, b*, c* in 1/m
    const double *cells;   // Na, Nb, Nc
    double incident[3];    // wave vector, 1/m
    double wave;           // its length
    double qmax;           // 1/m
    double mosaic_rad;     // largest turn of a domain
    double reach;          // 1/m, farthest from the sphere that a spot may be
};

static void reciprocal_of(const double axes[9], double rows[9])
{
    const double volume = mat_determinant(axes);
    for (int i = 0; i < 3; i++) {
        vec_cross(axes + 3 * ((i + 1) % 3), axes + 3 * ((i + 2) % 3), rows + 3 * i);
        vec_scale(rows + 3 * i, 1.0 / volume, rows + 3 * i);
    }
}

static double largest_turn(const struct lattice *l)
{
    double most = 0.0;
    for (size_t d = 0; d < l->ndomains && l->mosaic; d++) {
        const double *m = l->domains + 9 * d;
        most = fmax(most, acos(fmax(-1.0, fmin(1.0, 0.5 * (m[0] + m[4] + m[8] - 1.0)))));
    }
    return most;
}

/* Halves of its width from the sphere: a spot ends where one index is 1/(2N) off [2.6], and a turn
 * moves its lattice point by as much as it is far from the origin. */
static double off_sphere(const struct view *v, const double q[3], double direction[3])
{
    double out[3];
    for (int i = 0; i < 3; i++)
        out[i] = v->incident[i] + q[i];
    const double excess = fabs(vec_unit(out, direction) - v->wave);
    const double turned = v->mosaic_rad * vec_length(q);
    const double left = excess > turned ? excess - turned : 0.0;
    double off = 0.0;
    for (int i = 0; i < 3; i++)
        off = fmax(off, 2.0 * left * v->cells[i] * fabs(vec_dot(v->axes + 3 * i, direction)));
    return off;
}

/* No excess that off_sphere calls at most 1 is larger: a unit vector is the sum of a* times its
 * product with a, and so on, which are at most 1/(2 N excess). */
static double reach_of(const struct view *v)
{
    double reach = v->mosaic_rad * v->qmax;
    for (int i = 0; i < 3; i++)
        reach += 0.5 * vec_length(v->reciprocal + 3 * i) / v->cells[i];
    return reach;
}

static void try_index(const struct view *v, int h, int k, int l, struct reflections *list)
{
    struct reflection r = {.lattice = v->lattice, .hkl = {h, k, l}};
    double q[3];
    for (int i = 0; i < 3; i++)
        q[i] = h * v->reciprocal[i] + k * v->reciprocal[3 + i] + l * v->reciprocal[6 + i];
    const double length = vec_length(q);
    if (!(length > 0.0) || length > v->qmax)
        return;
    r.off = off_sphere(v, q, r.direction);
    if (r.off > 1.0)
        return;
    struct reflection *all = mem_grow(list->all, list->count, 1, sizeof r, &list->capacity);
    list->all = all;
    all[list->count++] = r;
}

/* From the foot of a row to where it leaves a sphere of radius r about the centre, in units of its
 * step; negative where it does not meet it.  a: step squared; b: step times the row's origin, c:
 * that squared, both from the centre. */
static double half_chord(double a, double b, double c, double r)
{
    const double root = b * b - a * (c - r * r);
    return root < 0.0 ? -1.0 : sqrt(root) / a;
}

/* Predicts the reflections of the row (h, k, *). Only those l are tried that are in the shell
 * about the sphere from which spots can reach it. */
static void try_row(const struct view *v, int h, int k, struct reflections *list)
{
    const double *step = v->reciprocal + 6;
    double from[3];
    for (int i = 0; i < 3; i++)
        from[i] = v->incident[i] + h * v->reciprocal[i] + k * v->reciprocal[3 + i];
    const double a = vec_dot(step, step), b = vec_dot(from, step), c = vec_dot(from, from);
    const double outer = half_chord(a, b, c, v->wave + v->reach);
    const double inner = half_chord(a, b, c, fmax(0.0, v->wave - v->reach)), foot = -b / a;
    const int last = (int)floor(foot + outer);
    for (int l = (int)ceil(foot - outer); l <= last && outer >= 0.0; l++) {
        if (fabs(l - foot) < inner)
            l = (int)ceil(foot + inner);
        if (l <= last)
            try_index(v, h, k, l, list);
    }
}

static void try_view(const struct view *v, struct reflections *list)
{
    const int hmax = (int)(v->qmax * vec_length(v->axes)),
              kmax = (int)(v->qmax * vec_length(v->axes + 3));
    for (int h = -hmax; h <= hmax; h++)
        for (int k = -kmax; k <= kmax; k++)
            try_row(v, h, k, list);
}

static int compare_reflections(const void *a, const void *b)
{
    const struct reflection *x = a, *y = b;
    if (x->lattice != y->lattice)
        return x->lattice < y->lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (x->direction[i] != y->direction[i])
            return x->direction[i] < y->direction[i] ? -1 : 1;
    return 0;
}

static bool is_same(const struct reflection *x, const struct reflection *y)
{
    return x->lattice == y->lattice && x->hkl[0] == y->hkl[0] && x->hkl[1] == y->hkl[1] &&
           x->hkl[2] == y->hkl[2];
}

/* Removes duplicates: of equal reflections only the one nearest to a sphere stays. */
static void remove_duplicates(struct reflections *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->all, list->count, sizeof *list->all, compare_reflections);
    for (size_t i = 0; i < list->count; i++)
        if (!kept || !is_same(&list->all[kept - 1], &list->all[i]))
            list->all[kept++] = list->all[i];
    list->count = kept;
}

static void try_lattice(const struct experiment *x, const struct recipe *r, size_t index,
                        double dmin_m, struct reflections *list)
{
    const struct lattice *l = &r->lattices[index];
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t nsources = r->nsources ? r->nsources : x->beam.nsources;
    struct view v = {.lattice = index,
                     .cells = lattice_cells(x, l),
                     .qmax = 1.0 / dmin_m,
                     .mosaic_rad = largest_turn(l)};
    size_t enough = list->count + (1 << 16);  // many of these are the same
    for (size_t i = 0; i < l->nphi && l->weight > 0.0; i++) {
        v.axes = l->cells_m + 9 * i;
        reciprocal_of(v.axes, v.reciprocal);
        v.reach = reach_of(&v);
        for (size_t k = 0; k < nsources; k++) {
            if (!(sources[k].weight > 0.0))
                continue;
            v.wave = 1.0 / sources[k].wavelength_m;
            vec_scale(sources[k].direction, -v.wave, v.incident);
            try_view(&v, list);
            if (list->count > enough) {
                remove_duplicates(list);
                enough = 2 * list->count + (1 << 16);
            }
        }
    }
}

void predict(const struct experiment *x, const struct recipe *r, double dmin_m,
             struct reflections *list)
{
    *list = (struct reflections){0};
    for (size_t i = 0; i < r->nlattices; i++)
        try_lattice(x, r, i, fmax(dmin_m, x->dmin_m), list);
    remove_duplicates(list);
}

void predict_free(struct reflections *list)
{
    mem_free(list->all);
    *list = (struct reflections){0};
}
