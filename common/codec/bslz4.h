/*
 * bitshuffle+LZ4, in memory: chunks as HDF5's filter 32008 stores them and as Dectris
 * streams send them.
 *
 *     8 bytes  bytes of all items          big-endian
 *     4 bytes  bytes of a block            big-endian
 *     then for each block of whole groups of 8 items
 *     4 bytes  length of what follows      big-endian
 *     n bytes  LZ4 block of the items with their bits transposed
 *     and the last 0..7 items as they are
 *
 * Transposed, a block of n items is first bit 0 of byte 0 of all of them in n/8 bytes
 * (item 8m + k in bit k of byte m), then bit 1, and so on to the last bit of the last
 * byte.  Blocks have 8192 bytes; the last one may be shorter.
 */
#ifndef BRAGG_CODEC_BSLZ4_H
#define BRAGG_CODEC_BSLZ4_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/isa.h"

enum { BSLZ4_BLOCK = 8192 };  // bytes of a block as we write it

/* Room that a chunk of `count` items of `size` bytes (1, 2 or 4) may need; 0 when that is
 * beyond size_t. */
size_t bslz4_bound(size_t count, size_t size);

/* Writes a chunk into out[bslz4_bound(count, size)] and returns its length.  Items are
 * little-endian; the same bytes for every instruction set that is present. */
size_t bslz4_compress(enum isa isa, const void *items, size_t count, size_t size, uint8_t *out);

/* Whether the head of a chunk is that of `count` items of `size` bytes; STATUS_INPUT, where it is
 * not, before anything is allocated for them. */
enum status bslz4_check(const uint8_t *chunk, size_t length, size_t count, size_t size,
                        struct error *e);

/* Reads a chunk of exactly `count` items of `size` bytes (1, 2 or 4), with blocks of any
 * length up to 16 MiB.  STATUS_INPUT for anything else. */
enum status bslz4_decompress(const uint8_t *chunk, size_t length, void *items, size_t count,
                             size_t size, struct error *e);

/*
 * LZ4 in blocks, in memory: chunks as HDF5's filter 32004 stores them and as Dectris streams
 * send them.
 *
 *     8 bytes  bytes of all                big-endian
 *     4 bytes  bytes of a block            big-endian
 *     then for each block
 *     4 bytes  length of what follows      big-endian
 *     n bytes  LZ4 block; as long as a block without packing: the bytes as they are
 */
enum { LZ4_BLOCKS_BLOCK = 1 << 20 };  // bytes of a block as we write it; the last may be shorter

/* Room that a chunk of `bytes` bytes may need; 0 when that is beyond size_t. */
size_t lz4_blocks_bound(size_t bytes);

/* Writes a chunk into out[lz4_blocks_bound(bytes)] and returns its length. */
size_t lz4_blocks_compress(const void *data, size_t bytes, uint8_t *out);

/* Reads a chunk of exactly `bytes` bytes, with blocks of any length.  STATUS_INPUT for anything
 * else. */
enum status lz4_blocks_decompress(const uint8_t *chunk, size_t length, void *data, size_t bytes,
                                  struct error *e);

#endif
