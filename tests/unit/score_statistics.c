/* Statistics of many numbers: exact for few numbers, and a sample of constant size for many. */
#include "unit.h"

#include <math.h>

#include <stdlib.h>

#include "score/statistics.h"

static void few_are_exact(void **state)
{
    (void)state;
    struct values x = {0};
    assert_true(isnan(values_percentile(&x, 50.0)));
    for (int i = 0; i <= 100; i++)
        values_add(&x, (double)((i * 37) % 101));
    assert_true(values_percentile(&x, 50.0) == 50.0);
    assert_true(values_percentile(&x, 95.0) == 95.0);
    assert_true(values_percentile(&x, 100.0) == 100.0);
    values_add(&x, 1000.0);
    assert_true(values_percentile(&x, 100.0) == 1000.0);
    assert_true(values_percentile(&x, 50.0) == 50.5);
    values_free(&x);
}

/* Percentiles of a sample of n have a standard error of 100 sqrt(p (1 - p) / n). */
static void many_are_a_fair_sample(void **state)
{
    (void)state;
    const size_t many = 20 * (size_t)VALUES_KEPT;
    struct values x = {0};
    for (size_t i = 0; i < many; i++) {
        values_add(&x, (double)i);
        if (i == many / 2)
            (void)values_percentile(&x, 50.0);  // sorting takes nothing from the sample
    }
    assert_true(x.room <= 2 * (size_t)VALUES_KEPT);
    assert_int_equal(x.n, many);
    for (int p = 5; p < 100; p += 15) {
        const double share = values_percentile(&x, p) / (double)many;
        assert_true(fabs(share - 0.01 * p) < 5.0 * sqrt(0.25 / VALUES_KEPT));
    }
    assert_true(values_percentile(&x, 100.0) == (double)(many - 1));
    values_free(&x);
}

static void means_are_weighted(void **state)
{
    (void)state;
    struct mean m = {0}, plain = {0};
    assert_true(isnan(mean_value(&m)));
    mean_add(&m, 1.0, 3.0);
    assert_true(isnan(mean_error(&m)));
    mean_add(&m, 5.0, 1.0);
    assert_true(fabs(mean_value(&m) - 2.0) < 1e-15);
    const double three[] = {1.0, 2.0, 6.0};
    for (int i = 0; i < 3; i++)
        mean_add(&plain, three[i], 7.0);
    assert_true(fabs(mean_value(&plain) - 3.0) < 1e-15);
    assert_true(fabs(mean_error(&plain) - sqrt(7.0 / 3.0)) < 1e-14);  // sqrt(14 / 2 / 3)
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* By its definition, of all numbers of items up to 9. */
static void distances_from_the_median(void **state)
{
    (void)state;
    static const double numbers[] = {3, -1, 4, 1, 5, 9, 2, 4, 4};
    struct values x = {0};
    assert_true(isnan(values_mad(&x)));
    for (size_t n = 1; n <= 9; n++) {
        double away[9];
        values_add(&x, numbers[n - 1]);
        for (size_t i = 0; i < n; i++)
            away[i] = fabs(numbers[i] - values_percentile(&x, 50.0));
        qsort(away, n, sizeof *away, ascending);
        assert_true(values_mad(&x) == 0.5 * (away[(n - 1) / 2] + away[n / 2]));
    }
    values_free(&x);
}

/* The area by its definition, pair by pair; the points by counting. */
static void a_curve_and_its_area(void **state)
{
    (void)state;
    struct roc r = {0};
    struct roc_point p[ROC_POINTS];
    double number[2][60], pairs = 0.0;
    assert_true(isnan(roc_area(&r)) && roc_points(&r, p) == 0);
    for (int i = 0; i < 60; i++) {
        number[0][i] = (i * 17) % 23;
        number[1][i] = (i * 29) % 31;
        roc_add(&r, false, number[0][i]);
        roc_add(&r, true, number[1][i]);
    }
    number[0][7] = -INFINITY;  // what has no score
    r.of[0].v[7] = -INFINITY;
    for (int i = 0; i < 60; i++)
        for (int k = 0; k < 60; k++)
            pairs += number[1][i] > number[0][k] ? 1.0 : number[1][i] == number[0][k] ? 0.5 : 0.0;
    assert_true(fabs(roc_area(&r) - pairs / 3600.0) < 1e-12);
    const size_t n = roc_points(&r, p);
    assert_true(n > 20 && p[n - 1].other == 1.0 && p[n - 1].right == 1.0);
    for (size_t i = 0; i < n; i++) {
        double share[2] = {0};
        for (int k = 0; k < 2; k++)
            for (int m = 0; m < 60; m++)
                share[k] += (number[k][m] >= p[i].threshold) / 60.0;
        assert_true(fabs(share[0] - p[i].other) < 1e-12 && fabs(share[1] - p[i].right) < 1e-12);
        assert_true(!i || p[i - 1].threshold > p[i].threshold);
    }
    roc_free(&r);
}

/* A curve of many thresholds has as many points as a plot needs, and ends with the last one. */
static void curves_are_short(void **state)
{
    (void)state;
    struct roc r = {0};
    struct roc_point p[ROC_POINTS];
    for (int i = 0; i < 30000; i++)
        roc_add(&r, i % 3, (i * 7919) % 30011);
    const size_t n = roc_points(&r, p);
    assert_true(n > ROC_STEPS && n <= ROC_POINTS);
    assert_true(p[n - 1].other == 1.0 && p[n - 1].right == 1.0);
    for (size_t i = 1; i < n; i++)
        assert_true(p[i].right - p[i - 1].right < 2.0 / ROC_STEPS);
    roc_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_exact),        cmocka_unit_test(many_are_a_fair_sample),
        cmocka_unit_test(means_are_weighted),   cmocka_unit_test(distances_from_the_median),
        cmocka_unit_test(a_curve_and_its_area), cmocka_unit_test(curves_are_short),
    };
    return unit_run(tests);
}
