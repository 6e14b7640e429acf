#include "io/nxmx/nxmx_pack.h"

#include <lz4.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "codec/bslz4.h"

enum { GZIP_LEVEL = 1 };

static const char *const names[] = {"bslz4", "lz4", "gzip", "none"};

const char *nxmx_compression_name(enum nxmx_compression compression)
{
    return names[compression];
}

bool nxmx_compression_of(const char *name, enum nxmx_compression *compression)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *compression = (enum nxmx_compression)i;
            return true;
        }
    return false;
}

static size_t bound(enum nxmx_compression compression, const struct image *image, size_t bytes)
{
    switch (compression) {
    case NXMX_BSLZ4:
        return bslz4_bound(image->count, pixel_size(image->type));
    case NXMX_LZ4:
        return lz4_blocks_bound(bytes);
    case NXMX_GZIP:
        return compressBound(bytes);
    case NXMX_NONE:
        break;
    }
    return bytes;
}

bool nxmx_chunk_reserve(struct nxmx_chunk *chunk, size_t room)
{
    if (room <= chunk->room)
        return true;
    nxmx_chunk_free(chunk);
    chunk->bytes = mem_array(room, 1);
    chunk->room = chunk->bytes ? room : 0;
    return chunk->bytes != NULL;
}

static enum status pack_gzip(const void *pixels, size_t bytes, struct nxmx_chunk *chunk,
                             struct error *e)
{
    uLongf length = chunk->room;
    if (compress2(chunk->bytes, &length, pixels, bytes, GZIP_LEVEL) != Z_OK)
        return error_memory(e, "the compressor");
    chunk->length = length;
    return STATUS_OK;
}

enum status nxmx_pack(enum nxmx_compression compression, const struct image *image,
                      struct nxmx_chunk *chunk, struct error *e)
{
    const size_t size = pixel_size(image->type), bytes = image->count * size;
    if (bytes > LZ4_MAX_INPUT_SIZE)
        return error_set(e, STATUS_INPUT, "an image of %zu bytes, a chunk holds up to %d", bytes,
                         LZ4_MAX_INPUT_SIZE);
    if (!nxmx_chunk_reserve(chunk, bound(compression, image, bytes)))
        return error_memory(e, "a packed image");
    switch (compression) {
    case NXMX_BSLZ4:
        chunk->length = bslz4_compress(isa_best(), image->pixels, image->count, size, chunk->bytes);
        break;
    case NXMX_LZ4:
        chunk->length = lz4_blocks_compress(image->pixels, bytes, chunk->bytes);
        break;
    case NXMX_GZIP:
        return pack_gzip(image->pixels, bytes, chunk, e);
    case NXMX_NONE:
        memcpy(chunk->bytes, image->pixels, bytes);
        chunk->length = bytes;
        break;
    }
    return STATUS_OK;
}

enum status nxmx_unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                        struct image *image, struct error *e)
{
    const size_t size = pixel_size(image->type), bytes = image->count * size;
    uLongf length = bytes;
    switch (compression) {
    case NXMX_BSLZ4:
        return bslz4_decompress(chunk->bytes, chunk->length, image->pixels, image->count, size, e);
    case NXMX_LZ4:
        return lz4_blocks_decompress(chunk->bytes, chunk->length, image->pixels, bytes, e);
    case NXMX_GZIP:
        if (uncompress(image->pixels, &length, chunk->bytes, chunk->length) != Z_OK ||
            length != bytes)
            return error_set(e, STATUS_INPUT, "gzip: damaged, or not of %zu bytes", bytes);
        return STATUS_OK;
    case NXMX_NONE:
        break;
    }
    if (chunk->length != bytes)
        return error_set(e, STATUS_INPUT, "%zu bytes, must be %zu", chunk->length, bytes);
    memcpy(image->pixels, chunk->bytes, bytes);
    return STATUS_OK;
}

void nxmx_chunk_free(struct nxmx_chunk *chunk)
{
    mem_free(chunk->bytes);
    *chunk = (struct nxmx_chunk){0};
}
