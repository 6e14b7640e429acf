#include "codec/lz4_blocks.h"

#include <lz4.h>
#include <stdbool.h>
#include <string.h>

#include "codec/be32.h"
#include "codec/chunk_head.h"

enum { LENGTH = 4 };  // bytes before a block

size_t lz4_blocks_bound(size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2)
        return 0;
    const size_t nblocks = (bytes + LZ4_BLOCKS_BLOCK - 1) / LZ4_BLOCKS_BLOCK;
    return CHUNK_HEAD + nblocks * (LENGTH + LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK));
}

/* One block, without its length. */
static size_t put_block(const uint8_t *from, size_t bytes, uint8_t *out)
{
    const int length = LZ4_compress_default((const char *)from, (char *)out, (int)bytes,
                                            LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK));
    if ((size_t)length < bytes)
        return (size_t)length;
    memcpy(out, from, bytes);
    return bytes;
}

size_t lz4_blocks_compress(const void *data, size_t bytes, uint8_t *out)
{
    const uint8_t *from = data;
    uint8_t *const start = out;
    chunk_head_put(out, bytes, bytes < LZ4_BLOCKS_BLOCK ? bytes : LZ4_BLOCKS_BLOCK);
    out += CHUNK_HEAD;
    while (bytes) {
        const size_t n = bytes < LZ4_BLOCKS_BLOCK ? bytes : LZ4_BLOCKS_BLOCK;
        const size_t length = put_block(from, n, out + LENGTH);
        put_be32(out, length);
        out += LENGTH + length;
        from += n;
        bytes -= n;
    }
    return (size_t)(out - start);
}

/* The next block, of `bytes` bytes, from chunk[*at]; false when it is cut off or damaged. */
static bool get_block(const uint8_t *chunk, size_t *at, size_t length, uint8_t *to, size_t bytes)
{
    const size_t packed = length - *at >= LENGTH ? get_be32(chunk + *at) : SIZE_MAX;
    if (packed > length - *at - LENGTH || packed > bytes)
        return false;
    const uint8_t *from = chunk + *at + LENGTH;
    *at += LENGTH + packed;
    if (packed == bytes) {
        memcpy(to, from, bytes);
        return true;
    }
    return LZ4_decompress_safe((const char *)from, (char *)to, (int)packed, (int)bytes) ==
           (int)bytes;
}

enum status lz4_blocks_decompress(const uint8_t *chunk, size_t length, void *data, size_t bytes,
                                  struct error *e)
{
    uint8_t *to = data;
    size_t block;
    const enum status s =
        chunk_head_get(chunk, length, "lz4", bytes, 1, LZ4_MAX_INPUT_SIZE, &block, e);
    if (s)
        return s;
    size_t at = CHUNK_HEAD;
    for (size_t left = bytes; left;) {
        const size_t n = left < block ? left : block;
        if (!get_block(chunk, &at, length, to, n))
            return error_set(e, STATUS_INPUT,
                             "lz4: a block is cut off or damaged, %zu bytes to come", left);
        to += n;
        left -= n;
    }
    if (at != length)
        return error_set(e, STATUS_INPUT, "lz4: %zu bytes behind the blocks", length - at);
    return STATUS_OK;
}
