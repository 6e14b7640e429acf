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
#ifndef BRAGG_CODEC_LZ4_BLOCKS_H
#define BRAGG_CODEC_LZ4_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
