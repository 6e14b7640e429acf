/*
 * Mini-CBF: a text header, then one image of int32 as byte offsets (byte_offset.h).
 *
 * The header (cbf_header.h) tells of one flat panel across the beam, rows along +x and columns
 * along -y of the laboratory.  It holds neither the time of day, so that the same frame gives the
 * same bytes, nor a Content-MD5: MD5 takes three times as long as the encoding, readers do without
 * it, and bragg-write's index has the CRC-32C of the pixels.
 */
#ifndef BRAGG_IO_CBF_H
#define BRAGG_IO_CBF_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "io/images/cbf_header.h"
#include "io/images/image_file.h"
#include "model/experiment.h"
#include "model/frame.h"

/* Where the encoded image lies before it is written; kept for the next one, so that its
 * pages need not be made again.  Starts as zeros; cbf_scratch_free frees it. */
struct cbf_scratch {
    uint8_t *bytes;
    size_t size;
};

void cbf_scratch_free(struct cbf_scratch *scratch);

enum { CBF_MASKED = -2 };  // pixels that the mask of the panel excludes

/* Writes a frame whose pixels are whole numbers; those that the mask of the panel
 * excludes become CBF_MASKED.  STATUS_INPUT for float32 pixels, for one above
 * 2147483647, for an image of another size, for more than one panel, and where
 * cbf_header_check says so; STATUS_FAILED when a write fails. */
enum status cbf_write(FILE *out, const struct experiment *x, const struct frame *f,
                      enum cbf_header kind, struct cbf_scratch *scratch, struct error *e);

/* Reads an image of byte offsets from `in`, which is at its start and has `size` bytes; `path`
 * is for messages.  STATUS_INPUT when it is not such a file, or damaged. */
enum status cbf_read(FILE *in, const char *path, size_t size, struct image_file *f,
                     struct error *e);

#endif
