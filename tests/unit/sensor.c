/* The sensor: attenuation of silicon, and into how many layers a sensor is divided. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "physics/detector/pixel.h"
#include "physics/detector/sensor.h"

static double silicon(double energy_eV)
{
    struct error e;
    double absorption_1_m;
    assert_int_equal(silicon_absorption(energy_eV, &absorption_1_m, &e), STATUS_OK);
    return absorption_1_m;
}

/* 1/cm by cctbx.eltbx.attenuation_coefficient, which DIALS corrects positions with. */
static void silicon_absorbs_as_in_tables(void **state)
{
    (void)state;
    static const double rows[][2] = {{5, 570.85}, {6, 342.51},  {7, 220.61},  {8, 150.70},
                                     {9, 107.14}, {10, 78.963}, {12, 46.302}, {12.398, 42.084},
                                     {15, 24.09}, {17, 16.717}, {20, 10.401}, {22, 7.96696},
                                     {25, 5.5718}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(silicon(1e3 * rows[i][0]) / (100 * rows[i][1]) - 1) < 0.01);
}

/* cm2/g by xraydb.mu_elam, which has other tables: around the edge, and beyond 80 keV. */
static void silicon_has_its_edge_and_hard_photons(void **state)
{
    (void)state;
    static const double rows[][2] = {{1000, 1570.0},   {1500, 535.57},   {1838, 309.66},
                                     {1840, 3190.0},   {2000, 2776.7},   {80e3, 0.22279},
                                     {100e3, 0.18353}, {150e3, 0.14484}, {200e3, 0.12754}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(silicon(rows[i][0]) / (233 * rows[i][1]) - 1) < 0.003);
}

/* A value of an end would be wrong beyond it. */
static void silicon_is_not_known_beyond_its_table(void **state)
{
    (void)state;
    struct error e;
    double value = 7;
    for (int i = 0; i < 4; i++) {
        const double eV[] = {999, 200001, 494e3, NAN};
        assert_int_equal(silicon_absorption(eV[i], &value, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "1 to 200 keV"));
        assert_true(value == 7);
    }
    assert_int_equal(silicon_absorption(1000, &value, &e), STATUS_OK);
    assert_int_equal(silicon_absorption(200e3, &value, &e), STATUS_OK);
}

/* 320 um of silicon catch 0.419, 0.727 and 0.958 at 0.75, 1.0 and 1.35 A by xrayutilities, which
 * leaves scattering out; 0.4404, 0.7399, 0.9606 by this table. */
static void each_wavelength_is_absorbed_by_itself(void **state)
{
    (void)state;
    static const double rows[][2] = {{0.75, 0.4404}, {1.0, 0.7399}, {1.35, 0.9606}};
    struct panel p = {
        .thickness_m = 320e-6, .absorption_1_m = silicon(m_to_ev(1e-10)), .material = "Si"};
    struct error e;
    double ratio;
    for (int i = 0; i < 3; i++) {
        const double wavelength_m = rows[i][0] * 1e-10;
        assert_int_equal(sensor_ratio(&p, 1e-10, wavelength_m, &ratio, &e), STATUS_OK);
        assert_true(fabs(ratio * p.absorption_1_m / silicon(m_to_ev(wavelength_m)) - 1) < 1e-12);
        assert_true(fabs(1 - exp(-ratio * p.absorption_1_m * 320e-6) - rows[i][1]) < 2e-4);
    }
    assert_int_equal(sensor_ratio(&p, 1e-10, 0.05e-10, &ratio, &e), STATUS_INPUT);
    (void)strcpy(p.material, "");
    assert_int_equal(sensor_ratio(&p, 1e-10, 0.8e-10, &ratio, &e), STATUS_OK);
    assert_true(fabs(ratio - 0.512) < 1e-12);
    /* 26.7 keV, the edge of cadmium, is 0.464 A */
    (void)strcpy(p.material, "CdTe");
    assert_int_equal(sensor_ratio(&p, 0.47e-10, 0.49e-10, &ratio, &e), STATUS_OK);
    assert_int_equal(sensor_ratio(&p, 0.47e-10, 0.46e-10, &ratio, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "CdTe"));
    (void)strcpy(p.material, "CsI");
    assert_int_equal(sensor_ratio(&p, 0.47e-10, 0.49e-10, &ratio, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "CsI"));
    assert_int_equal(sensor_ratio(&p, 0.47e-10, 0.47e-10, &ratio, &e), STATUS_OK);
}

