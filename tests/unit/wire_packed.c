/* Compressed pixels: round trips with the checksums of the pixels, and forged or corrupt chunks. */
#include "unit.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "wire/payload.h"

enum { PIXELS = 10003 };  // more than two blocks of 16 bits, and a rest

static uint32_t pixels[PIXELS];
static struct packer packer;

/* Counts, or bits of any kind. */
static void fill(bool noise)
{
    uint64_t state = 7;
    for (size_t i = 0; i < PIXELS; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        pixels[i] = (uint32_t)(state >> 32) & (noise ? UINT32_MAX : 0x000f000f);
    }
}

/* A frame with pixels of `size` bytes, and a further part of payload. */
static struct route open_frame(struct message *m, size_t size)
{
    static uint8_t map[] = {0x80}, more[] = {1, 2, 3};
    struct route r = {.type = MESSAGE_FRAME, .run = 7, .frame = 5, .stage = "test", .flags = 3};
    const struct part parts[] = {{0},
                                 {.data = map, .size = sizeof map},
                                 {.data = pixels, .size = PIXELS * size},
                                 {.data = more, .size = sizeof more}};
    *m = (struct message){0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_int_equal(message_add(m, parts[i], NULL), 0);
    route_seal(&r, m);
    return r;
}

/* The message as it arrives: with a chunk in memory of its own, so that a read behind is seen. */
static struct route arrive(struct message *to, const struct message *m,
                           const struct message *instead, size_t length)
{
    struct route r;
    uint8_t *chunk = malloc(length + !length);
    memcpy(chunk, instead->parts[1].data, length);
    *to = (struct message){0};
    assert_int_equal(
        message_add(to, (struct part){instead->parts[0].data, instead->parts[0].size, NULL, NULL},
                    NULL),
        0);
    assert_int_equal(message_add(to, m->parts[1], NULL), 0);
    assert_int_equal(message_add(to, (struct part){chunk, length, free, chunk}, NULL), 0);
    assert_int_equal(message_add(to, m->parts[3], NULL), 0);
    assert_int_equal(route_open(&r, to, NULL), STATUS_OK);
    assert_true(packed_is(&r));
    return r;
}

static void there_and_back(void **state)
{
    (void)state;
    fill(false);
    for (size_t size = 2; size <= 4; size += 2) {
        struct message m, got, instead = {0};
        const struct route sent = open_frame(&m, size);
        assert_int_equal(packed_make(&packer, &sent, &m, size, &instead, NULL), STATUS_OK);
        assert_true(instead.nparts == 2 && instead.parts[1].size < PIXELS * size / 2);
        struct route r = arrive(&got, &m, &instead, instead.parts[1].size);
        assert_false(route_sum_matches(&r, &got));
        assert_int_equal(packed_open(&r, &got, PIXELS, NULL), STATUS_OK);
        assert_true(r.flags == sent.flags && got.parts[2].size == PIXELS * size);
        assert_memory_equal(got.parts[2].data, pixels, PIXELS * size);
        assert_int_equal(got.chunk.size, instead.parts[1].size);
        assert_memory_equal(got.chunk.data, instead.parts[1].data, got.chunk.size);
        assert_true(got.has_sum && got.sum == crc32c(0, pixels, PIXELS * size));
        assert_true(r.payload_crc == sent.payload_crc && route_sum_matches(&r, &got));
        assert_int_equal(packed_open(&r, &got, 1, NULL), STATUS_OK);  // nothing is packed any more
        message_free(&got);
        message_free(&instead);
        message_free(&m);
    }
}

static void what_gets_no_shorter_stays(void **state)
{
    (void)state;
    struct message m, instead = {0};
    fill(true);
    const struct route r = open_frame(&m, 4);
    assert_int_equal(packed_make(&packer, &r, &m, 4, &instead, NULL), STATUS_OK);
    assert_int_equal(instead.nparts, 0);
    message_free(&m);
}

/* With a good head, what comes out has the sum of the pixels or is refused. */
static bool passes(const struct message *m, const struct message *instead, size_t length,
                   size_t count, struct error *e)
{
    struct message got;
    struct route r = arrive(&got, m, instead, length);
    const enum status s = packed_open(&r, &got, count, e);
    assert_true(s == STATUS_OK || s == STATUS_INPUT);
    if (s)
        assert_true(packed_is(&r) && got.parts[2].size == length);
    const bool good = s == STATUS_OK && route_sum_matches(&r, &got);
    if (good)
        assert_memory_equal(got.parts[2].data, pixels, PIXELS * 2);
    message_free(&got);
    return good;
}

static void what_is_damaged_or_lies_is_refused(void **state)
{
    (void)state;
    struct message m, instead = {0};
    struct error e;
    fill(false);
    const struct route r = open_frame(&m, 2);
    assert_int_equal(packed_make(&packer, &r, &m, 2, &instead, NULL), STATUS_OK);
    const size_t length = instead.parts[1].size;
    uint8_t *chunk = instead.parts[1].data;
    assert_true(passes(&m, &instead, length, PIXELS, &e));
    assert_false(passes(&m, &instead, length, PIXELS + 1, &e));
    assert_string_equal(e.text, "bslz4: header: 20006 bytes; expected 20008");
    assert_false(passes(&m, &instead, length, SIZE_MAX / 2 + 1, &e));
    for (size_t cut = 0; cut < length; cut += cut < 40 ? 1 : 97)
        assert_false(passes(&m, &instead, cut, PIXELS, &e));
    for (size_t bit = 0; bit < 8 * length; bit += bit < 400 ? 1 : 41) {
        chunk[bit / 8] ^= (uint8_t)(1u << bit % 8);
        (void)passes(&m, &instead, length, PIXELS, &e);
        chunk[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    const uint64_t bomb = htobe64((uint64_t)1 << 40);
    const uint32_t block = htobe32(8192);
    memcpy(chunk, &bomb, sizeof bomb);
    memcpy(chunk + sizeof bomb, &block, sizeof block);
    assert_false(passes(&m, &instead, length, PIXELS, &e));
    assert_string_equal(e.text, "bslz4: header: 1099511627776 bytes; expected 20006");
    message_free(&instead);
    message_free(&m);
}

/* The flag is the number of bytes of an item. Both flags together are an error, and so is a missing
 * part. */
static void flags_that_are_none(void **state)
{
    (void)state;
    struct route r = {.flags = ROUTE_PACKED_16};
    struct message m = {.nparts = 2};
    assert_int_equal(packed_open(&r, &m, 1, NULL), STATUS_INPUT);
    struct message frame, got, instead = {0};
    fill(false);
    const struct route sent = open_frame(&frame, 2);
    assert_int_equal(packed_make(&packer, &sent, &frame, 2, &instead, NULL), STATUS_OK);
    r = arrive(&got, &frame, &instead, instead.parts[1].size);
    r.flags |= ROUTE_PACKED_32;
    assert_int_equal(packed_open(&r, &got, PIXELS, NULL), STATUS_INPUT);
    message_free(&got);
    message_free(&instead);
    message_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_gets_no_shorter_stays),
        cmocka_unit_test(what_is_damaged_or_lies_is_refused),
        cmocka_unit_test(flags_that_are_none),
    };
    const int failures = unit_run(tests);
    packer_free(&packer);
    return failures;
}
