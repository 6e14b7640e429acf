/* Bright spots of an image, for clients that want a list of them. */
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
 * The `most` brightest peaks, by falling intensity, into peaks[], and how many into *found.
 * STATUS_FAILED when memory is out.
 *
 * A peak is the largest of the 5 x 5 pixels about it; the inner 3 x 3 are all read (computed, and
 * of one panel).  It has more photons, alone, in one of the four 2 x 2 with it or in the 3 x 3,
 * than chance gives a blank in one of 20 million places.  The mean is that of the pixels at a
 * distance of 3 to 5, 96 or as many as are read, and chance knows how little they tell of it.
 * Where they scatter by more than counting explains, it gives more.  Images in ADU are photons by
 * offset and gain of *x.  Centroid and intensity are those of the 3 x 3 pixels.
 */
enum status peaks_find(const struct experiment *x, const struct image *image, struct peak *peaks,
                       size_t most, size_t *found, struct error *e);

#endif