static void no_harmonic_crosses_an_edge(void **state)
{
    (void)state;
    struct panel p = {.thickness_m = 1e-3, .absorption_1_m = 5400, .material = "CdTe"};
    struct error e;
    double absorption_1_m = 7;
    assert_int_equal(sensor_harmonic(&p, 10000, &absorption_1_m, &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "26.711 keV"));
    assert_true(absorption_1_m == 7);
    assert_int_equal(sensor_harmonic(&p, 8000, &absorption_1_m, &e), STATUS_OK);
    assert_true(absorption_1_m == 200);
    (void)strcpy(p.material, "CsI");
    assert_int_equal(sensor_harmonic(&p, 8000, &absorption_1_m, &e), STATUS_INPUT);
}

/* Narrow bands, and faithful mode, absorb by the beam's wavelength, to the bit. */
static void narrow_bands_are_absorbed_alike(void **state)
{
    (void)state;
    struct panel p = {.thickness_m = 320e-6, .absorption_1_m = 1000, .material = "Si"};
    struct experiment x = {.npanels = 1, .panels = &p, .beam = {.wavelength_m = 1e-10}};
    struct source s[2] = {{.wavelength_m = 1.005e-10}, {.wavelength_m = 0.995e-10}};
    struct error e;
    double ratios[2];
    bool differ;
    assert_int_equal(sensor_ratios(&x, s, 2, ratios, &differ, &e), STATUS_OK);
    assert_true(!differ && ratios[0] == 1 && ratios[1] == 1);
    s[0].wavelength_m = 1.05e-10;
    assert_int_equal(sensor_ratios(&x, s, 2, ratios, &differ, &e), STATUS_OK);
    assert_true(differ && ratios[0] > 1.13 && ratios[0] < 1.16 && ratios[1] < 0.99);
    x.physics = PHYSICS_FAITHFUL;
    assert_int_equal(sensor_ratios(&x, s, 2, ratios, &differ, &e), STATUS_OK);
    assert_true(!differ && ratios[0] == 1);
}

/* 2000 pixels of 0.1 mm at 100 mm, hit in the middle: the corners are 141 mm away from there. */
static struct panel square = {.fast_pixels = 2000,
                              .slow_pixels = 2000,
                              .pixel_m = 1e-4,
                              .close_distance_m = 0.1,
                              .close_fast_m = 0.1,
                              .close_slow_m = 0.1};

static struct panel divided(const struct detector_request *d, enum physics physics,
                            const struct panel *of)
{
    struct error e;
    struct panel p = *of;
    struct experiment x = {.physics = physics, .npanels = 1, .panels = &p};
    assert_int_equal(sensor_setup(d, physics == PHYSICS_FAITHFUL, &p, &e), STATUS_OK);
    sensor_divide(d, &x);
    return p;
}

static void rays_move_by_a_pixel_at_most(void **state)
{
    (void)state;
    struct detector_request d = {
        .absorption_1_m = 4000, .material = "Si", .thickness = {.range = 320e-6}};
    struct panel p = divided(&d, PHYSICS_PHYSICAL, &square);
    assert_int_equal(p.layers, 5);  // 0.32 mm * 1.414 / 0.1 mm = 4.5
    assert_true(fabs(p.layers * p.layer_m - 320e-6) < 1e-12);
    assert_true(p.layer_depth_m > 0 && p.layer_depth_m < p.layer_m / 2);
    assert_string_equal(p.material, "Si");
    assert_true(panel_depth_m(&p) == 320e-6);
    assert_int_equal(divided(&d, PHYSICS_FAITHFUL, &square).layers, 2);
    d.thickness.range = 50e-6;
    assert_int_equal(divided(&d, PHYSICS_PHYSICAL, &square).layers, 1);
    d.thickness.range = 1e-2;
    assert_int_equal(divided(&d, PHYSICS_PHYSICAL, &square).layers, SENSOR_LAYERS_MAX);
    d.thickness.count = 1;
    p = divided(&d, PHYSICS_PHYSICAL, &square);
    assert_int_equal(p.layers, 1);
    assert_true(panel_depth_m(&p) == 1e-2);  // its one layer lies within, not in front
    p = divided(&(struct detector_request){.absorption_1_m = NAN}, PHYSICS_PHYSICAL, &square);
    assert_int_equal(p.layers, 1);
    assert_true(panel_depth_m(&p) == 0);
}

