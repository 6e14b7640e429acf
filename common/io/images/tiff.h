/*
 * Reads TIFF files of detectors: one image of one whole number or float per pixel, without
 * compression or with deflate.
 *
 * A TIFF file says nothing about detector and beam that programs agree on, so its header has only
 * the number of pixels.
 */
#ifndef BRAGG_IO_IMAGES_TIFF_H
#define BRAGG_IO_IMAGES_TIFF_H

#include <stdio.h>

#include "base/error.h"
#include "io/images/image_file.h"

/* Reads the number of pixels.  `size` is the number of bytes of the file.  STATUS_INPUT: the file
 * is corrupt, or is not such an image: it has several images, colours, another compression, tiles,
 * another orientation, or inverted values. */
enum status tiff_header(FILE *in, const char *path, size_t size, struct image_header *h,
                        struct error *e);

/* Reads the pixels.  Pixels of 8 or 16 bits become uint16, or int32 if they have a sign.  The
 * caller frees f->image, also after an error.  Returns the errors of tiff_header. */
enum status tiff_read(FILE *in, const char *path, size_t size, struct image_file *f,
                      struct error *e);

#endif
