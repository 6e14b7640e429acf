/* Random numbers of nanoBragg, compared with values that the original printed. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "physics/noise/ran1.h"

/* True when both print the same with nine digits, which identifies a float. */
static void assert_float(float got, const char *expected)
{
    char text[64];
    snprintf(text, sizeof text, "%.9g", (double)got);
    assert_string_equal(text, expected);
}

static void uniform_first_six(void **unused)
{
    (void)unused;
    static const struct {
        long seed;
        const char *draws[6];
    } cases[] = {
        {-1,
         {"0.415999353", "0.091964893", "0.75641048", "0.52970022", "0.930436492", "0.383502066"}},
        {-12345,
         {"0.923120558", "0.333146602", "0.197888419", "0.949421704", "0.783800364",
          "0.983884633"}},
        {-4242,
         {"0.988220155", "0.575353563", "0.289845824", "0.580962956", "0.52542007", "0.911610663"}},
        {-12345678,
         {"0.765989304", "0.023453664", "0.589726627", "0.535101593", "0.982231438",
          "0.693016112"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ran1 r = {0};
        long seed = cases[i].seed;
        for (int k = 0; k < 6; k++)
            assert_float(ran1_uniform(&r, &seed), cases[i].draws[k]);
    }
}

/* A positive first seed counts as 1; a later positive seed keeps the table. */
static void positive_seed_collapses(void **unused)
{
    (void)unused;
    struct ran1 r = {0}, one = {0};
    long seed = 99, minus_one = -1;
    assert_float(ran1_uniform(&r, &seed), "0.415999353");
    assert_float(ran1_uniform(&one, &minus_one), "0.415999353");
    assert_true(seed == minus_one);
    long other = 5;
    float from_shared_table = ran1_uniform(&r, &other);
    assert_float(from_shared_table, "0.091964893");  // the table's entry, whatever the seed
    assert_true(other == 5L * 16807);
}

static void extreme_seeds_stay_inside(void **unused)
{
    (void)unused;
    static const long seeds[] = {0, -2147483647, -2147483648, INT64_MAX, -INT64_MAX, 1L << 40};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct ran1 r = {0};
        long seed = seeds[i];
        for (int k = 0; k < 1000; k++)
            assert_true(isfinite(ran1_uniform(&r, &seed)) != 0);
    }
}

static void gauss_first_five(void **unused)
{
    (void)unused;
    static const char *expected[5] = {"-0.836853981", "-0.172279969", "0.187117606", "1.61543977",
                                      "-0.17677407"};
    struct ran1 r = {0};
    long seed = -1;
    for (int k = 0; k < 5; k++)
        assert_float(ran1_gauss(&r, &seed), expected[k]);
}

static void poisson_all_regimes(void **unused)
{
    (void)unused;
    static const struct {
        float mean;
        const char *value;
    } cases[] = {
        {0, "0"},   {0.5f, "0"},   {3, "5"},           {11.9f, "15"},        {12, "9"},
        {50, "49"}, {1000, "959"}, {900000, "899585"}, {2e6f, "1998075.12"}, {2e6f, "1998891.62"}};
    struct ran1 r = {0};
    long seed = -1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_float(ran1_poisson(&r, cases[i].mean, &seed), cases[i].value);
}

static void poisson_odd_means_end(void **unused)
{
    (void)unused;
    struct ran1 r = {0};
    long seed = -1;
    assert_true(ran1_poisson(&r, -5.0f, &seed) == 0.0f);
    assert_true(isnan(ran1_poisson(&r, NAN, &seed)) != 0);
    assert_true(!isfinite(ran1_poisson(&r, INFINITY, &seed)));
}

/* The first domain is drawn and thrown away, so domain 1 uses draws 3..5. */
static void rotation_of_domain_1(void **unused)
{
    (void)unused;
    static const double expected[9] = {
        0.99997738057729257,   -0.0039554903419944023, -0.0054398924558366219,
        0.0039457433801941867, 0.99999059312805305,    -0.0018013230088754619,
        0.0054469663992292947, 0.0017798178443423345,  0.99998358126795595};
    struct ran1 r = {0};
    long seed = -12345;
    double m[9];
    float cap = (float)(1.0 / (180.0 * M_1_PI));
    ran1_rotation(&r, cap, &seed, m);
    ran1_rotation(&r, cap, &seed, m);
    assert_memory_equal(m, expected, sizeof m);
}

/* Random misset: a cap of 90 radians, turned into three angles. */
static void rotation_as_misset(void **unused)
{
    (void)unused;
    struct ran1 r = {0};
    long seed = -4242;
    double m[9];
    ran1_rotation(&r, 90.0f, &seed, m);
    double deg = 180.0 * M_1_PI;
    assert_true(fabs(atan2(m[7], m[8]) * deg - (-163.713095474)) < 1e-8);
    assert_true(fabs(atan2(-m[6], hypot(m[7], m[8])) * deg - (-27.840486585)) < 1e-8);
    assert_true(fabs(atan2(m[3], m[0]) * deg - (-175.580920986)) < 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_first_six),         cmocka_unit_test(positive_seed_collapses),
        cmocka_unit_test(extreme_seeds_stay_inside), cmocka_unit_test(gauss_first_five),
        cmocka_unit_test(poisson_all_regimes),       cmocka_unit_test(poisson_odd_means_end),
        cmocka_unit_test(rotation_of_domain_1),      cmocka_unit_test(rotation_as_misset),
    };
    return unit_run(tests);
}
