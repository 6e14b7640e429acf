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

/* Reads `path`: SMV when it begins with '{' and HEADER_BYTES, mini-CBF (byte offsets) when with
 * "###CBF", else raw float32 (little-endian).  The type of SMV pixels is that of TYPE or
 * Data_type, unsigned_short where neither is said, and the file must be exactly as long as that
 * makes it.  *f is overwritten.  STATUS_INPUT for everything that cannot be read, for a file that
 * contradicts itself, and for known formats and text that are none of the three. */
enum status image_file_read(const char *path, struct image_file *f, struct error *e);

#endif
