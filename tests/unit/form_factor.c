/* Random structure factors: their mean, their distributions, and what they depend on. */
#include "unit.h"

#include <math.h>

#include "near.h"
#include "physics/crystal/structure_factors.h"

/* By cctbx.eltbx.xray_scattering, from the five Gaussians of Waasmaier and Kirfel. */
static void form_factors_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_near(form_factor(&CARBON, 0.0), 6.0, 0.01);
    assert_near(form_factor(&SULFUR, 0.0), 16.0, 0.01);
    assert_near(form_factor(&CARBON, 0.25), 2.9495, 0.01);
    assert_near(form_factor(&SULFUR, 0.25), 9.9279, 0.01);
    assert_near(form_factor(&CARBON, 2.0 + 1e-9), form_factor(&CARBON, 2.0), 1e-6);
}

static void the_mean_follows_from_the_atoms(void **state)
{
    (void)state;
    /* forward: 1000 (0.632 6^2 + 0.174 7^2 + 0.189 8^2 + 0.005 16^2) electrons^2 */
    assert_near(wilson_mean_sqr(1000.0, 20.0, 1e6) / 44654.0, 1.0, 1e-3);
    assert_near(wilson_mean_sqr(500.0, 20.0, 1.7) / wilson_mean_sqr(1000.0, 20.0, 1.7), 0.5, 1e-12);
    const double fall = wilson_mean_sqr(1.0, 30.0, 2.0) / wilson_mean_sqr(1.0, 20.0, 2.0);
    assert_near(fall, exp(-2.0 * 10.0 / 16.0), 1e-12);  // (sin(theta)/lambda)^2 is 1/16
}

/* Sets the means of F, F^2 and F^4 of 16000 reflections whose mean of F^2 is 1. */
static void take_moments(bool centric, double moments[3])
{
    enum { N = 20 };
    double count = 0.0;
    moments[0] = moments[1] = moments[2] = 0.0;
    for (int h = -N; h < N; h++)
        for (int k = 0; k < N; k++)
            for (int l = 0; l < N; l++, count++) {
                const double F = wilson_F(1.0, centric, 1, (int[]){h, k, l});
                moments[0] += F;
                moments[1] += F * F;
                moments[2] += F * F * F * F;
            }
    for (int i = 0; i < 3; i++)
        moments[i] /= count;
}

static void distributions_are_those_of_wilson(void **state)
{
    (void)state;
    double m[3];
    take_moments(false, m);
    assert_near(m[0], sqrt(M_PI) / 2.0, 0.015);
    assert_near(m[1], 1.0, 0.03);
    assert_near(m[2], 2.0, 0.15);
    take_moments(true, m);
    assert_near(m[0], sqrt(2.0 / M_PI), 0.02);
    assert_near(m[1], 1.0, 0.04);
    assert_near(m[2], 3.0, 0.4);
}

static void a_reflection_has_one_factor_for_each_seed(void **state)
{
    (void)state;
    const double F = wilson_F(4.0, false, 7, (int[]){1, -2, 3});
    assert_true(F == wilson_F(4.0, false, 7, (int[]){1, -2, 3}));
    assert_near(F, 2.0 * wilson_F(1.0, false, 7, (int[]){1, -2, 3}), 1e-12);
    assert_true(F != wilson_F(4.0, false, 8, (int[]){1, -2, 3}));
    assert_true(F != wilson_F(4.0, false, 7, (int[]){-2, 1, 3}));
    assert_true(F != wilson_F(4.0, false, 7, (int[]){1, 2, 3}));
    assert_true(wilson_F(4.0, false, 7, (int[]){100000, -100000, 0}) !=
                wilson_F(4.0, false, 7, (int[]){100000, -99999, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_factors_are_those_of_the_tables),
        cmocka_unit_test(the_mean_follows_from_the_atoms),
        cmocka_unit_test(distributions_are_those_of_wilson),
        cmocka_unit_test(a_reflection_has_one_factor_for_each_seed),
    };
    return unit_run(tests);
}
