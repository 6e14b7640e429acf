/* Pixels of one type as pixels of another, for clients that know few types. */
#ifndef BRAGG_GATEWAY_PIXELS_H
#define BRAGG_GATEWAY_PIXELS_H

#include "base/error.h"
#include "model/frame.h"

/* *to, released by image_free, with the values of *from as `type`.  STATUS_INPUT when one
 * of them has no exact form there: nothing is rounded or clipped. */
enum status pixels_convert(const struct image *from, enum pixel_type type, struct image *to,
                           struct error *e);

#endif
