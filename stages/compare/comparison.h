/* Statistics of two images, the limits that decide the exit status of bragg-compare, and the
 * comparison of two NXmx files. */
#ifndef BRAGG_STAGES_COMPARISON_H
#define BRAGG_STAGES_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/opt.h"
#include "model/frame.h"

/* The options of bragg-compare. */
struct compare_options {
    int64_t shape[2];  // fast, slow, in pixels; 0: not given
    double floor, floor_fraction, max_error, sum_tolerance;
    struct opt_texts percentile_errors;
    bool json;
};

/* The limit that one --percentile-error=P:X sets: `percent` of the pixels must not exceed
 * `error`. */
struct percentile_limit {
    double percent, error;
};

/* The result of a comparison. The error of a pixel is |a - b| / max(b, floor), or 0 if both
 * values are equal. */
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

/* Parses all --percentile-error of *o into limits[OPT_TEXTS_MAX].  STATUS_USAGE: one is malformed.
 */
enum status comparison_limits(const struct compare_options *o, struct percentile_limit *limits,
                              struct error *e);

/* Compares a with the reference b, which has the same number of pixels, with the floor of *o.  The
 * caller frees *c with comparison_free. */
void comparison_make(struct comparison *c, const struct image *a, const struct image *b,
                     const struct compare_options *o);

/* Returns the smallest error that `percent` of the pixels do not exceed; NaN: no pixels. */
double comparison_percentile(const struct comparison *c, double percent);

/* Returns the sum of A divided by that of B; 1 if they are equal. */
double comparison_sum_ratio(const struct comparison *c);

/* Returns true if the images are within all given limits, or identical if no limit is given. */
bool comparison_is_within(const struct comparison *c, const struct compare_options *o,
                          const struct percentile_limit *limits);

void comparison_free(struct comparison *c);

/* Print the result. `fast` is the number of pixels of a row; 0: not known. The JSON
 * text has the members of an object, without its braces. */
void comparison_print_text(FILE *out, const struct comparison *c, int64_t fast, bool within);
void comparison_print_json(FILE *out, const struct comparison *c, int64_t fast, bool within);

/* Compares the frames that have the same number, and prints a line for each to `out`.  Detectors
 * that differ are described in a table: size, resolution, photons and overloads.  Frames of
 * detectors with different numbers of pixels are not compared, and *within is false then, or if a
 * frame is in only one of the files. STATUS_INPUT: a file cannot be read, or is not from
 * bragg-write. */
enum status compare_nxmx(FILE *out, const struct compare_options *o,
                         const struct percentile_limit *limits, const char *const paths[2],
                         bool *within, struct error *e);

#endif
