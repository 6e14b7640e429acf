/* Numbers in text: the values equal those of the C library, bit for bit, and end at the same
 * character. */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void expect_real(const char *text)
{
    char *end;
    const char *behind;
    errno = 0;
    const double expected = strtod(text, &end);
    const int error = errno;
    errno = 0;
    const double x = number_real(text, &behind);
    if (bits_of(x) != bits_of(expected) || behind != end || errno != error)
        fail_msg("'%s': %a, '%s', errno %d, must be %a, '%s', %d", text, x, behind, errno, expected,
                 end, error);
}

static void expect_whole(const char *text)
{
    char *end;
    const char *behind;
    errno = 0;
    const intmax_t expected = strtoimax(text, &end, 10);
    const int error = errno;
    errno = 0;
    const intmax_t x = number_whole(text, &behind);
    if (x != expected || behind != end || errno != error)
        fail_msg("'%s': %jd, '%s', errno %d, must be %jd, '%s', %d", text, x, behind, errno,
                 expected, end, error);
}

static void odd_texts_are_taken_alike(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        ".",
        "-",
        "+",
        "-.",
        "e5",
        ".e5",
        "+.5",
        "-.5e1x",
        "5.",
        "5.x",
        "5.e3",
        "1e",
        "1e+",
        "1e-x",
        "1e-5",
        "1E5",
        "1ee5",
        "1e5.5",
        "1.2.3",
        "1,5",
        "1_000",
        "0",
        "-0",
        "-0.0",
        "+0e99",
        "0x",
        "0x1p3",
        "0X.8p1",
        "-0x1.8",
        "00x1",
        "1x",
        "1p3",
        "--1",
        "+-1",
        "- 1",
        " \t\n\v\f\r12",
        "\b1",
        "inf",
        "-Infinity",
        "infinit",
        "nan",
        "-nan(12)",
        "nan(x",
        "1e400",
        "-1e400",
        "1e-400",
        "4.9e-324",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "8.5e22",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740992.0",
        "90071992547409.93",
        "9007199254740993e-3",
        "18446744073709551615",
        "18446744073709551616",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "000000000000000000000000000000000000000000000000012",
        "0.0000000000000000000000000000000000000000000000012",
        "0.00000000000000000000000000000001e32",
        "100000000000000000000000000000000e-32",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1e18446744073709551617",
        "1e-18446744073709551617",
        "1e99999999999999999999999999999999999",
        "0e99999999999999999999999999999999999",
        "1e0000000000000000000000000000000000002",
        "123456789012345",
        "1234567890.12345",
        "0.000123456789012345",
        "2.2250738585072011e-308",
        "12-3",
        "12 13",
        "\xc2\xa0\x31",
        "\xd9\xa1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_real(texts[i]);
        expect_whole(texts[i]);
    }
}

static uint32_t random_state = 12345;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(random_state >> 4) * below >> 28);
}

/* Perhaps digits. */
static char *put_digits(char *to, uint32_t below)
{
    for (uint32_t n = draw(below); n; n--)
        *to++ = (char)('0' + draw(10));
    return to;
}

static void random_numbers_have_the_same_bits(void **state)
{
    (void)state;
    enum { MANY = 1500000 };
    char text[64];
    for (int i = 0; i < MANY; i++) {
        char *to = text;
        if (draw(4) == 0)
            *to++ = "+- \t"[draw(4)];
        if (draw(8) == 0)
            to += sprintf(to, "%s", &"00000"[draw(5)]);
        to = put_digits(to, 12);
        if (draw(4))
            *to++ = '.';
        to = put_digits(to, 10);
        if (draw(3) == 0) {
            to += sprintf(to, "%s", &"e-"[draw(8) == 0]);
            to = put_digits(to - draw(2), 3);
        }
        *to = 0;
        expect_real(text);
        expect_whole(text);
    }
}

/* As programs print them, around where mantissas and powers cease to be exact. */
static void printed_numbers_come_back(void **state)
{
    (void)state;
    static const char *const formats[] = {"%g", "%.15g", "%.16g", "%.17g", "%.3f", "%.9e", "%.15e"};
    char text[400];
    for (int i = 0; i < 500000; i++) {
        const uint64_t bits =
            (uint64_t)draw(1u << 28) << 36 ^ (uint64_t)draw(1u << 28) << 18 ^ draw(1u << 28);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (draw(8))  // of usual size
            x = ((double)bits - 0x1p63) * (double[]){1, 1e-3, 1e-10, 1e-15, 1e-20, 1e-40}[draw(6)];
        (void)snprintf(text, sizeof text, formats[draw(7)], x);
        expect_real(text);
    }
}

/* Characters of numbers in any order. */
static void rubbish_is_taken_alike(void **state)
{
    (void)state;
    char text[12];
    for (int i = 0; i < 500000; i++) {
        size_t n = draw(sizeof text - 1);
        text[n] = 0;
        while (n)
            text[--n] = "0123456789..+-eExX \tpnaif_,"[draw(27)];
        expect_real(text);
        expect_whole(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_texts_are_taken_alike),
        cmocka_unit_test(random_numbers_have_the_same_bits),
        cmocka_unit_test(printed_numbers_come_back),
        cmocka_unit_test(rubbish_is_taken_alike),
    };
    return unit_run(tests);
}
