/* Tests of crc32c, hash and trace. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/program.h"
#include "base/trace.h"

/* Check value of the Castagnoli polynomial, and the vectors of RFC 3720 B.4. */
static void crc_known_values(void **state)
{
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(crc32c_by(CRC32C_PORTABLE, 0, bytes, 32), 0x46dd794e);
}

/* The sum in every way that this CPU has. */
static void expect_one_sum(uint32_t before, const uint8_t *bytes, size_t size)
{
    const uint32_t sum = crc32c_by(CRC32C_PORTABLE, before, bytes, size);
    assert_int_equal(crc32c(before, bytes, size), sum);
    for (enum crc32c_way way = CRC32C_PORTABLE; way <= CRC32C_FASTEST; way++)
        if (crc32c_has(way))
            assert_int_equal(crc32c_by(way, before, bytes, size), sum);
}

static void crc_fast_equals_portable(void **state)
{
    (void)state;
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 7 + i);
    for (size_t from = 0; from < 9; from++)
        for (size_t size = 0; size + from <= sizeof bytes; size++)
            expect_one_sum(5, bytes + from, size);
}

/* Large data is summed in pieces by several threads, after data with another sum. */
static void threads_give_the_same_sum(void **state)
{
    (void)state;
    enum { SIZE = (5 << 20) + 13 };
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * i * 31 + (i >> 7) + 3);
    const uint32_t sum = crc32c(77, bytes, SIZE);
    const uint32_t whole = crc32c(0, bytes, SIZE);
    uint8_t *copy = malloc(SIZE);
    for (int threads = 1; threads < 4; threads += 2) {
        program_set_threads(threads);
        assert_int_equal(crc32c(77, bytes, SIZE), sum);
        memset(copy, 0, SIZE);
        assert_int_equal(crc32c_copy(copy, bytes, SIZE), whole);
        assert_memory_equal(copy, bytes, SIZE);
    }
    program_set_threads(1);
    free(copy);
    free(bytes);
}

/* Sizes around those that are summed in pieces. */
static void crc_of_much_equals_portable(void **state)
{
    (void)state;
    enum { SIZE = 20000 };
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * i * 31 + (i >> 7) + 3);
    for (size_t size = 3 * 1024 - 9; size < SIZE; size += size % 3072 < 16 ? 1 : 509)
        for (size_t from = 0; from < 3; from++)
            if (from + size <= SIZE)
                expect_one_sum(77, bytes + from, size);
    for (size_t size = 240; size < 1100; size++)
        expect_one_sum(77, bytes + size % 5, size);
    free(bytes);
}

/* Pieces of every size, also none, are joined to the sum of the whole. */
static void crc_joins(void **state)
{
    (void)state;
    uint8_t bytes[600];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 13 + i + 1);
    for (size_t each = 1; each < 300; each += 7) {
        struct crc32c_piece pieces[602] = {{0, 0}};
        size_t n = 1;
        for (size_t from = 0; from < sizeof bytes; from += each, n++) {
            const size_t left = sizeof bytes - from;
            pieces[n].bytes = left < each ? left : each;
            pieces[n].sum = crc32c(0, bytes + from, pieces[n].bytes);
        }
        assert_int_equal(crc32c_join(pieces, n), crc32c(0, bytes, sizeof bytes));
        for (enum crc32c_way way = CRC32C_PORTABLE; way <= CRC32C_FASTEST; way++)
            if (crc32c_has(way))
                assert_int_equal(crc32c_join_by(way, pieces, n), crc32c(0, bytes, sizeof bytes));
        assert_int_equal(crc32c_before(crc32c(0, bytes, sizeof bytes), pieces[n - 1]),
                         crc32c_join(pieces, n - 1));
    }
    assert_int_equal(crc32c_join(NULL, 0), crc32c(0, NULL, 0));
}

static void crc_continues(void **state)
{
    (void)state;
    const char text[] = "a message in two parts";
    assert_int_equal(crc32c(crc32c(0, text, 9), text + 9, sizeof text - 9),
                     crc32c(0, text, sizeof text));
}

static void hash_known_and_separated(void **state)
{
    (void)state;
    assert_true(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_text(hash_text(HASH_START, "ab"), "c") !=
                hash_text(hash_text(HASH_START, "a"), "bc"));
    assert_true(hash_finish(1) != hash_finish(2));
}

static void trace_keeps_the_last(void **state)
{
    (void)state;
    char path[] = "/tmp/bragg-trace-XXXXXX", text[4096] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    trace_span("lost", 0, 0, 1);
    trace_open(3);
    for (uint64_t i = 0; i < 5; i++)
        trace_span("compute", i, 1000 * i, 1000 * i + 500);
    assert_int_equal(trace_write(path, "bragg-test", NULL), 0);
    fd = open(path, O_RDONLY | O_CLOEXEC);  // another file in the place of the first
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "{\"name\":\"bragg-test\"}"));
    assert_null(strstr(text, "\"frame\":1}"));
    for (int i = 2; i < 5; i++) {
        char wanted[32];
        (void)snprintf(wanted, sizeof wanted, "\"frame\":%d}", i);
        assert_non_null(strstr(text, wanted));
    }
    assert_non_null(strstr(text, "\"ts\":4.000,\"dur\":0.500"));
    assert_string_equal(text + strlen(text) - 3, "}]\n");
    (void)close(fd);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_known_values),
        cmocka_unit_test(crc_fast_equals_portable),
        cmocka_unit_test(threads_give_the_same_sum),
        cmocka_unit_test(crc_of_much_equals_portable),
        cmocka_unit_test(crc_joins),
        cmocka_unit_test(crc_continues),
        cmocka_unit_test(hash_known_and_separated),
        cmocka_unit_test(trace_keeps_the_last),
    };
    return unit_run(tests);
}
