/* The sampling warnings, with numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "physics/sampling.h"

/* 1 A, cells 50 x 40 x 100 A, 20 x 20 x 20 of them: the widest edge is 2000 A and a
 * spot 0.5 mrad; pixels of 0.1 mm at 100 mm are 1 mrad. */
static double cell_m[9] = {50e-10, 0, 0, 0, 40e-10, 0, 0, 0, 100e-10};
static struct panel panel = {.fast_pixels = 100,
                             .slow_pixels = 100,
                             .pixel_m = 1e-4,
                             .close_distance_m = 0.1,
                             .close_fast_m = 5e-3,
                             .close_slow_m = 5e-3};
static struct crystal crystal = {.cells = {20, 20, 20}};
static struct experiment experiment = {.beam.wavelength_m = 1e-10,
                                       .npanels = 1,
                                       .panels = &panel,
                                       .ncrystals = 1,
                                       .crystals = &crystal,
                                       .sampling.oversample = 1};

static struct sampling_report check(int oversample, size_t nphi, double osc, size_t ndomains,
                                    double spread)
{
    struct lattice l = {.nphi = nphi, .ndomains = ndomains, .cells_m = cell_m};
    experiment.sampling.oversample = oversample;
    return sampling_check(&experiment, &l, osc, spread);
}

static void a_spot_is_wavelength_over_crystal_edge(void **state)
{
    (void)state;
    const struct sampling_report r = check(1, 1, 0, 1, 0);
    assert_true(fabs(r.spot_rad - 0.5e-3) < 1e-9);
    assert_true(!r.phi_coarse && !r.domains_coarse);
}

static void pixels_wider_than_a_spot_are_coarse(void **state)
{
    (void)state;
    assert_true(check(1, 1, 0, 1, 0).pixels_coarse);
    assert_true(check(1, 1, 0, 1, 0).oversample == 2);
    assert_false(check(3, 1, 0, 1, 0).pixels_coarse);
}

/* A panel that stands aside, edge-on to the sample, is no closer than its edge. */
static void the_closest_pixel_counts(void **state)
{
    (void)state;
    panel.close_distance_m = 0;
    panel.close_fast_m = -0.2;
    const double subpixel_rad = check(1, 1, 0, 1, 0).subpixel_rad;
    panel.close_distance_m = 0.1;
    panel.close_fast_m = 5e-3;
    assert_true(fabs(subpixel_rad - 0.5e-3) < 1e-9);
}

static void phi_steps_wider_than_a_spot_are_coarse(void **state)
{
    (void)state;
    assert_true(check(1, 10, 10e-3, 1, 0).phi_coarse);
    assert_false(check(1, 21, -10e-3, 1, 0).phi_coarse);
    assert_true(fabs(check(1, 10, 10e-3, 1, 0).phi_steps - 20) <= 1);
}

static void domains_farther_apart_than_a_spot_are_coarse(void **state)
{
    (void)state;
    /* 5 mrad half-width holds pi (5/0.5)^2 = 314.16 spots */
    assert_true(check(1, 1, 0, 310, 5e-3).domains_coarse);
    assert_false(check(1, 1, 0, 316, 5e-3).domains_coarse);
    assert_true(check(1, 1, 0, 1, 5e-3).domains == 315);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spot_is_wavelength_over_crystal_edge),
        cmocka_unit_test(pixels_wider_than_a_spot_are_coarse),
        cmocka_unit_test(the_closest_pixel_counts),
        cmocka_unit_test(phi_steps_wider_than_a_spot_are_coarse),
        cmocka_unit_test(domains_farther_apart_than_a_spot_are_coarse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
