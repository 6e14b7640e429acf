/* Quotients of the CUDA kernels: approximations are rounded correctly, for all mantissas of the
 * divisor. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "gpu/dense.h"

/* 1 or more and less than 4, by number. */
static float nth(uint32_t n)
{
    const uint32_t bits = 0x3f800000u + n;
    float x;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* x, or one of its neighbours: step -1, 0, 1. */
static float beside(float x, int step)
{
    return step ? nextafterf(x, step < 0 ? 0.0f : HUGE_VALF) : x;
}

static void quotients(void **state)
{
    (void)state;
    int wrong = 0;
    uint32_t other = 12345;
    for (uint32_t n = 0; n < 1u << 23; n += 5)
        for (int step = -1; step <= 1; step++) {
            other = other * 1664525u + 1013904223u;
            const float b = nth(n), a = nth(other >> 9);
            wrong += quotient_refined(a, b, beside(1.0f / b, step)) != a / b;
        }
    assert_int_equal(wrong, 0);
}

/* 1/b is hardest to round if b is just below a power of 2, and a is next to one. */
static void quotients_at_the_ends(void **state)
{
    (void)state;
    int wrong = 0;
    for (uint32_t n = 0; n < 1u << 11; n++)
        for (uint32_t m = 0; m < 1u << 8; m++) {
            const float b = nth((1u << 23) - 1 - n), a = m & 1 ? nth(m) : nth((1u << 23) - 1 - m);
            for (int step = -1; step <= 1; step++)
                wrong += quotient_refined(a, b, beside(1.0f / b, step)) != a / b;
        }
    assert_int_equal(wrong, 0);
}

/* Where the CUDA kernels divide, both sides are three offsets of 2^-41 at least times three sines
 * of 2^9 or more: nothing is lost of what matters. */
static void quotients_of_the_least_offsets(void **state)
{
    (void)state;
    for (int n = 1; n <= 20; n++) {
        const float d = 0x1p-123f * 0x1p27f, x = (float)(n * n * n) * d;
        assert_true(quotient_refined(x, d, 1.0f / d) == (float)(n * n * n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients),
        cmocka_unit_test(quotients_at_the_ends),
        cmocka_unit_test(quotients_of_the_least_offsets),
    };
    return unit_run(tests);
}
