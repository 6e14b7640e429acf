/* bitshuffle with LZ4: known bits, equal bytes with every instruction set, round trips, and corrupt
 * chunks. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/program.h"
#include "base/rng.h"
#include "codec/bslz4.h"

enum { MOST = 9000 };  // items: more than a block of any size, and a rest

static bitshuffle_loop *const shuffles[ISA_COUNT] = {bitshuffle_baseline, bitshuffle_avx2,
                                                     bitshuffle_avx512};
static bitunshuffle *const unshuffles[ISA_COUNT] = {bitunshuffle_baseline, bitunshuffle_avx2,
                                                    bitunshuffle_avx512};
static uint32_t items[MOST], back[MOST];

/* 16 items i * 0x1234567 + 0x89, as Debian's bitshuffle transposes them: the first 16 bytes
 * as 8-bit items, 32 as 16-bit, all as 32-bit. */
static void known_bits(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        0x55, 0x55, 0xcc, 0xcc, 0x3c, 0x3c, 0xa9, 0x56, 0xce, 0x98, 0x5a, 0x4a, 0xc6,
        0x39, 0x6b, 0xad, 0x26, 0x9b, 0xb4, 0x2d, 0x92, 0x64, 0x24, 0x49, 0x38, 0x8e,
        0xc0, 0x0f, 0xaa, 0x5a, 0xcc, 0x6c, 0x5a, 0xda, 0xc6, 0x39, 0x94, 0x52, 0x18,
        0x63, 0xe0, 0x83, 0xaa, 0x56, 0xcc, 0x64, 0xf0, 0x78, 0xaa, 0xd5, 0xcc, 0x66,
        0xf0, 0x78, 0x00, 0x7f, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    uint32_t u32[16];
    uint16_t u16[16];
    uint8_t u8[16], bits[64], scratch[64];
    for (uint32_t i = 0; i < 16; i++) {
        u32[i] = i * 0x1234567 + 0x89;
        u16[i] = (uint16_t)u32[i];
        u8[i] = (uint8_t)u32[i];
    }
    const void *all[] = {u8, u16, u32};
    for (int i = 0; i < 3; i++)
        for (enum isa isa = 0; isa < ISA_COUNT; isa++)
            if (isa_present(isa)) {
                shuffles[isa](all[i], 16, (size_t)1 << i, scratch, bits);
                assert_memory_equal(bits, expected, 16u << i);
                unshuffles[isa](expected, 16, (size_t)1 << i, scratch, items);
                assert_memory_equal(items, all[i], 16u << i);
            }
}

/* Counts with bright pixels, or all bits at random. */
static void fill(uint32_t kind, size_t size, size_t count)
{
    uint8_t *to = (uint8_t *)items;
    for (uint32_t i = 0; i < count; i++) {
        struct rng r = rng_stream(2, RNG_POISSON, kind, i);
        const double u = rng_uniform(&r), v = rng_uniform(&r);
        const uint32_t value = kind % 2   ? (uint32_t)(4294967295.0 * u)
                               : u < 0.01 ? (uint32_t)(60000.0 * v)
                                          : (uint32_t)(8.0 * v);
        memcpy(to + i * size, &value, size);
    }
}

/* One block of any length, by every instruction set. */
static void unshuffle_all(size_t size, size_t count)
{
    static uint8_t bits[sizeof items], scratch[sizeof items];
    shuffles[ISA_BASELINE](items, count, size, scratch, bits);
    for (enum isa isa = 0; isa < ISA_COUNT; isa++)
        if (isa_present(isa)) {
            memset(back, 0xee, sizeof back);
            unshuffles[isa](bits, count, size, scratch, back);
            assert_memory_equal(back, items, count * size);
            assert_int_equal(((uint8_t *)back)[count * size], 0xee);
        }
}

