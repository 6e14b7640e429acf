/* How much one image differs from another that counts as right. */
#ifndef BRAGG_STAGES_COMPARISON_H
#define BRAGG_STAGES_COMPARISON_H

#include <stddef.h>

#include "base/error.h"
#include "model/frame.h"

/* The error of a pixel is |a - b| / max(b, floor), 0 where both are equal. */
struct comparison {
    size_t pixels, differing, not_finite;  // not_finite: NaN or infinite in either
    double floor;
    /* Over the pixels that are finite in both. */
    double sum_a, sum_b;
    double correlation;  // NaN when an image is constant
    double max_error;
    size_t worst;  // pixel with max_error
    double worst_a, worst_b;
    size_t nerrors;
    float *errors;  // owned; sorted
};

/* Compares a with b, which have equally many pixels.  The floor is the larger of
 * `floor_least` and `floor_fraction` times the mean of b.  comparison_free frees *c. */
enum status comparison_make(struct comparison *c, const struct image *a, const struct image *b,
                            double floor_least, double floor_fraction, struct error *e);

/* The least error that `percent` of the pixels do not exceed; NaN without pixels. */
double comparison_percentile(const struct comparison *c, double percent);

void comparison_free(struct comparison *c);

#endif
