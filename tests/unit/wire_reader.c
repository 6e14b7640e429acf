/* The MessagePack reader with limits, on good and hostile bytes. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "wire/msgpack.h"

#define OVER(...) \
    reader_over((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void integers_of_every_width(void **state)
{
    (void)state;
    const int64_t values[] = {
        0,          1,         127,       128,        255,       256,       65535,
        65536,      -1,        -32,       -33,        -128,      -129,      -32768,
        -32769,     INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, INT64_C(1) << 32,
        -4294967296};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        msgpack_sbuffer buffer;
        msgpack_packer packer;
        msgpack_sbuffer_init(&buffer);
        msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
        msgpack_pack_int64(&packer, values[i]);
        struct reader r = reader_over(buffer.data, buffer.size);
        int64_t got;
        uint64_t positive;
        assert_true(reader_int(&r, INT64_MIN, INT64_MAX, &got));
        assert_true(got == values[i] && reader_done(&r));
        r = reader_over(buffer.data, buffer.size);
        assert_int_equal(reader_uint(&r, UINT64_MAX, &positive), values[i] >= 0);
        r = reader_over(buffer.data, buffer.size);
        assert_false(reader_int(&r, INT64_MIN, values[i] > INT64_MIN ? values[i] - 1 : 0, &got) &&
                     values[i] > INT64_MIN);
        msgpack_sbuffer_destroy(&buffer);
    }
    struct reader huge = OVER(0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    int64_t no;
    uint64_t yes;
    assert_false(reader_int(&huge, INT64_MIN, INT64_MAX, &no));
    assert_true(reader_uint(&huge, UINT64_MAX, &yes) && yes == UINT64_MAX);
}

static void reals_are_finite_float64(void **state)
{
    (void)state;
    double x;
    struct reader one = OVER(0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
    assert_true(reader_real(&one, &x) && x == 1.0);
    struct reader nan = OVER(0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0);
    struct reader inf = OVER(0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0);
    struct reader single = OVER(0xca, 0x3f, 0x80, 0, 0);
    struct reader cut = OVER(0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0);
    assert_false(reader_real(&nan, &x) || reader_real(&inf, &x) || reader_real(&single, &x) ||
                 reader_real(&cut, &x));
}

static void text_fits_or_is_refused(void **state)
{
    (void)state;
    char text[4];
    struct reader good = OVER(0xa3, 'a', 'b', 'c'), longer = OVER(0xa4, 'a', 'b', 'c', 'd');
    struct reader zero = OVER(0xa2, 'a', 0), cut = OVER(0xa3, 'a', 'b'),
                  wide = OVER(0xd9, 2, 'o', 'k');
    assert_true(reader_text(&good, text, sizeof text));
    assert_string_equal(text, "abc");
    assert_true(reader_text(&wide, text, sizeof text));
    assert_string_equal(text, "ok");
    assert_false(reader_text(&longer, text, sizeof text) || reader_text(&zero, text, sizeof text) ||
                 reader_text(&cut, text, sizeof text));
}

/* Few bytes that claim gigabytes, in every type that has a length. */
static void bombs_are_refused(void **state)
{
    (void)state;
    static const uint8_t tags[] = {0xc6, 0xc9, 0xdb, 0xdd, 0xdf};
    for (size_t i = 0; i < sizeof tags; i++) {
        const uint8_t bomb[] = {tags[i], 0xff, 0xff, 0xff, 0xff, 0};
        uint32_t count;
        char text[8];
        struct reader r = reader_over(bomb, sizeof bomb);
        assert_false(reader_skip(&r) || reader_array(&r, UINT32_MAX, &count) ||
                     reader_map(&r, UINT32_MAX, &count) || reader_text(&r, text, sizeof text));
        assert_true(r.at == bomb);
    }
    struct reader c1 = OVER(0xc1);
    assert_false(reader_skip(&c1));
}

