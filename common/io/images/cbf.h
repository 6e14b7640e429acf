/*
 * Writes and reads mini-CBF files: a text header, then one int32 image in byte-offset compression
 * (below).
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

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/isa.h"
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

/*
 * Encodes and decodes pixels with the byte-offset compression of CBF, in memory.
 *
 * A pixel is stored as its difference from the previous pixel; the first one, from 0:
 *
 *     difference         bytes, little-endian
 *     -127..127          the difference in 1 byte
 *     -32767..32767      0x80, then the difference in 2 bytes
 *     above -2^31        0x80, 0x8000, then the difference in 4 bytes
 *     -2^31              0x80, 0x8000, 0x80000000, then the difference in 8 bytes
 *
 * Differences are modulo 2^32, so that every sequence of int32 is restored.
 */

enum {
    BYTE_OFFSET_WORST = 15,  // bytes of a pixel, at most
    BYTE_OFFSET_SLACK = 16,  // bytes after the last one that an encoder may overwrite
};

/* Encoders of one instruction set.  All sets give the same bytes.  An encoder writes pixels[count]
 * to `out` and returns the number of bytes.  `previous` is the value of the pixel before the first
 * one.  `out` must have room for BYTE_OFFSET_WORST * count + BYTE_OFFSET_SLACK bytes. */
struct byte_offset_kernels {
    size_t (*encode_i32)(const int32_t *pixels, size_t count, int32_t previous, uint8_t *out);
    size_t (*encode_u16)(const uint16_t *pixels, size_t count, int32_t previous, uint8_t *out);
};

/* Returns the encoders of an instruction set, which the CPU must have. */
const struct byte_offset_kernels *byte_offset_kernels(enum isa isa);

/* Decodes exactly `count` pixels.  STATUS_INPUT: the `size` bytes hold fewer or more pixels, or a
 * difference of more than 32 bits. */
enum status byte_offset_decode(const uint8_t *bytes, size_t size, int32_t *pixels, size_t count,
                               struct error *e);

/* The encoders of each instruction set.  byte_offset_loop.c defines them, and is compiled once
 * per instruction set. */
extern const struct byte_offset_kernels byte_offset_baseline, byte_offset_avx2, byte_offset_avx512;

#endif
