#include "score/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

bool values_add(struct values *x, double value)
{
    double *more = mem_grow(x->v, x->n, 1, sizeof *more, &x->room);
    if (!more)
        return false;
    x->v = more;
    more[x->n++] = value;
    x->sorted = false;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double values_percentile(struct values *x, double percent)
{
    if (!x->n)
        return NAN;
    if (!x->sorted)
        qsort(x->v, x->n, sizeof *x->v, ascending);
    x->sorted = true;
    const double at = percent / 100.0 * (double)(x->n - 1);
    const size_t below = (size_t)at, above = below + 1 < x->n ? below + 1 : below;
    return x->v[below] + (at - (double)below) * (x->v[above] - x->v[below]);
}

double values_spread(struct values *x)
{
    struct values distances = {0};
    const double median = values_percentile(x, 50.0);
    bool good = true;
    for (size_t i = 0; i < x->n && good; i++)
        good = values_add(&distances, fabs(x->v[i] - median));
    const double spread = good ? 1.4826 * values_percentile(&distances, 50.0) : NAN;
    values_free(&distances);
    return spread;
}

void values_free(struct values *x)
{
    mem_free(x->v);
    *x = (struct values){0};
}

void mean_add(struct mean *m, double value)
{
    const double away = value - m->mean;
    m->n++;
    m->mean += away / (double)m->n;
    m->squares += away * (value - m->mean);
}

double mean_value(const struct mean *m)
{
    return m->n ? m->mean : NAN;
}

double mean_error(const struct mean *m)
{
    return m->n > 1 ? sqrt(m->squares / (double)(m->n - 1) / (double)m->n) : NAN;
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
