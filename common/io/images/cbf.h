/*
 * Writes and reads mini-CBF files: a text header, then one int32 image in byte-offset compression
 * (byte_offset.h).
 *
 * The header describes one flat panel across the beam, with rows along +x and columns along -y of
 * the laboratory frame.  It does not have the time of day, so that equal frames give equal bytes.
 * It does not have a Content-MD5 either: MD5 takes three times as long as the encoding, readers do
 * not need it, and the index of bragg-write has the CRC-32C of the pixels.
 *
 * A generic header is for detectors of any size.  With the header of a detector maker, programs
 * treat the frame as an image of that detector: with its gaps, and with a sensor in which photons
 * are absorbed at different depths.  Therefore only frames that have the size of such a detector
 * may have it.  The thickness of the sensor is the apparent one, see panel_depth_m.
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

/* Checks that the maker has a detector with the number and size of pixels of the only panel of *x.
 * STATUS_INPUT: there is no such detector. */
enum status cbf_header_check(enum cbf_header kind, const struct experiment *x, struct error *e);

/* Returns the kind of a header from its text.  `text` is the beginning of the file. */
enum cbf_header cbf_header_kind(const char *text);

/* Makes the part of the file before the encoded image, which has `bytes` bytes.  cbf_header_check
 * must allow `kind`. */
void cbf_header_make(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                     const struct frame *f, size_t bytes);

/* Buffer for the encoded image.  It is reused for the next image, so that memory need not be
 * allocated again.  The caller sets it to zero at first; cbf_scratch_free frees it. */
struct cbf_scratch {
    uint8_t *bytes;
    size_t size;
};

void cbf_scratch_free(struct cbf_scratch *scratch);

enum { CBF_MASKED = -2 };  // pixels that the mask of the panel excludes

/* Writes a frame whose pixels are whole numbers.  Pixels that the mask of the panel excludes become
 * CBF_MASKED.  STATUS_INPUT: float32 pixels, a pixel above 2147483647, an image of another size,
 * more than one panel, or an error of cbf_header_check.  STATUS_FAILED: writing failed. */
enum status cbf_write(FILE *out, const struct experiment *x, const struct frame *f,
                      enum cbf_header kind, struct cbf_scratch *scratch, struct error *e);

/* Reads an image in byte-offset compression from `in`, which is at its start and has `size` bytes.
 * `path` is the name of the file in errors.  STATUS_INPUT: the file is not of this format, or is
 * corrupt. */
enum status cbf_read(FILE *in, const char *path, size_t size, struct image_file *f,
                     struct error *e);

#endif
