/*
 * Reads files with a message of Stream V2 of DECTRIS each, as clients record them: a start message
 * with the detector, messages with an image, and an end message.
 *
 * An image of several channels (thresholds) is that of its first channel.
 */
#ifndef BRAGG_IO_IMAGES_STREAM2_H
#define BRAGG_IO_IMAGES_STREAM2_H

#include <stdio.h>

#include "base/error.h"
#include "io/images/image_file.h"

enum stream2_kind { STREAM2_NONE, STREAM2_START, STREAM2_IMAGE, STREAM2_END };

/* Returns the kind of message in a file; STREAM2_NONE: the file has none.  *number is that of an
 * image. */
enum stream2_kind stream2_kind_of(const char *path, uint64_t *number);

/* Reads the number of pixels and, from a start message, detector, beam and rotation of image 0. */
enum status stream2_header(FILE *in, const char *path, size_t size, struct image_header *h,
                           struct error *e);

/* Reads the pixels of an image or, from a start message, the mask as int32: -1 is masked.  The
 * caller frees f->image, also after an error.  STATUS_INPUT: the message has no such array, or it
 * is compressed in another way than with LZ4, or bitshuffle and LZ4. */
enum status stream2_read(FILE *in, const char *path, size_t size, struct image_file *f,
                         struct error *e);

#endif
