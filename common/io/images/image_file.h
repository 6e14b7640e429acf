/* Images back from files: SMV of 16 or 32 bits, mini-CBF, or raw float32. */
#ifndef BRAGG_IO_IMAGE_FILE_H
#define BRAGG_IO_IMAGE_FILE_H

#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

struct image_file {
    int64_t fast, slow;  // pixels; 0 when a raw file does not tell
    struct image image;  // owned; freed by image_free
};

/* Reads `path`: SMV when it begins with '{', mini-CBF (byte offsets) when with
 * "###CBF", else raw float32 (little-endian).
 * The width of SMV pixels is taken from the length of the file, and their type from
 * TYPE, which must fit.  Text is no image.  *f is overwritten.  Everything that cannot be read is
 * STATUS_INPUT. */
enum status image_file_read(const char *path, struct image_file *f, struct error *e);

#endif
