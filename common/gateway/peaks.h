/* Bright spots of an image, for clients that want a list of them. */
#ifndef BRAGG_GATEWAY_PEAKS_H
#define BRAGG_GATEWAY_PEAKS_H

#include <stddef.h>

#include "model/experiment.h"
#include "model/frame.h"

struct peak {
    double fast, slow;  // centroid in the whole array, pixels; the centre of pixel i is i
    double intensity;   // sum above the background, in the unit of the pixels
};

/*
 * The `most` brightest peaks, by falling intensity, into peaks[]; returns how many.  A
 * peak is the largest of the 3 x 3 pixels about it, 6 standard deviations above the
 * mean of the 24 pixels at a distance of 3, and at least 4 pixels from the edge of its
 * panel.  Centroid and intensity are those of the 3 x 3 pixels.
 */
size_t peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                  size_t most);

#endif
