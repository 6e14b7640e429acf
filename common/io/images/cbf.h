/*
 * Mini-CBF: a text header, then one image of int32 as byte offsets (byte_offset.h).
 *
 * The header describes one flat panel across the beam, with rows along +x and columns along -y of
 * the laboratory.  It holds neither the time of day, so that the same frame gives the same bytes,
 * nor a Content-MD5: MD5 takes three times as long as the encoding, readers do not need it, and the
 * index of bragg-write has the CRC-32C of the pixels.
 *
 * A header of the generic kind is for detectors of any size.  The header of a maker makes programs
 * treat the frame as one of that detector: with its gaps, and with a sensor in which photons are
 * absorbed at different depths.  So only frames of the true sizes of such a detector may have it.
 * The thickness of the sensor is given as it appears, see panel_depth_m.
 */
#ifndef BRAGG_IO_IMAGES_CBF_H
#define BRAGG_IO_IMAGES_CBF_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "io/images/header_text.h"
#include "io/images/image_file.h"
#include "model/experiment.h"
#include "model/frame.h"

enum cbf_header { CBF_GENERIC, CBF_PILATUS, CBF_EIGER };
#define CBF_HEADERS "generic|pilatus|eiger"  // in that order

/* Whether the maker has a detector with as many pixels, of the same size, as the one panel of *x;
 * STATUS_INPUT if not. */
enum status cbf_header_check(enum cbf_header kind, const struct experiment *x, struct error *e);

/* What kind the header of a file is of, by what it says: `text` is its beginning. */
enum cbf_header cbf_header_kind(const char *text);

/* Puts all that comes before the `bytes` bytes of the encoded image of a frame into *h; `kind` is
 * one that cbf_header_check allows. */
void cbf_header_make(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                     const struct frame *f, size_t bytes);

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
