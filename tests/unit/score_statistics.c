/* Figures of many numbers: exact for few, a sample that does not grow for many. */
#include "unit.h"

#include <math.h>

#include "score/statistics.h"

static void few_are_exact(void **state)
{
    (void)state;
    struct values x = {0};
    assert_true(isnan(values_percentile(&x, 50.0)));
    for (int i = 0; i <= 100; i++)
        assert_true(values_add(&x, (double)((i * 37) % 101)));
    assert_true(values_percentile(&x, 50.0) == 50.0);
    assert_true(values_percentile(&x, 95.0) == 95.0);
    assert_true(values_percentile(&x, 100.0) == 100.0);
    assert_true(values_add(&x, 1000.0));
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
        assert_true(values_add(&x, (double)i));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_exact),
        cmocka_unit_test(many_are_a_fair_sample),
        cmocka_unit_test(means_are_weighted),
    };
    return unit_run(tests);
}
