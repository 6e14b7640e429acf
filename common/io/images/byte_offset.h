/*
 * The byte-offset encoding of CBF, in memory.  A pixel is its difference from the one
 * before (from 0 at first): one byte when that is within -127..127, else 0x80 and
 * two bytes when within -32767..32767, else 0x80, 0x8000 and four bytes, else, for -2^31
 * alone, 0x80, 0x8000, 0x80000000 and eight bytes.  Bytes are little-endian.
 * Differences are taken modulo 2^32, so every sequence of int32 comes back.
 */
#ifndef BRAGG_IO_IMAGES_BYTE_OFFSET_H
#define BRAGG_IO_IMAGES_BYTE_OFFSET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"

enum {
    BYTE_OFFSET_WORST = 15,  // bytes of a pixel, at most
    BYTE_OFFSET_SLACK = 16,  // bytes after the last one that an encoder may overwrite
};

/* Encoders of one instruction set; every one gives the same bytes.  They put
 * pixels[count], the first of which follows a pixel of value `previous`, into `out`,
 * which has room for BYTE_OFFSET_WORST * count + BYTE_OFFSET_SLACK bytes, and return
 * the number of bytes. */
struct byte_offset_kernels {
    size_t (*encode_i32)(const int32_t *pixels, size_t count, int32_t previous, uint8_t *out);
    size_t (*encode_u16)(const uint16_t *pixels, size_t count, int32_t previous, uint8_t *out);
};

/* Those of an instruction set that must be present. */
const struct byte_offset_kernels *byte_offset_kernels(enum isa isa);

/* Decodes exactly `count` pixels.  STATUS_INPUT when `size` bytes hold fewer or more of
 * them, or a difference of more than 32 bits. */
enum status byte_offset_decode(const uint8_t *bytes, size_t size, int32_t *pixels, size_t count,
                               struct error *e);

/* From byte_offset_loop.c, which is compiled once per instruction set. */
extern const struct byte_offset_kernels byte_offset_baseline, byte_offset_avx2, byte_offset_avx512;

#endif
