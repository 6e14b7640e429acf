#include "codec/bslz4.h"

#include <lz4.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/be32.h"
#include "codec/bitshuffle.h"
#include "codec/chunk_head.h"

enum { LENGTH = 4, BLOCK_MAX = 1 << 24 };

size_t bslz4_bound(size_t count, size_t size)
{
    size_t bytes;
    if (!size_multiply(count, size, &bytes) || bytes > PTRDIFF_MAX / 2)
        return 0;
    /* LZ4 adds at most a byte in 255 and 16 to a block. */
    return CHUNK_HEAD + bytes + (bytes / BSLZ4_BLOCK + 1) * (LENGTH + BSLZ4_BLOCK / 255 + 16);
}

size_t bslz4_compress(enum isa isa, const void *items, size_t count, size_t size, uint8_t *out)
{
    static bitshuffle *const shuffles[ISA_COUNT] = {bitshuffle_baseline, bitshuffle_avx2,
                                                    bitshuffle_avx512};
    const uint8_t *from = items;
    uint8_t *const start = out;
    uint8_t scratch[BSLZ4_BLOCK], bits[BSLZ4_BLOCK];
    chunk_head_put(out, count * size, BSLZ4_BLOCK);
    out += CHUNK_HEAD;
    while (count >= BITSHUFFLE_GROUP) {
        const size_t most = BSLZ4_BLOCK / size;
        const size_t n = count < most ? count - count % BITSHUFFLE_GROUP : most;
        const int bytes = (int)(n * size);
        shuffles[isa](from, n, size, scratch, bits);
        const int length = LZ4_compress_default((const char *)bits, (char *)out + LENGTH, bytes,
                                                LZ4_COMPRESSBOUND(BSLZ4_BLOCK));
        put_be32(out, (size_t)length);
        out += LENGTH + length;
        from += bytes;
        count -= n;
    }
    memcpy(out, from, count * size);
    return (size_t)(out - start) + count * size;
}

/* --- back ---------------------------------------------------------------- */

static enum status cut_off(size_t left, struct error *e)
{
    return error_set(e, STATUS_INPUT, "bslz4: a block is cut off or damaged, %zu bytes to come",
                     left);
}

/* Blocks from chunk[at]; `bits` holds two of them. */
static enum status read_blocks(const uint8_t *chunk, size_t at, size_t length, size_t block,
                               uint8_t *to, size_t left, size_t size, uint8_t *bits,
                               struct error *e)
{
    static bitunshuffle *const unshuffles[ISA_COUNT] = {bitunshuffle_baseline, bitunshuffle_avx2,
                                                        bitunshuffle_avx512};
    bitunshuffle *const unshuffle = unshuffles[isa_best()];
    const size_t group = BITSHUFFLE_GROUP * size;
    while (left >= group) {
        const size_t bytes = left < block ? left - left % group : block;
        const size_t packed = length - at >= LENGTH ? get_be32(chunk + at) : SIZE_MAX;
        if (packed > length - at - LENGTH || packed > INT32_MAX)
            return cut_off(left, e);
        at += LENGTH;
        if (LZ4_decompress_safe((const char *)chunk + at, (char *)bits, (int)packed, (int)bytes) !=
            (int)bytes)
            return cut_off(left, e);
        unshuffle(bits, bytes / size, size, bits + bytes, to);
        at += packed;
        to += bytes;
        left -= bytes;
    }
    if (length - at != left)
        return error_set(e, STATUS_INPUT, "bslz4: %zu bytes behind the blocks, must be %zu",
                         length - at, left);
    memcpy(to, chunk + at, left);
    return STATUS_OK;
}

static enum status get_head(const uint8_t *chunk, size_t length, size_t count, size_t size,
                            size_t *block, struct error *e)
{
    return chunk_head_get(chunk, length, "bslz4", count * size, BITSHUFFLE_GROUP * size, BLOCK_MAX,
                          block, e);
}

enum status bslz4_check(const uint8_t *chunk, size_t length, size_t count, size_t size,
                        struct error *e)
{
    size_t block;
    return get_head(chunk, length, count, size, &block, e);
}

enum status bslz4_decompress(const uint8_t *chunk, size_t length, void *items, size_t count,
                             size_t size, struct error *e)
{
    size_t block;
    enum status s = get_head(chunk, length, count, size, &block, e);
    if (s)
        return s;
    uint8_t *bits = mem_array(block < count * size ? block : count * size, 2);
    if (!bits)
        return error_memory(e, "a block");
    s = read_blocks(chunk, CHUNK_HEAD, length, block, items, count * size, size, bits, e);
    mem_free(bits);
    return s;
}
