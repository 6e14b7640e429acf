/*
 * How a chunk of packed data begins, whatever packs its blocks:
 *
 *     8 bytes  bytes of all, unpacked      big-endian
 *     4 bytes  bytes of a block            big-endian
 */
#ifndef BRAGG_CODEC_CHUNK_HEAD_H
#define BRAGG_CODEC_CHUNK_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { CHUNK_HEAD = 12 };  // bytes

/* Writes it into out[CHUNK_HEAD]. */
void chunk_head_put(uint8_t *out, size_t bytes, size_t block);

/* Reads the head of a chunk of `length` bytes, packed in the way called `name`, that must hold
 * `bytes` bytes: puts the bytes of a block into *block.  A block has a multiple of `unit` bytes,
 * up to `block_max`; of nothing, none is fine.  STATUS_INPUT for anything else. */
enum status chunk_head_get(const uint8_t *chunk, size_t length, const char *name, size_t bytes,
                           size_t unit, size_t block_max, size_t *block, struct error *e);

#endif
