/*
 * The gate: the limits within which an image agrees with the reference.  The relative error, with a
 * floor of 1e-3 of the mean, is at most 1e-5 for N <= 20 and 1e-4 above.  It is tested in pixels
 * whose reference changes by less than 1e-6 if h, k, l move by 1e-12.  All other pixels are
 * counted, and are at most 1e-4 of the image.  The sums agree within 1e-6.
 */
#ifndef BRAGG_TESTS_ENGINE_GATE_H
#define BRAGG_TESTS_ENGINE_GATE_H

#include <math.h>

#include "engine_case.h"
#include "engine_moved.h"

/* How much a pixel of `image` changes, against the larger of its value and `floor_photons`, when
 * an index moves by 1e-12: the first change of `enough` or more, or the largest of six. */
static inline double change_of_pixel(const struct experiment *x, const struct recipe *r,
                                     const struct panel *p, int64_t at, float image,
                                     double floor_photons, double enough)
{
    const int64_t fast = at % p->fast_pixels, slow = at / p->fast_pixels;
    const double value = moved_photons(x, r, p, fast, slow, (double[3]){0.0, 0.0, 0.0});
    if (image == 0.0f && (p->mask || value == 0.0))
        return 0.0;
    double change = 0.0;
    for (int axis = 0; axis < 6 && change < enough; axis++) {
        double move[3] = {0.0, 0.0, 0.0};
        move[axis / 2] = axis % 2 ? 1e-12 : -1e-12;
        const double moved = moved_photons(x, r, p, fast, slow, move);
        const double by = fabs(moved - value) / fmax(value, floor_photons);
        change = by <= change ? change : by;
        if (isnan(by)) /* 0 / 0, too */
            return INFINITY;
    }
    return change;
}

/* The change of every pixel as above, into change[pixels]. */
static inline void changes_of_pixels(const struct experiment *x, const struct recipe *r,
                                     const float *image, double floor_photons, double enough,
                                     double *change)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
#pragma omp parallel for schedule(dynamic)
        for (int64_t at = 0; at < p->fast_pixels * p->slow_pixels; at++) {
            const size_t item = (size_t)(p->first_pixel + at);
            change[item] = change_of_pixel(x, r, p, at, image[item], floor_photons, enough);
        }
    }
}

/* Marks pixels that change by `limit` or more when an index moves by 1e-12. */
static inline void mark_unsteady(const struct experiment *x, const struct recipe *r,
                                 const float *image, double floor_photons, double limit,
                                 uint8_t *unsteady)
{
    const size_t count = (size_t)experiment_pixels(x);
    double *change = mem_array(count, sizeof *change);
    changes_of_pixels(x, r, image, floor_photons, limit, change);
    for (size_t i = 0; i < count; i++)
        unsteady[i] = unsteady[i] || change[i] >= limit;
    mem_free(change);
}

struct verdict {
    double worst, mean, sum_ratio;
    size_t worst_at, unsteady, count;
    bool finite;
};

static inline struct verdict compare(const float *a, const float *b, const uint8_t *unsteady,
                                     size_t count)
{
    struct verdict v = {.count = count, .finite = true};
    double sum_a = 0.0, sum_b = 0.0;
    for (size_t i = 0; i < count; i++) {
        v.finite = v.finite && isfinite(a[i]) && isfinite(b[i]);
        sum_a += (double)a[i];
        sum_b += (double)b[i];
    }
    v.mean = sum_b / (double)count;
    v.sum_ratio = sum_a / sum_b;
    for (size_t i = 0; i < count; i++) {
        v.unsteady += unsteady[i];
        const double error = fabs((double)a[i] - (double)b[i]) / fmax((double)b[i], 1e-3 * v.mean);
        if (!unsteady[i] && error > v.worst) {
            v.worst = error;
            v.worst_at = i;
        }
    }
    return v;
}

static inline double limit_of(const struct engine_case *c)
{
    return c->cells[0] > 20.0 || c->cells[1] > 20.0 ? 1e-4 : 1e-5;
}

/* What is wrong by the gate; NULL when nothing is. */
static inline const char *gate_says(const struct verdict *v, double limit)
{
    if (!v->finite)
        return "not finite";
    if (!(v->mean > 0.0))
        return "dark";
    if (!(v->worst <= limit))
        return "a pixel";
    if (!(fabs(v->sum_ratio - 1.0) <= 1e-6))
        return "the sum";
    return (double)v->unsteady <= 1e-4 * (double)v->count ? NULL : "too many pixels left out";
}

#endif
