/* Converts pixels to another type, for clients that read few types. */
#ifndef BRAGG_GATEWAY_PIXELS_H
#define BRAGG_GATEWAY_PIXELS_H

#include <stdbool.h>

#include "base/error.h"
#include "model/frame.h"

/* Makes *to, an image with the values of *from and pixels of `type`.  The caller frees *to with
 * image_free.  STATUS_INPUT if a value has no exact form in `type`, because nothing is rounded or
 * clipped; STATUS_FAILED when memory is out.
 *
 * Integers that mean "no data" keep this meaning.  -1 and -2 of signed pixels (in CBF files of
 * Pilatus detectors a gap and a bad pixel) become the largest value of unsigned pixels.  The
 * largest value of uint32 becomes -1, or the largest value of uint16.  If there was such a pixel,
 * *masked becomes true; otherwise *masked stays as it was. */
enum status pixels_convert(const struct image *from, enum pixel_type type, struct image *to,
                           bool *masked, struct error *e);

#endif
