/* Chunks of an HDF5 file: one image each, packed as the file's filter stores them. */
#ifndef BRAGG_IO_NXMX_PACK_H
#define BRAGG_IO_NXMX_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/frame.h"

/* Names in this order: NXMX_COMPRESSIONS. */
enum nxmx_compression { NXMX_BSLZ4, NXMX_LZ4, NXMX_GZIP, NXMX_NONE };
#define NXMX_COMPRESSIONS "bslz4|lz4|gzip|none"
const char *nxmx_compression_name(enum nxmx_compression compression);
bool nxmx_compression_of(const char *name, enum nxmx_compression *compression);

/* The packed image of the last call; frees with nxmx_chunk_free, all zero is empty. */
struct nxmx_chunk {
    size_t length, room;  // bytes
    uint8_t *bytes;       // owned
};

/* Packs an image with pixels into *chunk, whose memory is used again.
 *
 *     bslz4  HDF5 filter 32008, see bslz4.h
 *     lz4    filter 32004, see bslz4.h
 *     gzip   HDF5's own deflate, level 1
 *     none   the pixels
 *
 * STATUS_FAILED when memory is out, STATUS_INPUT for an image of 2 GB or more. */
enum status nxmx_pack(enum nxmx_compression compression, const struct image *image,
                      struct nxmx_chunk *chunk, struct error *e);

/* Unpacks a chunk into the pixels of *image, whose type and count say what it must hold.
 * STATUS_INPUT when it holds anything else. */
enum status nxmx_unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                        struct image *image, struct error *e);

/* Room for `length` bytes; false when memory is out.  What was there is lost. */
bool nxmx_chunk_reserve(struct nxmx_chunk *chunk, size_t length);

void nxmx_chunk_free(struct nxmx_chunk *chunk);

#endif
