/* MD5: the test suite of RFC 1321, and lengths around the end of a block. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static void is_sum(const void *data, size_t size, const char *expected)
{
    uint8_t sum[MD5_BYTES];
    char text[2 * MD5_BYTES + 1];
    md5_compute(data, size, sum);
    for (size_t i = 0; i < MD5_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", sum[i]);
    assert_string_equal(text, expected);
}

static void the_vectors_of_the_rfc(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
         "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        is_sum(vectors[i][0], strlen(vectors[i][0]), vectors[i][1]);
}

/* The length of the data is stored in the last block, which 56 bytes and more leave no room for.
 * Expected values are those of md5sum of coreutils. */
static void lengths_around_a_block(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *sum;
    } cases[] = {
        {55, "c9ea3314b91c9fd4e38f9432064fd1f2"},  {56, "e3c4dd21a9171fd39d208efa09bf7883"},
        {63, "65cecfb980d72fde57d175d6ec1c3f64"},  {64, "3b5d3c7d207e37dceeedd301e35e2e58"},
        {65, "1ef5e829303a139ce967440e0cdca10c"},  {119, "8271cb2e6a546123b43096a2efce39d2"},
        {120, "222f7d881ded1871724a1b9a1cb94247"}, {129, "5f54d1240735d46980b776af554f44d3"}};
    static uint8_t zeros[129];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_sum(zeros, cases[i].size, cases[i].sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc),
        cmocka_unit_test(lengths_around_a_block),
    };
    return unit_run(tests);
}
