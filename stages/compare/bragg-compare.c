/*
 * bragg-compare: compares two images.  The error of a pixel is |a - b| / max(b, floor).  Limits
 * decide the exit status.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "io/images/image_file.h"
#include "model/frame.h"

/* Result.  The error of a pixel is |a - b| / max(b, floor); it is 0 if both values are equal. */
struct comparison {
    size_t pixels, differing, not_finite;  // not_finite: NaN or infinite in one of the images
    double floor;
    /* The next members are about pixels that are finite in both images. */
    double sum_a, sum_b;
    double correlation;  // correlation coefficient; NaN: an image is constant
    double max_error;
    size_t worst;  // index of the pixel with max_error
    double worst_a, worst_b;
    size_t nerrors;
    float *errors;  // owned; sorted
};

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns the smallest error that `percent` of the pixels do not exceed; NaN: no pixels. */
static double comparison_percentile(const struct comparison *c, double percent)
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

/* Compares a with the reference b, which has the same number of pixels.  The floor is the larger of
 * `floor_least` and `floor_fraction` times the mean of b.  The caller frees *c with
 * comparison_free. */
static enum status comparison_make(struct comparison *c, const struct image *a,
                                   const struct image *b, double floor_least, double floor_fraction,
                                   struct error *e)
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

static void comparison_free(struct comparison *c)
{
    mem_free(c->errors);
    *c = (struct comparison){0};
}

struct options {
    int64_t shape[2];  // fast, slow, in pixels; 0: not given
    double floor, floor_fraction, max_error, sum_tolerance;
    struct opt_texts percentile_errors;
    bool json;
};

/* One --percentile-error=P:X. */
struct percentile_limit {
    double percent, error;
};

static const double percents[] = {50.0, 90.0, 99.0, 99.9};
enum { PERCENTS = sizeof percents / sizeof *percents };

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

/* Returns true if the images are within all given limits, or identical if no limit is given. */
static bool is_within(const struct comparison *c, const struct options *o,
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

static double sum_ratio(const struct comparison *c)
{
    return c->sum_a == c->sum_b ? 1.0 : c->sum_a / c->sum_b;
}

static void print_text(const struct comparison *c, int64_t fast, bool within)
{
    printf("pixels       %zu, %zu differ%s, %zu not finite\n", c->pixels, c->differing,
           c->differing ? "" : " (identical)", c->not_finite);
    printf("floor        %.6g\n", c->floor);
    if (c->nerrors) {
        printf("max error    %.6g at ", c->max_error);
        if (fast)
            printf("(fast %zu, slow %zu)", c->worst % (size_t)fast, c->worst / (size_t)fast);
        else
            printf("pixel %zu", c->worst);
        printf(": %.9g against %.9g\n", c->worst_a, c->worst_b);
        printf("percentiles ");
        for (int i = 0; i < PERCENTS; i++)
            printf(" %g%%: %.6g%s", percents[i], comparison_percentile(c, percents[i]),
                   i + 1 < PERCENTS ? "," : "\n");
        printf("sum ratio    %.12g (%.9g against %.9g)\n", sum_ratio(c), c->sum_a, c->sum_b);
        printf("correlation  %.9g\n", c->correlation);
    }
    printf("verdict      %s\n", within ? "within" : "outside");
}

/* Prints a JSON number; null for NaN and infinity, which JSON does not have. */
static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf("\"%s\":%.17g,", name, value);
    else
        printf("\"%s\":null,", name);
}

static void print_json(const struct comparison *c, int64_t fast, bool within)
{
    printf("{\"pixels\":%zu,\"differing\":%zu,\"identical\":%s,\"not_finite\":%zu,", c->pixels,
           c->differing, c->differing ? "false" : "true", c->not_finite);
    print_number("floor", c->floor);
    print_number("max_error", c->nerrors ? c->max_error : NAN);
    if (fast)
        printf("\"worst\":[%zu,%zu],", c->worst % (size_t)fast, c->worst / (size_t)fast);
    else
        printf("\"worst\":%zu,", c->worst);
    print_number("worst_a", c->worst_a);
    print_number("worst_b", c->worst_b);
    for (int i = 0; i < PERCENTS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "percentile_%g", percents[i]);
        print_number(name, comparison_percentile(c, percents[i]));
    }
    print_number("sum_a", c->sum_a);
    print_number("sum_b", c->sum_b);
    print_number("sum_ratio", sum_ratio(c));
    print_number("correlation", c->correlation);
    printf("\"within\":%s}\n", within ? "true" : "false");
}

/* --- program ------------------------------------------------------------- */

#define AT(member) offsetof(struct options, member)

