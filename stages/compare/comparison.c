/* Compares two images: the error of a pixel is |a - b| / max(b, floor). */
#include "comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const double percents[] = {50.0, 90.0, 99.0, 99.9};
enum { PERCENTS = sizeof percents / sizeof *percents };

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

/* Computes the sums, over pixels that are finite in both images, for the floor and the
 * correlation. The order of the pixels does not change. */
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

void comparison_make(struct comparison *c, const struct image *a, const struct image *b,
                     const struct compare_options *o)
{
    *c = (struct comparison){.pixels = b->count};
    add_up(a, b, c);
    c->floor =
        isnan(o->floor) ? fmax(0.0, o->floor_fraction * c->sum_b / (double)c->nerrors) : o->floor;
    c->errors = mem_array(c->nerrors, sizeof *c->errors);
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
}

void comparison_free(struct comparison *c)
{
    mem_free(c->errors);
    *c = (struct comparison){0};
}

/* --- verdict ------------------------------------------------------------- */

static enum status parse_limit(const char *text, struct percentile_limit *limit, struct error *e)
{
    char copy[64];
    const char *colon = strchr(text, ':');
    if (!colon || strlen(text) >= sizeof copy)
        return error_set(
            e, STATUS_USAGE,
            "--percentile-error: '%.60s' is malformed; expected P:X, such as 99.9:1e-6", text);
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(colon - text), text);
    const enum status s = parse_real(copy, 0.0, 100.0, "--percentile-error", &limit->percent, e);
    return s ? s : parse_real(colon + 1, 0.0, 1e300, "--percentile-error", &limit->error, e);
}

enum status comparison_limits(const struct compare_options *o, struct percentile_limit *limits,
                              struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->percentile_errors.count && !s; i++)
        s = parse_limit(o->percentile_errors.text[i], &limits[i], e);
    return s;
}

bool comparison_is_within(const struct comparison *c, const struct compare_options *o,
                          const struct percentile_limit *limits)
{
    if (c->not_finite)
        return false;
    if (isnan(o->max_error) && isnan(o->sum_tolerance) && o->percentile_errors.count == 0)
        return c->differing == 0;
    bool within = isnan(o->max_error) || c->max_error <= o->max_error;
    if (!isnan(o->sum_tolerance) && c->sum_a != c->sum_b)
        within = within && fabs(c->sum_a / c->sum_b - 1.0) <= o->sum_tolerance;
    for (size_t i = 0; i < o->percentile_errors.count; i++)
        within = within && comparison_percentile(c, limits[i].percent) <= limits[i].error;
    return within;
}

/* --- report -------------------------------------------------------------- */

double comparison_sum_ratio(const struct comparison *c)
{
    return c->sum_a == c->sum_b ? 1.0 : c->sum_a / c->sum_b;
}

void comparison_print_text(FILE *out, const struct comparison *c, int64_t fast, bool within)
{
    fprintf(out, "pixels       %zu, %zu differ%s, %zu not finite\n", c->pixels, c->differing,
            c->differing ? "" : " (identical)", c->not_finite);
    fprintf(out, "floor        %.6g\n", c->floor);
    if (c->nerrors) {
        fprintf(out, "max error    %.6g at ", c->max_error);
        if (fast)
            fprintf(out, "(fast %zu, slow %zu)", c->worst % (size_t)fast, c->worst / (size_t)fast);
        else
            fprintf(out, "pixel %zu", c->worst);
        fprintf(out, ": %.9g against %.9g\n", c->worst_a, c->worst_b);
        fprintf(out, "percentiles ");
        for (int i = 0; i < PERCENTS; i++)
            fprintf(out, " %g%%: %.6g%s", percents[i], comparison_percentile(c, percents[i]),
                    i + 1 < PERCENTS ? "," : "\n");
        fprintf(out, "sum ratio    %.12g (%.9g against %.9g)\n", comparison_sum_ratio(c), c->sum_a,
                c->sum_b);
        fprintf(out, "correlation  %.9g\n", c->correlation);
    }
    fprintf(out, "verdict      %s\n", within ? "within" : "outside");
}

/* Prints a JSON number; null for NaN and infinity, which JSON does not have. */
static void print_number(FILE *out, const char *name, double value)
{
    if (isfinite(value))
        fprintf(out, "\"%s\":%.17g,", name, value);
    else
        fprintf(out, "\"%s\":null,", name);
}

void comparison_print_json(FILE *out, const struct comparison *c, int64_t fast, bool within)
{
    fprintf(out, "\"pixels\":%zu,\"differing\":%zu,\"identical\":%s,\"not_finite\":%zu,", c->pixels,
            c->differing, c->differing ? "false" : "true", c->not_finite);
    print_number(out, "floor", c->floor);
    print_number(out, "max_error", c->nerrors ? c->max_error : NAN);
    if (fast)
        fprintf(out, "\"worst\":[%zu,%zu],", c->worst % (size_t)fast, c->worst / (size_t)fast);
    else
        fprintf(out, "\"worst\":%zu,", c->worst);
    print_number(out, "worst_a", c->worst_a);
    print_number(out, "worst_b", c->worst_b);
    for (int i = 0; i < PERCENTS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "percentile_%g", percents[i]);
        print_number(out, name, comparison_percentile(c, percents[i]));
    }
    print_number(out, "sum_a", c->sum_a);
    print_number(out, "sum_b", c->sum_b);
    print_number(out, "sum_ratio", comparison_sum_ratio(c));
    print_number(out, "correlation", c->correlation);
    fprintf(out, "\"within\":%s", within ? "true" : "false");
}