static void there_and_back(void **state)
{
    (void)state;
    uint8_t *one = malloc(bslz4_bound(MOST, 4)), *other = malloc(bslz4_bound(MOST, 4));
    for (uint32_t kind = 0; kind < 120; kind++) {
        const size_t size = (size_t)1 << kind % 3, count = kind < 90 ? kind : MOST - kind;
        fill(kind, size, count);
        uint32_t sums[2];
        const size_t length =
            bslz4_compress_summed(ISA_BASELINE, items, count, size, one, &sums[0]);
        assert_true(length <= bslz4_bound(count, size));
        for (enum isa isa = ISA_AVX2; isa < ISA_COUNT; isa++)
            if (isa_present(isa)) {
                assert_int_equal(bslz4_compress(isa, items, count, size, other), length);
                assert_memory_equal(one, other, length);
            }
        memset(back, 0xee, sizeof back);
        assert_int_equal(bslz4_decompress_summed(one, length, back, count, size, &sums[1], NULL),
                         STATUS_OK);
        assert_memory_equal(back, items, count * size);
        assert_int_equal(sums[0], crc32c(0, items, count * size));
        assert_int_equal(sums[1], sums[0]);
        unshuffle_all(size, count & ~(size_t)7);
    }
    free(one);
    free(other);
}

