#include "score/roc.h"

#include <math.h>

bool roc_add(struct roc *r, bool right, double value)
{
    return values_add(&r->of[right], value);
}

/* A walk from the greatest number down. */
struct walk {
    const struct values *of;
    size_t count[2];  // of the others and the right ones
    size_t taken[2];  // by now
};

/* False unless there are both. */
static bool begin(struct walk *w, struct roc *r)
{
    *w = (struct walk){.of = r->of};
    for (int i = 0; i < 2; i++)
        w->count[i] = values_sort(&r->of[i]);
    return w->count[0] && w->count[1];
}

/* Takes all that are equal to the next number; false at the end. */
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
    if (!begin(&w, r))
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
    if (!begin(&w, r))
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
