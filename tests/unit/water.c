/* Water and air tables against numbers that can be worked out by hand. */
#include "unit.h"

#include <math.h>

#include "physics/water.h"

static void forward_scattering_of_water_is_the_compressibility(void **state)
{
    (void)state;
    /* ten electrons, S(0) = 0.063 (the Gaussians sum to 9.999) */
    assert_true(fabs(water_F(0) - 10 * sqrt(0.063)) < 0.01);
}

static void forward_scattering_of_air_is_the_electrons(void **state)
{
    (void)state;
    const double mean = sqrt((0.7808 * 14 * 14 + 0.2095 * 16 * 16 + 0.0093 * 18 * 18) / 0.9996);
    assert_true(fabs(air_F(0) - mean) < 0.01);
}

static void water_peaks_at_two_per_angstrom(void **state)
{
    (void)state;
    double best = 0, at = 0;
    for (double s = 0; s < 2; s += 0.001)
        if (water_F(s) > best) {
            best = water_F(s);
            at = 4 * M_PI * s;
        }
    assert_true(at > 1.9 && at < 2.2);
    assert_true(best > 7.5 && best < 9.5);
}

/* Far out, atoms scatter on their own: f_O^2 + 2 f_H^2. */
static void water_at_high_angle_is_its_atoms(void **state)
{
    (void)state;
    const double s = 1.2;
    const double f_O = 3.0485 * exp(-13.2771 * s * s) + 2.2868 * exp(-5.7011 * s * s) +
                       1.5463 * exp(-0.3239 * s * s) + 0.867 * exp(-32.9089 * s * s) + 0.2508;
    assert_true(fabs(water_F(s) / f_O - 1) < 0.01);
}

static void structure_factor_is_smooth_and_tends_to_one(void **state)
{
    (void)state;
    for (double Q = 0.01; Q < 30; Q += 0.01)
        assert_true(fabs(water_structure_factor(Q) - water_structure_factor(Q - 0.01)) < 0.03);
    assert_true(water_structure_factor(12) == 1.0);
}

static void tables_are_regular_and_positive(void **state)
{
    (void)state;
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    water_table(air_F, stol, F);
    assert_true(stol[0] == 0 && fabs(stol[WATER_TABLE_ROWS - 1] - 2.0) < 1e-12);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        assert_true(F[i] > 0 && F[i] == air_F(stol[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_scattering_of_water_is_the_compressibility),
        cmocka_unit_test(forward_scattering_of_air_is_the_electrons),
        cmocka_unit_test(water_peaks_at_two_per_angstrom),
        cmocka_unit_test(water_at_high_angle_is_its_atoms),
        cmocka_unit_test(structure_factor_is_smooth_and_tends_to_one),
        cmocka_unit_test(tables_are_regular_and_positive),
    };
    return unit_run(tests);
}
