/* Raw float32 images in little-endian order, without a header. */
#ifndef BRAGG_IO_RAW_H
#define BRAGG_IO_RAW_H

#include <stdio.h>

#include "base/error.h"
#include "model/frame.h"

/* Writes all pixels as float32, in their own unit; whole numbers are exact up to 2^24.
 * STATUS_FAILED when a write fails; `path` is for the message. */
enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e);

#endif
