/* Transposes the bits of items, as bslz4.h describes.  bitshuffle_loop.c is compiled once per
 * instruction set. */
#ifndef BRAGG_CODEC_BITSHUFFLE_H
#define BRAGG_CODEC_BITSHUFFLE_H

#include <stddef.h>
#include <stdint.h>

enum { BITSHUFFLE_GROUP = 8 };  // items that are transposed together

/* Transposes the bits of `count` items of `size` bytes (1, 2 or 4) into the same number of bytes
 * of `out`.  `count` is a multiple of BITSHUFFLE_GROUP.  `scratch` has room for as many bytes as
 * the items. */
typedef void bitshuffle(const void *items, size_t count, size_t size, uint8_t *scratch,
                        uint8_t *out);

extern bitshuffle bitshuffle_baseline, bitshuffle_avx2, bitshuffle_avx512;

/* Reverses `bitshuffle`: restores `count` items from the same number of bytes in `rows`. */
typedef void bitunshuffle(const uint8_t *rows, size_t count, size_t size, uint8_t *scratch,
                          void *items);

extern bitunshuffle bitunshuffle_baseline, bitunshuffle_avx2, bitunshuffle_avx512;

/* Transposes 8 x 8 bits: bit j of byte k of the argument becomes bit k of byte j.  Bits and bytes
 * are counted from the least significant one. */
static inline uint64_t bitshuffle_group(uint64_t x)
{
    uint64_t swap = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
    x ^= swap ^ swap << 7;
    swap = (x ^ x >> 14) & 0x0000cccc0000cccc;
    x ^= swap ^ swap << 14;
    swap = (x ^ x >> 28) & 0x00000000f0f0f0f0;
    return x ^ swap ^ swap << 28;
}

#endif
