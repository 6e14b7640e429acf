/* Counter-based random numbers: published vectors, moments, independence. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

/* The known-answer vectors that the authors of Philox publish. */
static void philox_gives_the_published_words(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof kat / sizeof *kat; i++) {
        uint32_t out[4];
        philox4x32(kat[i].counter, kat[i].key, out);
        assert_memory_equal(out, kat[i].out, sizeof out);
    }
}

/* Changing any one coordinate gives another stream; the same gives the same. */
static void streams_are_keyed_by_every_coordinate(void **state)
{
    (void)state;
    struct rng r[] = {
        rng_stream(7, RNG_POISSON, 3, 11),
        rng_stream(7 + (1ull << 40), RNG_POISSON, 3, 11),
        rng_stream(7, RNG_READOUT, 3, 11),
        rng_stream(7, RNG_POISSON, 4, 11),
        rng_stream(7, RNG_POISSON, 3 + (1ull << 32), 11),
        rng_stream(7, RNG_POISSON, 3, 12),
        rng_stream(7, RNG_POISSON, 3, 11),
    };
    enum { N = sizeof r / sizeof *r, DRAWS = 9 };
    uint32_t words[N][DRAWS];
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < DRAWS; k++)
            words[i][k] = rng_word(&r[i]);
    for (size_t i = 1; i < N - 1; i++)
        assert_memory_not_equal(words[0], words[i], sizeof words[0]);
    assert_memory_equal(words[0], words[N - 1], sizeof words[0]);
}

static void uniforms_stay_inside_the_open_interval(void **state)
{
    (void)state;
    struct rng zero = {.used = 0}, ones = {.word = {~0u, ~0u, ~0u, ~0u}, .used = 0};
    assert_true(rng_uniform(&zero) == 0x1p-53);
    assert_true(rng_uniform(&ones) == 1.0 - 0x1p-53);
}

enum { DRAWS = 200000 };

static void uniforms_have_the_moments_of_a_uniform(void **state)
{
    (void)state;
    double sum = 0, sum2 = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct rng r = rng_stream(1, RNG_FLICKER, 0, i);
        const double u = rng_uniform(&r);
        sum += u;
        sum2 += u * u;
    }
    /* five standard errors */
    assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(sum2 / DRAWS - 1.0 / 3) < 5 * sqrt(4.0 / 45 / DRAWS));
}

static void normals_have_the_moments_and_tails_of_a_normal(void **state)
{
    (void)state;
    double sum = 0, sum2 = 0, sum4 = 0;
    int beyond2 = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct rng r = rng_stream(2, RNG_READOUT, 5, i);
        const double z = rng_normal(&r);
        sum += z;
        sum2 += z * z;
        sum4 += z * z * z * z;
        beyond2 += fabs(z) > 2.0;
    }
    const double p = erfc(sqrt(2.0));
    assert_true(fabs(sum / DRAWS) < 5 / sqrt(DRAWS));
    assert_true(fabs(sum2 / DRAWS - 1) < 5 * sqrt(2.0 / DRAWS));
    assert_true(fabs(sum4 / DRAWS - 3) < 5 * sqrt(96.0 / DRAWS));
    assert_true(fabs((double)beyond2 / DRAWS - p) < 5 * sqrt(p * (1 - p) / DRAWS));
}

/* Against the C library, in units of the last place. */
static void log_and_exp_are_right_to_two_ulp(void **state)
{
    (void)state;
    struct rng r = rng_stream(3, RNG_FLICKER, 0, 0);
    for (int i = 0; i < 100000; i++) {
        const double u = rng_uniform(&r), x = ldexp(u, (int)(rng_word(&r) % 200u) - 100);
        const double l = log(x), e = exp(1400 * u - 700);
        assert_true(fabs(portable_log(x) - l) <= 2 * (nextafter(fabs(l), INFINITY) - fabs(l)));
        assert_true(fabs(portable_exp(1400 * u - 700) - e) <= 3 * (nextafter(e, INFINITY) - e));
    }
    assert_true(portable_log(1.0) == 0.0);
    assert_true(portable_exp(0.0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(streams_are_keyed_by_every_coordinate),
        cmocka_unit_test(uniforms_stay_inside_the_open_interval),
        cmocka_unit_test(uniforms_have_the_moments_of_a_uniform),
        cmocka_unit_test(normals_have_the_moments_and_tails_of_a_normal),
        cmocka_unit_test(log_and_exp_are_right_to_two_ulp),
    };
    return unit_run(tests);
}
