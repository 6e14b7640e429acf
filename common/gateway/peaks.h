/* Finds bright spots in an image, for clients that read a list of peaks. */
#ifndef BRAGG_GATEWAY_PEAKS_H
#define BRAGG_GATEWAY_PEAKS_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/frame.h"

struct peak {
    double fast, slow;  // centroid in the whole array, pixels; the centre of pixel i is i
    double intensity;   // sum above the background, in the unit of the pixels
};

/*
 * Writes the `most` brightest peaks into peaks[], the brightest first, and their number into
 * *found.  STATUS_FAILED if memory runs out.
 *
 * A peak is the largest of the 5 x 5 pixels around it.  The inner 3 x 3 pixels must be computed and
 * must belong to one panel.  The peak pixel, one of the four squares of 2 x 2 pixels that contain
 * it, or the 3 x 3 pixels must have significantly more photons than the background: chance exceeds
 * the limit in one of 20 million places of a blank image.  The background is the mean of the pixels
 * at a distance of 3 to 5, which are 96 or fewer; the test includes the uncertainty of this mean.
 * If these pixels scatter more than counting statistics explain, the limit is higher.  For images
 * in ADU, photons follow from the offset and the gain of *x.  Centroid and intensity are those of
 * the 3 x 3 pixels.
 */
enum status peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                       size_t most, size_t *found, struct error *e);

#endif
