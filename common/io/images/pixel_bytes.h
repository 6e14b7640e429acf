/* Converts the pixels of image files of any type and byte order into those of frames. */
#ifndef BRAGG_IO_IMAGES_PIXEL_BYTES_H
#define BRAGG_IO_IMAGES_PIXEL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

/* How a file stores a pixel. */
struct pixel_bytes {
    size_t size;     // bytes: 1, 2 or 4
    bool is_signed;  // a whole number with a sign
    bool is_real;    // a float, of 4 bytes
    bool big;        // big-endian
};

/* Returns true if pixels of a frame can have all values of such a pixel. */
bool pixel_bytes_good(const struct pixel_bytes *p);

/* Makes *image of `count` pixels in `bytes`.  Whole numbers without a sign become uint16, or uint32
 * if they have 4 bytes; those with a sign become int32.  The pixels have the unit ADU.  The caller
 * frees *image with image_free.  STATUS_FAILED: out of memory. */
enum status pixel_bytes_take(const struct pixel_bytes *p, const uint8_t *bytes, size_t count,
                             struct image *image, const char *path, struct error *e);

#endif
