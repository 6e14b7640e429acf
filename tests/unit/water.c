/* Tables of water and air, compared with numbers that can be worked out by hand. */
#include "unit.h"

#include <math.h>

#include "physics/background/amorphous.h"
#include "physics/background/electron_water.h"

static void forward_scattering_of_water_is_the_compressibility(void **state)
{
    (void)state;
    /* ten electrons (the Gaussians sum to 9.999); 33.37 molecules per nm^3, kappa_T = 4.525e-10/Pa,
     * kT at 298.15 K */
    const double limit = 100 * 33.37e27 * 4.525e-10 * 1.380649e-23 * 298.15;
    assert_true(fabs(water_F(0) * water_F(0) / limit - 1) < 0.05);
    assert_true(fabs(water_F(0) * water_F(0) - 6.4) < 0.05);
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
    assert_true(at > 2.0 && at < 2.1);
    assert_true(best > 7.4 && best < 7.7);
}

/* F^2 of one molecule as it was measured: Hura and others (2003), the source of the table. */
static void water_is_what_was_measured(void **state)
{
    (void)state;
    static const double rows[][2] = {
        {0.5, 6.005},  {0.7, 6.412},  {0.9, 7.294},  {1.1, 9.017},  {1.3, 13.297}, {1.5, 21.858},
        {1.7, 37.2},   {1.9, 54.805}, {2.1, 57.681}, {2.3, 49.246}, {2.5, 42.421}, {2.7, 39.902},
        {2.9, 38.143}, {3.1, 31.303}, {3.3, 21.76},  {3.5, 16.013}, {3.7, 13.485}, {3.9, 12.714},
        {4.3, 12.49},  {4.7, 11.524}, {5.1, 9.441},  {5.5, 7.26},   {5.9, 5.588},  {6.3, 4.966},
        {6.7, 4.725},  {7.1, 4.384},  {7.5, 3.891},  {7.9, 3.36},   {8.3, 3.027},  {8.7, 2.951},
        {9.1, 2.885},  {9.5, 2.748},  {9.9, 2.527},  {10.3, 2.356}, {10.7, 2.182}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double F = water_F(rows[i][0] / (4 * M_PI));
        assert_true(fabs(F * F / rows[i][1] - 1) < 0.035);
    }
}

/* F^2 over that of a lone molecule, by others at small angles: Clark and others (2010).  And what a
 * program for backgrounds ships, an upper limit as it may have Compton scattering in it. */
static void water_is_what_others_measured(void **state)
{
    (void)state;
    static const double small[][2] = {{0.104, 0.0643}, {0.205, 0.0631}, {0.3, 0.0623},
                                      {0.412, 0.0618}, {0.528, 0.0628}, {0.617, 0.0651},
                                      {0.676, 0.0675}, {0.739, 0.071},  {0.798, 0.0751}};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        assert_true(fabs(water_structure_factor(small[i][0]) / small[i][1] - 1) < 0.05);
    assert_true(water_structure_factor(1.0) < 0.112 && water_structure_factor(1.0) > 0.085);
    assert_true(water_structure_factor(1.5) < 0.386 && water_structure_factor(1.5) > 0.29);
}

/* f(s)^2 of oxygen, nitrogen and argon from xraydb.f0. Atoms of a molecule almost do not interfere
 * there. */
static void atoms_go_on_to_six(void **state)
{
    (void)state;
    static const double rows[][4] = {{2.5, 0.44203, 0.32615, 1.31574},
                                     {3, 0.29237, 0.20349, 1.13613},
                                     {4, 0.13429, 0.08709, 0.82729},
                                     {6, 0.03804, 0.02178, 0.42707}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(fabs(water_F(rows[i][0]) / rows[i][1] - 1) < 0.02);
        const double all = 1.5616 * rows[i][2] * rows[i][2] + 0.419 * rows[i][1] * rows[i][1] +
                           0.0093 * rows[i][3] * rows[i][3];
        assert_true(fabs(air_F(rows[i][0]) / sqrt(all / 0.9996) - 1) < 0.03);
    }
    assert_true(fabs(water_F(2 + 1e-9) / water_F(2) - 1) < 1e-6);
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
    assert_true(stol[0] == 0 && fabs(stol[WATER_TABLE_ROWS - 1] - 6.0) < 1e-12);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        assert_true(F[i] > 0 && F[i] == air_F(stol[i]));
}

