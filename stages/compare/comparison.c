/* Computes the differences between two images. */
#include "comparison.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/frame.h"

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double comparison_percentile(const struct comparison *c, double percent)
{
    if (c->nerrors == 0)
        return NAN;
    const double rank = ceil(percent / 100.0 * (double)c->nerrors);
    return (double)c->errors[rank > 1.0 ? (size_t)rank - 1 : 0];
}

static bool both_finite(const struct image *a, const struct image *b, size_t i)
{
    return isfinite(image_value(a, i)) && isfinite(image_value(b, i));
}

/* Computes the sums over finite pixels, in order, for the floor and the correlation. */
static void add_up(const struct image *a, const struct image *b, struct comparison *c)
{
    for (size_t i = 0; i < c->pixels; i++) {
        if (!both_finite(a, b, i)) {
            c->not_finite++;
            continue;
        }
        c->sum_a += image_value(a, i);
        c->sum_b += image_value(b, i);
    }
    c->nerrors = c->pixels - c->not_finite;
    const double n = (double)c->nerrors, mean_a = c->sum_a / n, mean_b = c->sum_b / n;
    double aa = 0.0, bb = 0.0, ab = 0.0;
    for (size_t i = 0; i < c->pixels; i++) {
        if (!both_finite(a, b, i))
            continue;
        const double da = image_value(a, i) - mean_a, db = image_value(b, i) - mean_b;
        aa += da * da;
        bb += db * db;
        ab += da * db;
    }
    c->correlation = aa * bb > 0.0 ? ab / sqrt(aa * bb) : NAN;
}

enum status comparison_make(struct comparison *c, const struct image *a, const struct image *b,
                            double floor_least, double floor_fraction, struct error *e)
{
    *c = (struct comparison){.pixels = b->count};
    add_up(a, b, c);
    c->floor = fmax(floor_least, floor_fraction * c->sum_b / (double)c->nerrors);
    c->errors = mem_array(c->nerrors, sizeof *c->errors);
    if (!c->errors)
        return error_memory(e, "the errors");
    size_t n = 0;
    c->max_error = -1.0;
    for (size_t i = 0; i < c->pixels; i++) {
        const double va = image_value(a, i), vb = image_value(b, i);
        c->differing += va != vb;  // true for NaN
        if (!both_finite(a, b, i))
            continue;
        const double error = va == vb ? 0.0 : fabs(va - vb) / fmax(vb, c->floor);
        c->errors[n++] = (float)error;
        if (error > c->max_error) {
            c->max_error = error;
            c->worst = i;
            c->worst_a = va;
            c->worst_b = vb;
        }
    }
    qsort(c->errors, n, sizeof *c->errors, compare_floats);
    return STATUS_OK;
}

void comparison_free(struct comparison *c)
{
    mem_free(c->errors);
    *c = (struct comparison){0};
}
