#include "score/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Vitter's algorithm R: number n takes any of n + 1 places. */
size_t sample_place(size_t n, size_t kept)
{
    return n < kept ? n : (size_t)(hash_finish(n) % (n + 1));
}

static size_t most_of(const struct values *x)
{
    return x->most ? x->most : (size_t)VALUES_KEPT;
}

size_t values_kept(const struct values *x)
{
    return x->n < most_of(x) ? x->n : most_of(x);
}

bool values_add(struct values *x, double value)
{
    const size_t at = sample_place(x->n, most_of(x));
    x->greatest = x->n && x->greatest > value ? x->greatest : value;
    if (x->n < most_of(x)) {
        double *more = mem_grow(x->v, x->n, 1, sizeof *more, &x->room);
        if (!more)
            return false;
        x->v = more;
    }
    x->n++;
    if (at >= most_of(x))
        return true;
    x->v[at] = value;
    x->sorted = false;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t values_sort(struct values *x)
{
    const size_t kept = values_kept(x);
    if (kept && !x->sorted)
        qsort(x->v, kept, sizeof *x->v, ascending);
    x->sorted = true;
    return kept;
}

double values_percentile(struct values *x, double percent)
{
    const size_t kept = values_kept(x);
    if (!x->n || percent >= 100.0)
        return x->n ? x->greatest : NAN;
    (void)values_sort(x);
    const double at = percent / 100.0 * (double)(kept - 1);
    const size_t below = (size_t)at, above = below + 1 < kept ? below + 1 : below;
    return x->v[below] + (at - (double)below) * (x->v[above] - x->v[below]);
}

double values_mad(struct values *x)
{
    const double median = values_percentile(x, 50.0);
    const size_t kept = values_sort(x);
    size_t above = 0;
    double before = NAN, distance = NAN;
    while (above < kept && x->v[above] < median)
        above++;
    /* from the median outwards, the nearer one of both sides first, as far as the middle */
    for (size_t below = above, taken = 0; taken < kept / 2 + 1 && taken < kept; taken++) {
        const double up = above < kept ? x->v[above] - median : INFINITY,
                     down = below ? median - x->v[below - 1] : INFINITY;
        before = distance;
        distance = up < down ? up : down;
        if (up < down)
            above++;
        else
            below--;
    }
    return kept % 2 || !kept ? distance : 0.5 * (before + distance);
}

void values_free(struct values *x)
{
    mem_free(x->v);
    *x = (struct values){0};
}

void mean_add(struct mean *m, double value, double weight)
{
    const double away = value - m->mean;
    m->n++;
    m->weight += weight;
    m->weight_squares += weight * weight;
    m->mean += away * weight / m->weight;
    m->squares += weight * away * (value - m->mean);
}

double mean_value(const struct mean *m)
{
    return m->n ? m->mean : NAN;
}

double mean_error(const struct mean *m)
{
    const double numbers = m->weight * m->weight / m->weight_squares;  // of equal weight
    return m->n > 1 ? sqrt(m->squares / m->weight / (numbers - 1.0)) : NAN;
}

bool offsets_add(struct offsets *o, double fast, double slow, double weight)
{
    mean_add(&o->fast, fast, weight);
    mean_add(&o->slow, slow, weight);
    return values_add(&o->all_fast, fast) && values_add(&o->all_slow, slow);
}

void offsets_free(struct offsets *o)
{
    values_free(&o->all_fast);
    values_free(&o->all_slow);
}

void agreement_add(struct agreement *a, double truth, double measured, double sigma)
{
    a->n++;
    const double dx = truth - a->x, dy = measured - a->y;
    a->x += dx / (double)a->n;
    a->y += dy / (double)a->n;
    a->xx += dx * (truth - a->x);
    a->xy += dx * (measured - a->y);
    a->yy += dy * (measured - a->y);
    if (!(sigma > 0.0))
        return;
    const double weight = 1.0 / (sigma * sigma), off = measured - truth;
    a->with_sigma++;
    a->weighted_xx += weight * truth * truth;
    a->weighted_xy += weight * truth * measured;
    a->chi += weight * off * off;
}

double agreement_cc(const struct agreement *a)
{
    return a->xx > 0.0 && a->yy > 0.0 ? a->xy / sqrt(a->xx * a->yy) : NAN;
}

double agreement_slope(const struct agreement *a)
{
    return a->weighted_xx > 0.0 ? a->weighted_xy / a->weighted_xx : NAN;
}

double agreement_chi2(const struct agreement *a)
{
    return a->with_sigma ? a->chi / (double)a->with_sigma : NAN;
}