/* Returns the integral of a cross section over small angles, from rows that are dense at 0. */
static double total_A2(double (*of)(double wavelength_m, double stol_1_A), double wavelength_m)
{
    const double ratio = 1.002, wave_A = 1e10 * wavelength_m;
    double sum = 0.0;
    for (double s = 1e-7; s < 2.0; s *= ratio) {
        const double middle = s * sqrt(ratio), theta = 2.0 * asin(middle * wave_A);
        sum += of(wavelength_m, middle) * 2.0 * M_PI * sin(theta) * 2.0 * wave_A * s *
               (ratio - 1.0) / cos(0.5 * theta);
    }
    return sum;
}

static void electrons_have_known_mean_free_paths_in_ice(void **state)
{
    (void)state;
    /* vitreous ice of 0.93 g/cm^3.  Elastic, free molecules: 529 nm at 200 kV, 660 nm at 300 kV */
    static const double MOLECULES_1_A3 = 0.03109;
    const double wave_m[] = {2.50793e-12, 1.96875e-12}, elastic_nm[] = {529, 660},
                 inelastic_nm[] = {240.5, 300};
    for (int i = 0; i < 2; i++) {
        const double elastic =
            0.1 / (MOLECULES_1_A3 * total_A2(electron_water_elastic_A2, wave_m[i]));
        const double lost =
            0.1 / (MOLECULES_1_A3 * total_A2(electron_water_inelastic_A2, wave_m[i]));
        print_message("# elastic %.1f nm, inelastic %.1f nm\n", elastic, lost);
        assert_true(fabs(elastic / elastic_nm[i] - 1) < 0.15);
        assert_true(fabs(lost / inelastic_nm[i] - 1) < 0.02);
    }
}

static void electrons_meet_the_potential_of_water(void **state)
{
    (void)state;
    /* f_e at rest of O 1.98 A and H 0.529 A; at large angles gamma^2 (f_O^2 + 2 f_H^2), f_e = C
     * Z/s^2 */
    const double gamma_sqr = 1.93597, C = 0.02393366, S0 = water_structure_factor(0);
    const double forward = electron_water_elastic_A2(2.50793e-12, 0) / gamma_sqr;
    const double all = 1.98 + 2 * 0.529;
    assert_true(fabs(forward / (all * all * S0) - 1) < 0.02);
    const double far = electron_water_elastic_A2(2.50793e-12, 2.0) / gamma_sqr;
    const double bare = C * C / 16.0 * ((8 - 1.2) * (8 - 1.2) + 2);
    assert_true(fabs(far / bare - 1) < 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_scattering_of_water_is_the_compressibility),
        cmocka_unit_test(forward_scattering_of_air_is_the_electrons),
        cmocka_unit_test(water_peaks_at_two_per_angstrom),
        cmocka_unit_test(water_is_what_was_measured),
        cmocka_unit_test(water_is_what_others_measured),
        cmocka_unit_test(atoms_go_on_to_six),
        cmocka_unit_test(water_at_high_angle_is_its_atoms),
        cmocka_unit_test(structure_factor_is_smooth_and_tends_to_one),
        cmocka_unit_test(tables_are_regular_and_positive),
        cmocka_unit_test(electrons_have_known_mean_free_paths_in_ice),
        cmocka_unit_test(electrons_meet_the_potential_of_water),
    };
    return unit_run(tests);
}
