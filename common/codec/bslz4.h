/*
 * Compresses and decompresses in memory with bitshuffle and LZ4.  Filter 32008 of HDF5 stores such
 * chunks, and Dectris streams contain them.
 *
 *     8 bytes  bytes of all items          big-endian
 *     4 bytes  bytes of a block            big-endian
 *     then for each block of whole groups of 8 items
 *     4 bytes  length n of the block       big-endian
 *     n bytes  LZ4 block of the items with their bits transposed
 *     and the last 0..7 items, uncompressed
 *
 * A transposed block of n items begins with bit 0 of byte 0 of all items, in n/8 bytes: bit k of
 * byte m is that of item 8m + k.  Bit 1 of byte 0 follows in the same form, and so on to the last
 * bit of the last byte.  Blocks have 8192 bytes; the last one may be shorter.
 */
#ifndef BRAGG_CODEC_BSLZ4_H
#define BRAGG_CODEC_BSLZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"

enum { BSLZ4_BLOCK = 8192 };  // bytes of a block that this module writes

/* Returns the largest possible length of a chunk of `count` items of `size` bytes (1, 2 or 4).
 * Returns 0 if it exceeds size_t. */
size_t bslz4_bound(size_t count, size_t size);

/* Writes a chunk into out[bslz4_bound(count, size)] and returns its length.  Items are
 * little-endian.  The CPU must have the instruction set `isa`.  All instruction sets give the
 * same bytes.  Uses the threads of program_threads, as does lz4_blocks_compress. */
size_t bslz4_compress(enum isa isa, const void *items, size_t count, size_t size, uint8_t *out);

/* Does the same, and sets *sum to the CRC-32C of the items while they are in the caches.  NULL: no
 * checksum is formed. */
size_t bslz4_compress_summed(enum isa isa, const void *items, size_t count, size_t size,
                             uint8_t *out, uint32_t *sum);

/* A run of items: first to end - 1. */
struct bslz4_run {
    uint32_t first, end;
};

/* Items without data, which get the same value when they are compressed. */
struct bslz4_blanks {
    const struct bslz4_run *runs;  // borrowed; in ascending order, without overlap
    size_t count;
    uint8_t byte;  // value of all bytes of these items
};

/* Does the same, but compresses *blanks with their value.  The checksum is that of the items
 * before.  NULL: no blanks. */
size_t bslz4_compress_blanked(enum isa isa, const void *items, size_t count, size_t size,
                              const struct bslz4_blanks *blanks, uint8_t *out, uint32_t *sum);

/* Writes the blocks of a chunk without its head, as LCLStreamer sends them, and returns their
 * length.  A block has `block_items` items, a multiple of 8 and at most 4096.  out[] has room for
 * bslz4_bound(count, size) bytes. */
size_t bslz4_compress_bare(enum isa isa, const void *items, size_t count, size_t size,
                           size_t block_items, uint8_t *out);

/* Checks that the head of a chunk is that of `count` items of `size` bytes, so that the caller
 * need not allocate memory for a wrong chunk.  STATUS_INPUT: it is not. */
enum status bslz4_check(const uint8_t *chunk, size_t length, size_t count, size_t size,
                        struct error *e);

/* Decompresses a chunk of exactly `count` items of `size` bytes (1, 2 or 4).  Blocks may have any
 * length up to 16 MiB.  Uses the threads of program_threads.  STATUS_INPUT: the chunk is corrupt or
 * has another size. */
enum status bslz4_decompress(const uint8_t *chunk, size_t length, void *items, size_t count,
                             size_t size, struct error *e);

/* Does the same, and sets *sum to the CRC-32C of the items while they are in the caches.  NULL: no
 * checksum is formed. */
enum status bslz4_decompress_summed(const uint8_t *chunk, size_t length, void *items, size_t count,
                                    size_t size, uint32_t *sum, struct error *e);

/*
 * Compresses and decompresses in memory with LZ4 in blocks.  Filter 32004 of HDF5 stores such
 * chunks, and Dectris streams contain them.
 *
 *     8 bytes  bytes of all                big-endian
 *     4 bytes  bytes of a block            big-endian
 *     then for each block
 *     4 bytes  length n of the block       big-endian
 *     n bytes  LZ4 block; if n is the size of a block: uncompressed bytes
 */
enum { LZ4_BLOCKS_BLOCK = 1 << 20 };  // bytes of a written block; the last may be shorter

/* Returns the largest possible length of a chunk of `bytes` bytes of data.  Returns 0 if it
 * exceeds size_t. */
size_t lz4_blocks_bound(size_t bytes);

/* Writes a chunk into out[lz4_blocks_bound(bytes)] and returns its length. */
size_t lz4_blocks_compress(const void *data, size_t bytes, uint8_t *out);

/* Decompresses a chunk of exactly `bytes` bytes of data.  Blocks may have any length.
 * STATUS_INPUT: the chunk is corrupt or has another size. */
enum status lz4_blocks_decompress(const uint8_t *chunk, size_t length, void *data, size_t bytes,
                                  struct error *e);

/* One LZ4 block without any frame, as the Stream V1 of Dectris contains: its reader must know the
 * size of the data.
 *
 * lz4_block_bound returns the largest possible length of a block.  Returns 0 if LZ4 has no block of
 * `bytes` bytes (2113929216 is the largest number).  lz4_block_compress writes a block into
 * out[lz4_block_bound(bytes)] and returns its length. */
size_t lz4_block_bound(size_t bytes);
size_t lz4_block_compress(const void *data, size_t bytes, uint8_t *out);

/* Decompresses a block of exactly `bytes` bytes of data.  Returns false if the block is corrupt or
 * has another size. */
bool lz4_block_decompress(const uint8_t *block, size_t length, void *data, size_t bytes);

/* Transposes the bits of items, as bslz4.h describes.  bitshuffle_loop.c is compiled once per
 * instruction set. */

enum { BITSHUFFLE_GROUP = 8 };  // items that are transposed together

/* Transposes the bits of `count` items of `size` bytes (1, 2 or 4) into the same number of bytes
 * of `out`.  `count` is a multiple of BITSHUFFLE_GROUP.  `scratch` has room for as many bytes as
 * the items. */
typedef void bitshuffle_loop(const void *items, size_t count, size_t size, uint8_t *scratch,
                             uint8_t *out);

extern bitshuffle_loop bitshuffle_baseline, bitshuffle_avx2, bitshuffle_avx512;

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