static void header_and_rest(void **state)
{
    (void)state;
    static const uint8_t header[] = {0, 0, 0, 0, 0, 0, 0, 22, 0, 0, 0x20, 0};
    static const uint16_t eleven[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    uint8_t chunk[256];
    const size_t length = bslz4_compress(isa_best(), eleven, 11, 2, chunk);
    assert_memory_equal(chunk, header, sizeof header);
    assert_memory_equal(chunk + length - 6, eleven + 8, 6);
    assert_int_equal(length, 12 + 4 + (size_t)chunk[15] + 6);
    assert_int_equal(bslz4_bound(SIZE_MAX, 4), 0);
}

enum { LARGE = 900001 };

static uint16_t *many(void)
{
    uint16_t *large = malloc(LARGE * sizeof *large);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (uint16_t)(i / 100000 % 2 ? i * 40503 >> 3 : i % 7);
    return large;
}

/* Large data is compressed in pieces, by several threads.  Its last bytes are no whole block. */
static void threads_give_the_same_bytes(void **state)
{
    (void)state;
    const size_t count = LARGE, bytes = count * sizeof(uint16_t);
    const size_t bounds[] = {bslz4_bound(count, 2), lz4_blocks_bound(bytes)};
    uint16_t *large = many();
    for (int format = 0; format < 2; format++) {
        uint8_t *one = malloc(bounds[format]), *other = malloc(bounds[format]);
        size_t lengths[2];
        uint32_t sum = 0;
        for (int several = 0; several < 2; several++) {
            uint8_t *out = several ? other : one;
            program_set_threads(several ? 3 : 1);
            lengths[several] = format
                                   ? lz4_blocks_compress(large, bytes, out)
                                   : bslz4_compress_summed(isa_best(), large, count, 2, out, &sum);
            if (!format)
                assert_int_equal(sum, crc32c(0, large, bytes));
        }
        assert_int_equal(lengths[0], lengths[1]);
        assert_memory_equal(one, other, lengths[0]);
        free(one);
        free(other);
    }
    program_set_threads(1);
    free(large);
}

/* Blanks at the beginning, across blocks and pieces, and among the last items, which are no whole
 * group.  The checksum is that of the items before. */
static void blanks_get_their_value(void **state)
{
    (void)state;
    static const struct bslz4_run runs[] = {
        {0, 3}, {4095, 4097}, {5000, 5001}, {120000, 600000}, {LARGE - 1, LARGE}};
    const struct bslz4_blanks blanks = {.runs = runs, .count = 5, .byte = 0xff};
    const size_t room = bslz4_bound(LARGE, 2);
    uint16_t *large = many(), *blank = many();
    uint8_t *chunk = malloc(room), *expected = malloc(room);
    uint32_t sum = 0;
    for (size_t r = 0; r < blanks.count; r++)
        memset(blank + runs[r].first, 0xff, (runs[r].end - runs[r].first) * sizeof *blank);
    const size_t length = bslz4_compress(isa_best(), blank, LARGE, 2, expected);
    for (int threads = 1; threads < 4; threads += 2) {
        program_set_threads(threads);
        assert_int_equal(bslz4_compress_blanked(isa_best(), large, LARGE, 2, &blanks, chunk, &sum),
                         length);
        assert_memory_equal(chunk, expected, length);
        assert_int_equal(sum, crc32c(0, large, LARGE * sizeof *large));
    }
    program_set_threads(1);
    free(large);
    free(blank);
    free(chunk);
    free(expected);
}

/* Several threads decompress the same items, and find the same faults. */
static void threads_decompress_the_same(void **state)
{
    (void)state;
    uint16_t *large = many(), *again = malloc(LARGE * sizeof *again);
    uint8_t *chunk = malloc(bslz4_bound(LARGE, 2));
    const size_t length = bslz4_compress(isa_best(), large, LARGE, 2, chunk);
    const size_t cuts[] = {length - 1, length / 2, length / 2 + 1, 13, 12};
    struct error one, other;
    uint32_t sum = 0;
    program_set_threads(3);
    assert_int_equal(bslz4_decompress_summed(chunk, length, again, LARGE, 2, &sum, &one),
                     STATUS_OK);
    assert_memory_equal(again, large, LARGE * sizeof *large);
    assert_int_equal(sum, crc32c(0, large, LARGE * sizeof *large));
    for (size_t i = 0; i < 8; i++) {
        const size_t cut = i < 5 ? cuts[i] : length, at = (i - 4) * length / 4;
        if (i >= 5)
            memset(chunk + at, 0x80, 40);
        program_set_threads(3);
        assert_int_equal(bslz4_decompress(chunk, cut, again, LARGE, 2, &one), STATUS_INPUT);
        program_set_threads(1);
        assert_int_equal(bslz4_decompress(chunk, cut, again, LARGE, 2, &other), STATUS_INPUT);
        assert_string_equal(one.text, other.text);
    }
    free(large);
    free(again);
    free(chunk);
}

/* Room that ends where it must, for the sanitizers. */
static enum status decompress(const uint8_t *chunk, size_t length, struct error *e)
{
    uint8_t *copy = malloc(length + 1);
    memcpy(copy + 1, chunk, length);
    uint16_t *room = malloc(100 * sizeof *room);
    const enum status s = bslz4_decompress(copy + 1, length, room, 100, 2, e);
    free(room);
    free(copy);
    return s;
}

static void damaged_chunks(void **state)
{
    (void)state;
    uint8_t chunk[1024];
    struct error e;
    fill(0, 2, 100);
    const size_t length = bslz4_compress(isa_best(), items, 100, 2, chunk);
    assert_int_equal(decompress(chunk, length, &e), STATUS_OK);
    for (size_t cut = 0; cut < length; cut++)
        assert_int_equal(decompress(chunk, cut, &e), STATUS_INPUT);
    assert_int_equal(decompress(chunk, length + 1, &e), STATUS_INPUT);
    assert_string_equal(e.text, "bslz4: 9 bytes after the blocks; expected 8");
    for (size_t i = 0; i < length; i++)
        for (uint32_t value = 0; value < 256; value += 51) {
            const uint8_t kept = chunk[i];
            chunk[i] = (uint8_t)value;
            (void)decompress(chunk, length, &e);
            chunk[i] = kept;
        }
    chunk[10] = 0;
    assert_int_equal(decompress(chunk, length, &e), STATUS_INPUT);
    assert_string_equal(e.text, "bslz4: header: blocks of 0 bytes; expected a multiple of 16 up to "
                                "16777216");
    chunk[7]++;
    assert_int_equal(decompress(chunk, length, &e), STATUS_INPUT);
    assert_string_equal(e.text, "bslz4: header: 201 bytes; expected 200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bits),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(header_and_rest),
        cmocka_unit_test(threads_give_the_same_bytes),
        cmocka_unit_test(damaged_chunks),
        cmocka_unit_test(blanks_get_their_value),
        cmocka_unit_test(threads_decompress_the_same),
    };
    return unit_run(tests);
}