/* A beam in the corner slants more; a curved panel has no depth. */
static void the_most_slanted_ray_counts(void **state)
{
    (void)state;
    const struct detector_request d = {.absorption_1_m = NAN, .thickness = {.range = 320e-6}};
    struct panel p = square;
    p.close_fast_m = p.close_slow_m = 0;
    assert_int_equal(divided(&d, PHYSICS_PHYSICAL, &p).layers, 10);  // 9.05
    p.curved = true;
    p = divided(&d, PHYSICS_PHYSICAL, &p);
    assert_int_equal(p.layers, 1);
    assert_true(panel_depth_m(&p) == 0);
}

/* All panels of a detector have the layers of the one that needs most. */
static void panels_are_divided_alike(void **state)
{
    (void)state;
    struct error e;
    const struct detector_request d = {.absorption_1_m = NAN, .thickness = {.range = 320e-6}};
    struct panel panels[2] = {square, square};
    struct experiment x = {.npanels = 2, .panels = panels};
    panels[1].close_distance_m = 0.2;
    for (int i = 0; i < 2; i++)
        assert_int_equal(sensor_setup(&d, false, &panels[i], &e), STATUS_OK);
    sensor_divide(&d, &x);
    assert_true(panels[0].layers == 5 && panels[1].layers == 5);
}

/* The mean depth of what is caught along a slanted ray, of the layers against the integral:
 * within 0.04 pixels at 35 degrees, for the detectors that are sold. */
static void layers_keep_the_mean_depth(void **state)
{
    (void)state;
    static const double sold[][3] = {{320e-6, 172e-6, 0.213}, {450e-6, 75e-6, 0.16}};
    for (int i = 0; i < 8; i++) {
        const double *size = sold[i % 2], keV[] = {6, 8, 12.4, 20};
        const struct detector_request d = {.absorption_1_m = silicon(1e3 * keV[i / 2]),
                                           .thickness = {.range = size[0]}};
        struct panel p = {.pixel_m = size[1], .close_distance_m = 0.3, .normal = {0, 0, 1}};
        p.close_fast_m = p.close_slow_m = size[2];
        p.fast_pixels = p.slow_pixels = (int64_t)(2 * size[2] / size[1]);
        p = divided(&d, PHYSICS_PHYSICAL, &p);
        const double slant = deg_to_rad(35), ray[3] = {sin(slant), 0, cos(slant)};
        const double path = d.absorption_1_m * size[0] / cos(slant);
        double depth_m = 0, caught = 0;
        for (int k = 0; k < p.layers; k++) {
            depth_m += pixel_layer_depth(&p, k) * pixel_capture(&p, ray, k);
            caught += pixel_capture(&p, ray, k);
        }
        assert_true(fabs(caught + expm1(-path)) < 1e-12);
        const double exact_m = size[0] * (1 / path - 1 / expm1(path));
        assert_true(fabs(depth_m / caught - exact_m) * tan(slant) < 0.04 * size[1]);
    }
}

/* Where all photons stop at the front: 5.1 um through 320 um, 7.2 um through 450 um, at 200 V. */
static void charge_spreads_on_its_way(void **state)
{
    (void)state;
    struct panel p = {.thickness_m = 320e-6, .absorption_1_m = 1e9};
    assert_true(fabs(sensor_cloud_m(&p, 200) - 5.1e-6) < 0.05e-6);
    assert_true(fabs(sensor_cloud_m(&p, 800) / sensor_cloud_m(&p, 200) - 0.5) < 1e-12);
    p.thickness_m = 450e-6;
    assert_true(fabs(sensor_cloud_m(&p, 200) - 7.2e-6) < 0.05e-6);
    /* if few photons stop, they stop anywhere: the mean depth is half of the sensor */
    p.absorption_1_m = 1e-3;
    assert_true(fabs(sensor_cloud_m(&p, 200) - 7.15e-6 / sqrt(2)) < 0.05e-6);
    p.thickness_m = 0;
    assert_true(sensor_cloud_m(&p, 200) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silicon_absorbs_as_in_tables),
        cmocka_unit_test(silicon_has_its_edge_and_hard_photons),
        cmocka_unit_test(silicon_is_not_known_beyond_its_table),
        cmocka_unit_test(each_wavelength_is_absorbed_by_itself),
        cmocka_unit_test(narrow_bands_are_absorbed_alike),
        cmocka_unit_test(rays_move_by_a_pixel_at_most),
        cmocka_unit_test(the_most_slanted_ray_counts),
        cmocka_unit_test(panels_are_divided_alike),
        cmocka_unit_test(no_harmonic_crosses_an_edge),
        cmocka_unit_test(layers_keep_the_mean_depth),
        cmocka_unit_test(charge_spreads_on_its_way),
    };
    return unit_run(tests);
}