static const struct opt table[] = {
    {.doc = "Limits (without a limit the images must be identical):", .type = OPT_GROUP},
    {"max-error", "X", "Largest allowed error of a pixel", OPT_REAL, AT(max_error), .min = 0,
     .max = 1e300, .usual = ""},
    {"percentile-error", "P:X",
     "P percent of the pixels must have an error of at most X. Can be repeated", .type = OPT_TEXTS,
     .offset = AT(percentile_errors)},
    {"sum-tolerance", "X", "Largest allowed difference of the ratio of the sums from 1", OPT_REAL,
     AT(sum_tolerance), .min = 0, .max = 1e300, .usual = ""},

    {.doc = "Definition of the error (|a - b| / max(b, floor)):", .type = OPT_GROUP},
    {"floor", "X", "Floor, in the units of the pixels. Default: see --floor-fraction", OPT_REAL,
     AT(floor), .min = 0, .max = 1e300, .usual = ""},
    {"floor-fraction", "X", "Floor as a fraction of the mean of B", OPT_REAL, AT(floor_fraction),
     .min = 0, .max = 1e300, .usual = "0.001"},

    {.doc = "Input and output:", .type = OPT_GROUP},
    {"shape", "FAST,SLOW", "Width and height of raw images, to locate the worst pixel", OPT_INTS,
     AT(shape), .min = 1, .max = 1e6, .count = 2},
    {"json", NULL, "Print one JSON object", .type = OPT_FLAG, .offset = AT(json)},
    {0},
};

static const struct opt_program program = {
    .name = "bragg-compare",
    .summary = "Compare image A with the reference image B (SMV, mini-CBF or raw float32).",
    .examples = "bragg-compare --max-error=1e-5 --sum-tolerance=1e-6 a_0000.raw b_0000.raw\n"
                "bragg-compare --shape=1024x1024 --percentile-error=99.9:1e-6 a.raw b.raw",
    .operands = "A B",
    .min_operands = 2,
    .max_operands = 2,
    .details = "Status 0: within all given limits, or identical if no limit is given. 1: "
               "outside, or a pixel is not finite. 3: a file cannot be read, or the sizes "
               "differ.\n\nMore: bragg-compare(1) (manual).",
};

/* Checks that both images have the same size, which must agree with --shape.  Sets *fast to the
 * length of a row; 0: unknown. */
static enum status check_sizes(const struct image_file files[2], const char *const paths[2],
                               const struct options *o, int64_t *fast, struct error *e)
{
    const struct image_file *a = &files[0], *b = &files[1];
    if (a->fast && b->fast && (a->fast != b->fast || a->slow != b->slow))
        return error_set(e, STATUS_INPUT,
                         "the images have different sizes: A has %" PRId64 " x %" PRId64
                         " pixels, B has %" PRId64 " x %" PRId64,
                         a->fast, a->slow, b->fast, b->slow);
    if (a->image.count != b->image.count)
        return error_set(e, STATUS_INPUT,
                         "the images have different sizes: A has %zu pixels, B has %zu",
                         a->image.count, b->image.count);
    for (int i = 0; i < 2; i++)
        if (o->shape[0] && files[i].fast &&
            (files[i].fast != o->shape[0] || files[i].slow != o->shape[1]))
            return error_set(e, STATUS_INPUT,
                             "--shape=%" PRId64 ",%" PRId64 ": %s has %" PRId64 " x %" PRId64
                             " pixels; leave --shape out",
                             o->shape[0], o->shape[1], paths[i], files[i].fast, files[i].slow);
    *fast = a->fast ? a->fast : b->fast;
    if (o->shape[0] && o->shape[0] * o->shape[1] != (int64_t)a->image.count)
        return error_set(e, STATUS_INPUT,
                         "--shape=%" PRId64 ",%" PRId64
                         " does not match the images, which have %zu pixels",
                         o->shape[0], o->shape[1], a->image.count);
    if (o->shape[0])
        *fast = o->shape[0];
    return STATUS_OK;
}

static enum status compare_files(const struct options *o, const char *const paths[2], bool *within,
                                 struct error *e)
{
    struct percentile_limit limits[OPT_TEXTS_MAX];
    struct image_file files[2] = {{0}, {0}};
    struct comparison c = {0};
    int64_t fast = 0;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->percentile_errors.count && !s; i++)
        s = parse_limit(o->percentile_errors.text[i], &limits[i], e);
    for (int i = 0; i < 2 && !s; i++)
        s = image_file_read(paths[i], &files[i], e);
    if (s == STATUS_OK)
        s = check_sizes(files, paths, o, &fast, e);
    if (s == STATUS_OK)
        s = comparison_make(&c, &files[0].image, &files[1].image, isnan(o->floor) ? 0.0 : o->floor,
                            isnan(o->floor) ? o->floor_fraction : 0.0, e);
    if (s == STATUS_OK) {
        *within = is_within(&c, o, limits);
        (o->json ? print_json : print_text)(&c, fast, *within);
        if (fflush(stdout) || ferror(stdout))
            s = error_errno(e, STATUS_FAILED, "cannot write the report");
    }
    comparison_free(&c);
    image_free(&files[0].image);
    image_free(&files[1].image);
    return s;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    const char *paths[2];
    int npaths;
    bool within = false;
    struct error e = {0};
    program_open(program.name);
    if (opt_parse(&program, table, &o, NULL, NULL, argc, argv, paths, &npaths, &e) ||
        compare_files(&o, paths, &within, &e))
        return log_fail(&e);
    return within ? STATUS_OK : STATUS_FAILED;
}
