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
