/* Byte-offset compression: known bytes, every instruction set compared with a loop over single
 * differences, and corrupt input. */
#include "unit.h"

#include <string.h>

#include "base/rng.h"
#include "io/images/cbf.h"

enum { COUNT = 500, ROOM = BYTE_OFFSET_WORST * COUNT + BYTE_OFFSET_SLACK };

/* As fabio's encoder gives them. */
static void known_bytes(void **state)
{
    (void)state;
    static const int32_t pixels[] = {0, 127,    0, -127,  0, 128,    0, -128,      0, 32767,
                                     0, -32767, 0, 32768, 0, -32768, 0, INT32_MAX, -2};
    static const uint8_t expected[] = {
        0,    0x7f, 0x81, 0x81, 0x7f, 0x80, 0x80, 0x00, 0x80, 0x80, 0xff, 0x80, 0x80, 0xff, 0x80,
        0x80, 0x00, 0x80, 0xff, 0x7f, 0x80, 0x01, 0x80, 0x80, 0x01, 0x80, 0x80, 0xff, 0x7f, 0x80,
        0x00, 0x80, 0x00, 0x80, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00, 0x80, 0xff, 0xff, 0x80, 0x00,
        0x80, 0x00, 0x80, 0xff, 0xff, 0x80, 0x00, 0x80, 0x00, 0x80, 0x00, 0x00, 0x80, 0x00, 0x80,
        0xff, 0xff, 0xff, 0x7f, 0x80, 0x00, 0x80, 0xff, 0xff, 0xff, 0x7f};
    enum { N = sizeof pixels / sizeof *pixels };
    uint8_t bytes[BYTE_OFFSET_WORST * N + BYTE_OFFSET_SLACK];
    int32_t back[N];
    const size_t size = byte_offset_kernels(ISA_BASELINE)->encode_i32(pixels, N, 0, bytes);
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(byte_offset_decode(bytes, size, back, N, NULL), STATUS_OK);
    assert_memory_equal(back, pixels, sizeof pixels);
}

/* The one difference that four bytes cannot say. */
static void eight_bytes(void **state)
{
    (void)state;
    static const int32_t pixels[] = {INT32_MAX, -1, INT32_MIN, 0};
    static const uint8_t minimum[] = {0x80, 0, 0x80, 0,    0,    0,    0x80, 0,
                                      0,    0, 0x80, 0xff, 0xff, 0xff, 0xff};
    uint8_t bytes[BYTE_OFFSET_WORST * 4 + BYTE_OFFSET_SLACK];
    int32_t back[4];
    const size_t size = byte_offset_kernels(isa_best())->encode_i32(pixels, 4, 0, bytes);
    assert_memory_equal(bytes + 7, minimum, sizeof minimum);
    assert_int_equal(byte_offset_decode(bytes, size, back, 4, NULL), STATUS_OK);
    assert_memory_equal(back, pixels, sizeof pixels);
}

/* Pixel i of frame `kind`: from quiet frames to differences of every length. */
static int32_t make_pixel(uint32_t kind, uint32_t i)
{
    struct rng r = rng_stream(5, RNG_POISSON, kind, i);
    const double u = rng_uniform(&r), v = rng_uniform(&r);
    switch (kind % 5) {
    case 0:
        return (int32_t)(10.0 * u);
    case 1:
        return u < 0.05 ? (int32_t)(60000.0 * v) : (int32_t)(8.0 * v);
    case 2:
        return (int32_t)(254.0 * u);
    case 3:
        return (int32_t)(65535.0 * u);
    default:
        return u < 0.3 ? (int32_t)(4294967295.0 * v - 2147483648.0) : (int32_t)(100.0 * v) - 50;
    }
}

static void every_isa_gives_the_same(void **state)
{
    (void)state;
    static int32_t pixels[COUNT];
    static uint16_t narrow[COUNT];
    static uint8_t one[ROOM], all[ROOM];
    const struct byte_offset_kernels *plain = byte_offset_kernels(ISA_BASELINE);
    for (uint32_t kind = 0; kind < 200; kind++) {
        const size_t first = kind % 16, count = kind < 40 ? kind : COUNT - first;
        int32_t back[COUNT], previous = 7;
        size_t size = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            pixels[i] = make_pixel(kind, i);
            narrow[i] = (uint16_t)pixels[i];
        }
        for (size_t i = first; i < first + count; i++) {
            size += plain->encode_i32(&pixels[i], 1, previous, one + size);
            previous = pixels[i];
        }
        for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
            if (!isa_present(isa))
                continue;
            const struct byte_offset_kernels *kernels = byte_offset_kernels(isa);
            assert_int_equal(kernels->encode_i32(pixels + first, count, 7, all), size);
            assert_memory_equal(all, one, size);
            if (kind % 5 < 4) {
                assert_int_equal(kernels->encode_u16(narrow + first, count, 7, all), size);
                assert_memory_equal(all, one, size);
            }
        }
        /* The decoder begins at 0. */
        size = plain->encode_i32(pixels + first, count, 0, all);
        assert_int_equal(byte_offset_decode(all, size, back, count, NULL), STATUS_OK);
        assert_memory_equal(back, pixels + first, count * sizeof *back);
    }
}

static void damaged_bytes(void **state)
{
    (void)state;
    static const uint8_t far[] = {0x80, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0};
    static const int32_t pixels[] = {1, 300, 70000, 70001};
    uint8_t bytes[64 + BYTE_OFFSET_SLACK];
    int32_t back[5];
    struct error e;
    const size_t size = byte_offset_kernels(ISA_BASELINE)->encode_i32(pixels, 4, 0, bytes);
    assert_int_equal(size, 12);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(byte_offset_decode(bytes, cut, back, 4, NULL), STATUS_INPUT);
    assert_int_equal(byte_offset_decode(bytes, size, back, 5, NULL), STATUS_INPUT);
    assert_int_equal(byte_offset_decode(bytes, size, back, 3, &e), STATUS_INPUT);
    assert_string_equal(e.text, "byte offsets: 1 bytes remain after 3 pixels; expected none");
    assert_int_equal(byte_offset_decode(far, sizeof far, back, 1, &e), STATUS_INPUT);
    assert_string_equal(e.text, "byte offsets: pixel 0 of 1 is truncated or exceeds 32 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(eight_bytes),
        cmocka_unit_test(every_isa_gives_the_same),
        cmocka_unit_test(damaged_bytes),
    };
    return unit_run(tests);
}