/* A million arrays in each other: neither recursion nor quadratic time. */
static void depth_bomb(void **state)
{
    (void)state;
    const size_t size = 1000000;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, 0x91, size);
    struct reader r = reader_over(bytes, size);
    assert_false(reader_skip(&r));
    bytes[size - 1] = 0xc0;
    r = reader_over(bytes, size);
    assert_true(reader_skip(&r) && reader_done(&r));
    memset(bytes, 0x9f, size);
    r = reader_over(bytes, size);
    assert_false(reader_skip(&r));
    free(bytes);
}

static void skips_every_type(void **state)
{
    (void)state;
    struct reader r =
        OVER(0xc0, 0xc2, 0xc3, 0xc4, 1, 9, 0xc5, 0, 1, 9, 0xc6, 0, 0, 0, 1, 9,   // nil, bool, bin
             0xc7, 1, 9, 9, 0xca, 1, 2, 3, 4, 0xcb, 1, 2, 3, 4, 5, 6, 7, 8,      // ext, float
             0xcc, 1, 0xcd, 1, 2, 0xd0, 1, 0xd3, 1, 2, 3, 4, 5, 6, 7, 8,         // integers
             0xd4, 1, 2, 0xd5, 1, 2, 3, 0xd6, 1, 2, 3, 4, 5, 0xd9, 1, 'a',       // fixext, str
             0x82, 1, 0x91, 0xc0, 2, 0x80, 0xdc, 0, 2, 1, 2, 0xde, 0, 1, 1, 2);  // maps, arrays
    int items = 0;
    for (; !reader_done(&r); items++)
        assert_true(reader_skip(&r));
    assert_int_equal(items, 20);
}

static void counts_are_limited(void **state)
{
    (void)state;
    uint32_t count;
    struct reader r = OVER(0x93, 1, 2, 3), m = OVER(0x82, 1, 2, 3, 4), cut = OVER(0x93, 1, 2);
    assert_false(reader_array(&r, 2, &count) || reader_map(&m, 1, &count) ||
                 reader_array(&cut, 9, &count));
    assert_true(reader_array(&r, 3, &count) && count == 3);
    assert_true(reader_map(&m, 2, &count) && count == 2);
}

/* A key as the writer has it, and as others may write it. */
static void keys_as_they_stand(void **state)
{
    (void)state;
    static const uint8_t wide[] = {0xd9, 3, 'i', 'd', 's'};
    struct writer w = {0};
    struct reader key;
    writer_text(&w, "ids");
    writer_uint(&w, 7);
    struct reader r = reader_over(w.bytes, w.size);
    assert_false(reader_key_is(&r, (char[8]){"idt"}, 3, &key));
    assert_false(reader_key_is(&r, (char[8]){"id"}, 2, &key));
    assert_false(reader_key_is(&r, (char[8]){"idsx"}, 4, &key));
    assert_true(reader_key_is(&r, (char[8]){"ids"}, 3, &key));
    assert_int_equal(key.end - key.at, 3);
    assert_int_equal(w.bytes + w.size - r.at, 1);
    for (size_t size = 1; size < 4; size++) {  // cut off
        struct reader less = reader_over(w.bytes, size);
        assert_false(reader_key_is(&less, (char[8]){"ids"}, 3, &key));
        assert_false(reader_key(&less, &key));
    }
    writer_text(&w, "with more bytes behind it");
    r = reader_over(w.bytes, w.size);
    assert_false(reader_key_is(&r, (char[8]){"idt"}, 3, &key));
    assert_true(reader_key_is(&r, (char[8]){"ids"}, 3, &key));
    assert_int_equal(key.end - key.at, 3);
    r = reader_over(wide, sizeof wide);
    assert_false(reader_key_is(&r, (char[8]){"ids"}, 3, &key));
    assert_true(reader_key(&r, &key));
    assert_memory_equal(key.at, "ids", 3);
    mem_free(w.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_width),
        cmocka_unit_test(reals_are_finite_float64),
        cmocka_unit_test(text_fits_or_is_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(depth_bomb),
        cmocka_unit_test(skips_every_type),
        cmocka_unit_test(counts_are_limited),
        cmocka_unit_test(keys_as_they_stand),
    };
    return unit_run(tests);
}
