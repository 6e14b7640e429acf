/* Compares an image with a reference image. */
#ifndef BRAGG_STAGES_COMPARISON_H
#define BRAGG_STAGES_COMPARISON_H

#include <stddef.h>

#include "base/error.h"
#include "model/frame.h"

/* Result.  The error of a pixel is |a - b| / max(b, floor); it is 0 if both values are equal. */
struct comparison {
    size_t pixels, differing, not_finite;  // not_finite: NaN or infinite in one of the images
    double floor;
    /* Of the pixels that are finite in both images. */
    double sum_a, sum_b;
    double correlation;  // correlation coefficient; NaN: an image is constant
    double max_error;
    size_t worst;  // index of the pixel with max_error
    double worst_a, worst_b;
    size_t nerrors;
    float *errors;  // owned; sorted
};

/* Compares a with the reference b, which has the same number of pixels.  The floor is the larger of
 * `floor_least` and `floor_fraction` times the mean of b.  The caller frees *c with
 * comparison_free. */
enum status comparison_make(struct comparison *c, const struct image *a, const struct image *b,
                            double floor_least, double floor_fraction, struct error *e);

/* Returns the smallest error that `percent` of the pixels do not exceed; NaN: no pixels. */
double comparison_percentile(const struct comparison *c, double percent);

void comparison_free(struct comparison *c);

#endif
