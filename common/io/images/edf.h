/*
 * Reads images in EDF, the ESRF data format: a header in braces with lines `KEY = VALUE ;`, padded
 * to a multiple of 512 bytes, and the pixels.
 */
#ifndef BRAGG_IO_IMAGES_EDF_H
#define BRAGG_IO_IMAGES_EDF_H

#include <stdio.h>

#include "base/error.h"
#include "io/images/image_file.h"

/* Reads the number of pixels and, if the header has them, pixel size (PSize_1, m) and wavelength
 * (WaveLength, m).  `size` is the number of bytes of the file.  STATUS_INPUT: the header is corrupt
 * or contradicts itself, or the file is not a plain image: it has several images, another raster
 * orientation, a compression, or its pixels in another file. */
enum status edf_header(FILE *in, const char *path, size_t size, struct image_header *h,
                       struct error *e);

/* Reads the pixels.  Pixels of 8 or 16 bits become uint16, or int32 if they have a sign.  The
 * caller frees f->image, also after an error.  Returns the errors of edf_header. */
enum status edf_read(FILE *in, const char *path, size_t size, struct image_file *f,
                     struct error *e);

#endif
