/*
 * libFuzzer: the decoders of compressed pixels.  The first byte selects the decoder and the size of
 * an item, the second byte the number of items, and the rest is the input.  Decoded items are
 * encoded again, and must decode to the same items.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/bslz4.h"
#include "io/images/cbf.h"
#include "limit.h"

enum { ITEMS_MAX = 255 * 9 };

static void try_byte_offset(const uint8_t *bytes, size_t size, size_t count)
{
    static int32_t pixels[ITEMS_MAX], back[ITEMS_MAX];
    static uint8_t again[BYTE_OFFSET_WORST * ITEMS_MAX + BYTE_OFFSET_SLACK];
    if (byte_offset_decode(bytes, size, pixels, count, NULL))
        return;
    const size_t n = byte_offset_kernels(isa_best())->encode_i32(pixels, count, 0, again);
    if (byte_offset_decode(again, n, back, count, NULL) || memcmp(pixels, back, count * 4))
        abort();
}

static void try_bslz4(const uint8_t *bytes, size_t length, size_t count, size_t size)
{
    static uint32_t items[ITEMS_MAX], back[ITEMS_MAX];
    static uint8_t again[1 << 16];
    if (bslz4_bound(count, size) > sizeof again)
        abort();
    if (bslz4_decompress(bytes, length, items, count, size, NULL))
        return;
    const size_t n = bslz4_compress(isa_best(), items, count, size, again);
    if (bslz4_decompress(again, n, back, count, size, NULL) || memcmp(items, back, count * size))
        abort();
}

static void try_lz4_blocks(const uint8_t *bytes, size_t length, size_t count)
{
    static uint8_t items[ITEMS_MAX], back[ITEMS_MAX], again[LZ4_BLOCKS_BLOCK + (1 << 13)];
    if (lz4_blocks_bound(count) > sizeof again)
        abort();
    if (lz4_blocks_decompress(bytes, length, items, count, NULL))
        return;
    const size_t n = lz4_blocks_compress(items, count, again);
    if (lz4_blocks_decompress(again, n, back, count, NULL) || memcmp(items, back, count))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const size_t count = (size_t)data[1] * (data[0] & 0x80 ? 9 : 1);
    limit_begin(size);
    if (data[0] % 4 == 3)
        try_byte_offset(data + 2, size - 2, count);
    else if (data[0] & 0x40)
        try_lz4_blocks(data + 2, size - 2, count);
    else
        try_bslz4(data + 2, size - 2, count, (size_t)1 << data[0] % 4);
    limit_end();
    return 0;
}
