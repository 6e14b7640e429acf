/* Poisson deviates: moments and chi-square over all branches, fixed seeds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "physics/poisson.h"

enum { DRAWS = 100000, BINS = 4096 };

static double draw(double mean, uint32_t i)
{
    struct rng r = rng_stream(42, RNG_POISSON, 1, i);
    return poisson_draw(mean, &r);
}

static void mean_and_variance_are_the_mean(void **state)
{
    (void)state;
    static const double means[] = {0.01, 0.5, 3, 9.999, 10, 11, 50, 1000, 1e5, 9e5, 2e6, 1e9};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        const double mean = means[m];
        double sum = 0, sum2 = 0;
        for (uint32_t i = 0; i < DRAWS; i++) {
            const double d = draw(mean, i) - mean;
            sum += d;
            sum2 += d * d;
        }
        /* variance of (k-mean)^2 is mean + 2 mean^2; five standard errors */
        assert_true(fabs(sum / DRAWS) < 5 * sqrt(mean / DRAWS));
        assert_true(fabs(sum2 / DRAWS - mean) < 5 * sqrt((mean + 2 * mean * mean) / DRAWS));
    }
}

/* Counts per value against the Poisson probabilities; values with fewer than
 * ten expected draws go into one rest. */
static double chi_square(double mean, int *freedom)
{
    static int counts[BINS];
    for (int k = 0; k < BINS; k++)
        counts[k] = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double k = draw(mean, i);
        assert_true(k >= 0 && k < BINS && k == floor(k));
        counts[(int)k]++;
    }
    double chi2 = 0, rest_expected = 0, rest = 0;
    *freedom = 0;
    for (int k = 0; k < BINS; k++) {
        const double expected = DRAWS * exp(k * log(mean) - mean - lgamma(k + 1.0));
        if (expected < 10) {
            rest_expected += expected;
            rest += counts[k];
            continue;
        }
        chi2 += (counts[k] - expected) * (counts[k] - expected) / expected;
        ++*freedom;
    }
    if (rest_expected > 1)
        chi2 += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
    return chi2;
}

static void values_are_distributed_as_poisson(void **state)
{
    (void)state;
    static const double means[] = {0.5, 3, 9.9, 10, 12, 50, 300, 1000};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        int n;
        const double chi2 = chi_square(means[m], &n);
        /* chi-square is near normal(n, 2n): four and a half standard deviations */
        assert_true(chi2 < n + 4.5 * sqrt(2.0 * n));
        assert_true(chi2 > n - 4.5 * sqrt(2.0 * n));
    }
}

/* The two sides of the switch to a normal differ in nothing one can see. */
static void branches_meet_at_one_million(void **state)
{
    (void)state;
    static const double z[] = {-2, -1, 0, 1, 2};
    for (size_t j = 0; j < sizeof z / sizeof *z; j++) {
        int below[2] = {0, 0};
        for (uint32_t i = 0; i < DRAWS; i++) {
            below[0] += draw(1e6, i) < 1e6 + 1e3 * z[j];
            below[1] += draw(1000001, i + DRAWS) < 1000001 + 1e3 * z[j];
        }
        const double p = 0.5 * erfc(-z[j] / sqrt(2.0));
        assert_true(abs(below[0] - below[1]) < 5 * sqrt(2 * p * (1 - p) * DRAWS));
    }
}

static void log_factorial_matches_lgamma(void **state)
{
    (void)state;
    static const double ks[] = {0, 1, 2, 5, 9, 10, 11, 100, 1e4, 1e6, 1.5e6};
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
        assert_true(fabs(poisson_log_factorial(ks[i]) - lgamma(ks[i] + 1)) <=
                    1e-12 + 1e-14 * lgamma(ks[i] + 1));
}

static void zero_mean_gives_zero(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(draw(0, i) == 0);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_variance_are_the_mean),
        cmocka_unit_test(values_are_distributed_as_poisson),
        cmocka_unit_test(branches_meet_at_one_million),
        cmocka_unit_test(log_factorial_matches_lgamma),
        cmocka_unit_test(zero_mean_gives_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
