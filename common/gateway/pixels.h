/* Pixels of one type as pixels of another, for clients that know few types. */
#ifndef BRAGG_GATEWAY_PIXELS_H
#define BRAGG_GATEWAY_PIXELS_H

#include <stdbool.h>

#include "base/error.h"
#include "model/frame.h"

/* *to, released by image_free, with the values of *from as `type`.  STATUS_INPUT when one
 * of them has no exact form there: nothing is rounded or clipped.  Whole numbers that say "no data"
 * keep that meaning: -1 and -2 of signed pixels (CBF files of Pilatus: a gap, a bad pixel) become
 * the largest value of unsigned ones, and the largest value of uint32 becomes -1, or the largest of
 * uint16.  *masked turns true if there was one; it is not set to false. */
enum status pixels_convert(const struct image *from, enum pixel_type type, struct image *to,
                           bool *masked, struct error *e);

#endif
