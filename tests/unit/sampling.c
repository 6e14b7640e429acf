/* The sampling warnings, with numbers that were worked out by hand. */
#include "unit.h"

#include <math.h>

#include "physics/crystal/sampling.h"

/* 1 A, cells 50 x 40 x 100 A, 20 x 20 x 20 of them: the widest edge is 2000 A and a
 * spot 0.5 mrad; pixels of 0.1 mm at 100 mm are 1 mrad.  The corners see 2 theta =
 * atan(sqrt(2)/20), d = 14.169 A: 7.0843 mrad in the rotation. */
static double cell_m[9] = {50e-10, 0, 0, 0, 40e-10, 0, 0, 0, 100e-10};
static struct panel panel = {.origin_m = {0.1, -5e-3, -5e-3},
                             .fast = {0, 1, 0},
                             .slow = {0, 0, 1},
                             .fast_pixels = 100,
                             .slow_pixels = 100,
                             .pixel_m = 1e-4,
                             .close_distance_m = 0.1,
                             .close_fast_m = 5e-3,
                             .close_slow_m = 5e-3};
static struct crystal crystal = {.cells = {20, 20, 20}, .fudge = 1};
static struct experiment experiment = {.beam = {.wavelength_m = 1e-10, .direction = {1, 0, 0}},
                                       .npanels = 1,
                                       .panels = &panel,
                                       .ncrystals = 1,
                                       .crystals = &crystal,
                                       .sampling.oversample = 1};

static double ripple = 0.01;

static struct sampling_report check(int oversample, size_t nphi, double osc, size_t ndomains,
                                    double spread)
{
    struct lattice l = {.nphi = nphi, .ndomains = ndomains, .cells_m = cell_m};
    experiment.sampling.oversample = oversample;
    return sampling_check(&experiment, &l, osc, spread, ripple);
}

static void a_spot_is_wavelength_over_crystal_edge(void **state)
{
    (void)state;
    const struct sampling_report r = check(1, 1, 0, 1, 0);
    assert_true(fabs(r.spot_rad - 0.5e-3) < 1e-9);
    assert_true(!r.phi_coarse && !r.domains_coarse);
}

