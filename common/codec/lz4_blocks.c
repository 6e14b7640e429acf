#include "codec/lz4_blocks.h"

#include <endian.h>
#include <lz4.h>
#include <string.h>

enum { HEADER = 12, LENGTH = 4 };

static void put_be32(uint8_t *out, size_t value)
{
    const uint32_t big = htobe32((uint32_t)value);
    memcpy(out, &big, sizeof big);
}

size_t lz4_blocks_bound(size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2)
        return 0;
    const size_t nblocks = (bytes + LZ4_BLOCKS_BLOCK - 1) / LZ4_BLOCKS_BLOCK;
    return HEADER + nblocks * (LENGTH + LZ4_COMPRESSBOUND(LZ4_BLOCKS_BLOCK));
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
    const uint64_t total = htobe64((uint64_t)bytes);
    memcpy(out, &total, sizeof total);
    put_be32(out + sizeof total, bytes < LZ4_BLOCKS_BLOCK ? bytes : LZ4_BLOCKS_BLOCK);
    out += HEADER;
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
