#include "score/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Vitter's algorithm R: number n goes to one of n + 1 places with equal probability. */
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

void values_add(struct values *x, double value)
{
    const size_t at = sample_place(x->n, most_of(x));
    x->greatest = x->n && x->greatest > value ? x->greatest : value;
    if (x->n < most_of(x))
        x->v = mem_grow(x->v, x->n, 1, sizeof *x->v, &x->room);
    x->n++;
    if (at >= most_of(x))
        return;
    x->v[at] = value;
    x->sorted = false;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts v[] in ascending order.  Returns how many numbers are stored in it. */
static size_t values_sort(struct values *x)
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
    /* from the median outwards, the nearer of both sides first, up to the middle number */
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
    const double numbers = m->weight * m->weight / m->weight_squares;  // effective number of
                                                                       // numbers with equal weight
    return m->n > 1 ? sqrt(m->squares / m->weight / (numbers - 1.0)) : NAN;
}

void offsets_add(struct offsets *o, double fast, double slow, double weight)
{
    mean_add(&o->fast, fast, weight);
    mean_add(&o->slow, slow, weight);
    values_add(&o->all_fast, fast);
    values_add(&o->all_slow, slow);
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

void roc_add(struct roc *r, bool right, double value)
{
    values_add(&r->of[right], value);
}

/* A walk through all numbers of a roc in descending order. */
struct walk {
    const struct values *of;
    size_t count[2];  // numbers of wrong and right items
    size_t taken[2];  // number of each kind that have been visited
};

/* Starts a walk.  Returns false unless there are items of both kinds. */
static bool begin_walk(struct walk *w, struct roc *r)
{
    *w = (struct walk){.of = r->of};
    for (int i = 0; i < 2; i++)
        w->count[i] = values_sort(&r->of[i]);
    return w->count[0] && w->count[1];
}

/* Visits all items that have the next number.  Returns false at the end. */
static bool step(struct walk *w, double *threshold)
{
    bool more = false;
    for (int i = 0; i < 2; i++) {
        if (w->taken[i] == w->count[i])
            continue;
        const double next = w->of[i].v[w->count[i] - w->taken[i] - 1];
        *threshold = more && *threshold > next ? *threshold : next;
        more = true;
    }
    for (int i = 0; i < 2 && more; i++)
        while (w->taken[i] < w->count[i] && w->of[i].v[w->count[i] - w->taken[i] - 1] == *threshold)
            w->taken[i]++;
    return more;
}

double roc_area(struct roc *r)
{
    struct walk w;
    double area = 0.0, threshold = 0.0;
    if (!begin_walk(&w, r))
        return NAN;
    for (size_t other = 0, right = 0; step(&w, &threshold);
         other = w.taken[0], right = w.taken[1]) {
        const double below = (double)(w.count[0] - w.taken[0]),
                     equal = (double)(w.taken[0] - other);
        area += (double)(w.taken[1] - right) * (below + 0.5 * equal);
    }
    return area / ((double)w.count[0] * (double)w.count[1]);
}

size_t roc_points(struct roc *r, struct roc_point points[ROC_POINTS])
{
    struct walk w;
    struct roc_point last = {0};
    size_t n = 0;
    double threshold = 0.0;
    if (!begin_walk(&w, r))
        return 0;
    while (step(&w, &threshold)) {
        const struct roc_point p = {threshold, (double)w.taken[0] / (double)w.count[0],
                                    (double)w.taken[1] / (double)w.count[1]};
        const bool end = w.taken[0] == w.count[0] && w.taken[1] == w.count[1];
        const bool far =
            ROC_STEPS * (p.other - last.other) >= 1.0 || ROC_STEPS * (p.right - last.right) >= 1.0;
        if (n < ROC_POINTS && (end || (far && n < ROC_POINTS - 1)))
            points[n++] = last = p;
    }
    return n;
}

void roc_free(struct roc *r)
{
    values_free(&r->of[0]);
    values_free(&r->of[1]);
}

/* Ratios of reflections with fewer photons are too noisy to be used. */
static const double RATIO_PHOTONS = 10.0;

/* The median of chi2 with one degree of freedom. */
static const double CHI2_MEDIAN = 0.45493642311957;

void intensities_add(struct intensities *i, double photons, double measured, double sigma)
{
    const double pull = (measured - photons) / sigma;
    agreement_add(&i->all, photons, measured, sigma);
    if (photons >= RATIO_PHOTONS)
        values_add(&i->ratios, measured / photons);
    if (sigma > 0.0)
        values_add(&i->chi2s, pull * pull);
}

double intensities_chi2_robust(struct intensities *i)
{
    return values_percentile(&i->chi2s, 50.0) / CHI2_MEDIAN;
}

void intensities_free(struct intensities *i)
{
    values_free(&i->ratios);
    values_free(&i->chi2s);
}

/* --- shells ------------------------------------------------------------------------- */

const int score_shells_A[SCORE_SHELLS] = {0, 1, 2, 3, 4, 6, 10};

double score_inverse_d2(const double a_matrix[9], const int32_t hkl[3])
{
    double squares = 0.0;
    for (int i = 0; i < 3; i++) {
        const double q =
            a_matrix[3 * i] * hkl[0] + a_matrix[3 * i + 1] * hkl[1] + a_matrix[3 * i + 2] * hkl[2];
        squares += q * q;
    }
    return squares;
}

int score_shell(double inverse_d2)
{
    int shell = SCORE_SHELLS - 1;
    while (shell && !(inverse_d2 * score_shells_A[shell] * score_shells_A[shell] <= 1.0))
        shell--;
    return shell;
}
