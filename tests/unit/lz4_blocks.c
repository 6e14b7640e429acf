/* LZ4 in blocks: the layout of the HDF5 filter, round trips, and corrupt chunks. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <lz4.h>

#include "codec/bslz4.h"

enum { BYTES = LZ4_BLOCKS_BLOCK + 1000 };

static uint8_t *data, *chunk, *back;
static size_t length;

/* A block that can be packed and one that cannot. */
static int set_up(void **state)
{
    (void)state;
    uint32_t x = 1;
    data = malloc(BYTES);
    back = malloc(BYTES);
    chunk = malloc(lz4_blocks_bound(BYTES));
    for (size_t i = 0; i < BYTES; i++)
        data[i] =
            i < LZ4_BLOCKS_BLOCK ? (uint8_t)(i / 100) : (uint8_t)((x = x * 1664525 + 7) >> 24);
    length = lz4_blocks_compress(data, BYTES, chunk);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(data);
    free(back);
    free(chunk);
    return 0;
}

static void blocks_are_as_hdf5_has_them(void **state)
{
    (void)state;
    assert_true(length <= lz4_blocks_bound(BYTES));
    assert_memory_equal(chunk, "\0\0\0\0\0\x10\x03\xe8\0\x10\0\0", 12);
    const size_t first = (size_t)chunk[12] << 24 | (size_t)chunk[13] << 16 |
                         (size_t)chunk[14] << 8 | (size_t)chunk[15];
    assert_int_equal(LZ4_decompress_safe((char *)chunk + 16, (char *)back, (int)first, BYTES),
                     LZ4_BLOCKS_BLOCK);
    assert_memory_equal(back, data, LZ4_BLOCKS_BLOCK);
    assert_memory_equal(chunk + 16 + first, "\0\0\x03\xe8", 4);
    assert_memory_equal(chunk + 20 + first, data + LZ4_BLOCKS_BLOCK, 1000);
    assert_int_equal(length, 20 + first + 1000);
}

static void there_and_back(void **state)
{
    (void)state;
    memset(back, 0, BYTES);
    assert_int_equal(lz4_blocks_decompress(chunk, length, back, BYTES, NULL), STATUS_OK);
    assert_memory_equal(back, data, BYTES);
}

static void nothing(void **state)
{
    (void)state;
    uint8_t empty[12];
    assert_int_equal(lz4_blocks_compress(data, 0, empty), 12);
    assert_int_equal(lz4_blocks_decompress(empty, 12, back, 0, NULL), STATUS_OK);
    assert_int_equal(lz4_blocks_bound(SIZE_MAX), 0);
}

/* A block without a frame: liblz4 itself unpacks it to the data. */
static void a_block_without_a_frame(void **state)
{
    (void)state;
    const size_t bound = lz4_block_bound(BYTES);
    uint8_t *block = malloc(bound);
    assert_non_null(block);
    const size_t size = lz4_block_compress(data, BYTES, block);
    assert_true(size > 0 && size <= bound);
    memset(back, 0, BYTES);
    assert_int_equal(LZ4_decompress_safe((const char *)block, (char *)back, (int)size, BYTES),
                     BYTES);
    assert_memory_equal(back, data, BYTES);
    memset(back, 0, BYTES);
    assert_true(lz4_block_decompress(block, size, back, BYTES));
    assert_memory_equal(back, data, BYTES);
    assert_false(lz4_block_decompress(block, size, back, BYTES - 1));
    assert_false(lz4_block_decompress(block, size - 1, back, BYTES));
    assert_false(lz4_block_decompress(block, size, back, (size_t)INT32_MAX + 1));
    assert_int_equal(lz4_block_bound(LZ4_MAX_INPUT_SIZE + (size_t)1), 0);
    free(block);
}

static void refused(size_t size, size_t bytes, const char *says)
{
    struct error e = {0};
    assert_int_equal(lz4_blocks_decompress(chunk, size, back, bytes, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, says));
}

static void damage_is_refused(void **state)
{
    (void)state;
    refused(11, BYTES, "expected at least 12, the size of the header");
    refused(length, BYTES - 1, "expected 1049575");
    refused(12, BYTES, "truncated or corrupt, with 1049576 bytes of pixels missing");
    refused(14, BYTES, "truncated or corrupt");
    refused(length - 1, BYTES, "truncated or corrupt, with 1000 bytes of pixels missing");
    refused(length + 1, BYTES, "1 bytes remain after the blocks; expected none");
    for (int i = 8; i < 16; i += 4) {  // the length of all blocks, of the first
        const uint8_t was = chunk[i];
        chunk[i] = 0xff;
        refused(length, BYTES, i == 8 ? "header" : "truncated or corrupt");
        chunk[i] = was;
    }
    chunk[9] = 0;  // blocks of 0 bytes
    refused(length, BYTES, "header");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_as_hdf5_has_them),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(nothing),
        cmocka_unit_test(a_block_without_a_frame),
        cmocka_unit_test(damage_is_refused),
    };
    return unit_run_within(tests, set_up, tear_down);
}