/* SQUARE: 0.35 mrad, a third of a pixel and less. */
static void pixels_wider_than_a_spot_are_coarse(void **state)
{
    (void)state;
    assert_true(check(2, 1, 0, 1, 0).pixels_coarse);
    assert_true(check(1, 1, 0, 1, 0).oversample == 3);
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

/* SQUARE: 0.7 of 7.0843 mrad. */
static void phi_steps_wider_than_a_spot_are_coarse(void **state)
{
    (void)state;
    assert_true(check(1, 10, 50e-3, 1, 0).phi_coarse);
    assert_false(check(1, 11, -50e-3, 1, 0).phi_coarse);
    assert_true(check(1, 10, 50e-3, 1, 0).phi_steps == 11);
}

static void domains_farther_apart_than_a_spot_are_coarse(void **state)
{
    (void)state;
    /* 50 mrad half-width holds pi (50/4.959)^2 = 319.4 of these */
    assert_true(check(1, 1, 0, 319, 50e-3).domains_coarse);
    assert_false(check(1, 1, 0, 320, 50e-3).domains_coarse);
    assert_true(check(1, 1, 0, 1, 50e-3).domains == 320);
}

/* Steps that SQUARE just allows are fine for some shapes and coarse for others; faithful GAUSS
 * has spots of 1/(20^3 A). */
static void every_shape_has_its_width(void **state)
{
    (void)state;
    static const double phi_steps[] = {
        [SHAPE_SQUARE] = 11, [SHAPE_ROUND] = 8, [SHAPE_GAUSS] = 10, [SHAPE_TOPHAT] = 21};
    for (int shape = SHAPE_SQUARE; shape <= SHAPE_TOPHAT; shape++) {
        crystal.shape = (enum crystal_shape)shape;
        assert_true(check(1, 10, 50e-3, 1, 0).phi_steps == phi_steps[shape]);
    }
    crystal.shape = SHAPE_GAUSS;
    crystal.fudge = 4;
    assert_true(check(1, 10, 50e-3, 1, 0).phi_steps == 19);
    crystal.fudge = 1;
    experiment.physics = PHYSICS_FAITHFUL;
    assert_true(fabs(check(1, 1, 0, 1, 0).spot_rad - 1.0 / 8000) < 1e-9);
    experiment.physics = PHYSICS_PHYSICAL;
    crystal.shape = SHAPE_SQUARE;
}

/* The sum of exp(-2 (N h)^2 / 0.63) over points `step` apart, step/2 off the middle or on it,
 * relative to its integral. */
static double summed(double step, double off)
{
    double sum = 0.0;
    for (int i = -2000; i <= 2000; i++)
        sum += exp(-2.0 * pow(20 * step * (i + off), 2) / 0.63);
    return sum * step * 20 / sqrt(0.63 * M_PI / 2);
}

/* One edge of 100 A has 1/20 of an index for a width: points that are allowed have the ripple that
 * was asked for, no less and no more. */
static void gauss_ripples_as_asked(void **state)
{
    (void)state;
    static const double asked[] = {0.2, 0.05, 0.01, 0.001};
    crystal.shape = SHAPE_GAUSS;
    for (int i = 0; i < 4; i++) {
        ripple = asked[i];
        const struct sampling_report r = check(1, 1, 0, 1, 0);
        const double step = r.rocking_share_rad / r.rocking_rad / 20;
        assert_true(fabs((summed(step, 0.0) - 1) / ripple - 1) < 0.02);
        assert_true(fabs((1 - summed(step, 0.5)) / ripple - 1) < 0.02);
    }
    ripple = 0.01;
    crystal.shape = SHAPE_SQUARE;
}

/* In closed form points may be as far apart as the widened spot allows: with a mosaic rms of twice
 * the rms of a block, 0.39686 of 7.0843 mrad, they may be sqrt(5) times as far apart. */
static void mosaic_in_closed_form_widens_spots(void **state)
{
    (void)state;
    crystal.shape = SHAPE_GAUSS;
    const struct sampling_report block = check(1, 1, 1.0, 1, 0);
    const double twice = 2 * 0.39686269665968860 * block.rocking_rad;
    crystal.has_ensemble = true;
    assert_true(check(1, 1, 1.0, 1, 0).rocking_share_rad == block.rocking_share_rad);
    for (int i = 0; i < 3; i++)
        crystal.mosaic_rms_rad[i] = i == 1 ? twice : 5 * twice;  // the smallest counts
    const struct sampling_report wide = check(1, 1, 1.0, 1, 0);
    assert_true(fabs(wide.rocking_share_rad / block.rocking_share_rad - sqrt(5)) < 1e-9);
    assert_true(wide.rocking_rad == block.rocking_rad && wide.oversample == block.oversample);
    assert_true(wide.phi_steps == ceil(1.0 / wide.rocking_share_rad));
    crystal.has_ensemble = false;
    assert_true(check(1, 1, 1.0, 1, 0).rocking_share_rad == block.rocking_share_rad);
    crystal.shape = SHAPE_SQUARE;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spot_is_wavelength_over_crystal_edge),
        cmocka_unit_test(pixels_wider_than_a_spot_are_coarse),
        cmocka_unit_test(the_closest_pixel_counts),
        cmocka_unit_test(phi_steps_wider_than_a_spot_are_coarse),
        cmocka_unit_test(domains_farther_apart_than_a_spot_are_coarse),
        cmocka_unit_test(every_shape_has_its_width),
        cmocka_unit_test(gauss_ripples_as_asked),
        cmocka_unit_test(mosaic_in_closed_form_widens_spots),
    };
    return unit_run(tests);
}
