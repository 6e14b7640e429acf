/* Files of pyFAI: pixels are where pyFAI's formulas put them, and an impossible file gives one line
 * of error. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/detectors/poni.h"
#include "near.h"
#include "scratch.h"

static const char ONE[] =
    "# Nota: C-Order, 1 refers to the Y axis, 2 to the X axis\n"
    "PixelSize1: 0.0001\nPixelSize2: 0.0001\n"
    "Distance: 0.12\nPoni1: 0.012\nPoni2: -0.025\n"
    "Rot1: 0.1\nRot2: -0.2\nRot3: 0.3\nSplineFile: None\nWavelength: 1.1e-10\n";
static const char TWO[] = "poni_version: 2\nDetector: Pilatus 1M\nDetector_config: {}\n"
                          "Distance: 0.3\nPoni1: 0.1\nPoni2: 0.08\nRot1: 0\nRot2: 0\nRot3: 0\n"
                          "# again\nponi_version: 2\nDetector: Eiger4M\nDetector_config: {}\r\n"
                          "Distance: 0.2\nPoni1: 0.1\nPoni2: 0.08\nRot1: 0\nRot2: 0\nRot3: 0\n";
static const char CONFIG[] =
    "poni_version: 2.1\nDetector: Detector\n"
    "Detector_config: {\"pixel1\": 7e-05, \"pixel2\": 7e-05, \"max_shape\": [30, 40], "
    "\"orientation\": %d}\n"
    "Distance: 0.12\nPoni1: 0.012\nPoni2: -0.025\nRot1: 0.1\nRot2: -0.2\nRot3: 0.3\n"
    "Wavelength: None\n";

static enum status read_text(const char *text, struct poni *p, struct error *e)
{
    *e = (struct error){0};
    return poni_read(scratch_put(scratch_path("a.poni"), text, strlen(text)), p, e);
}

static void versions_are_read(void **state)
{
    (void)state;
    struct poni p;
    struct error e;
    char text[1000];
    assert_int_equal(read_text(ONE, &p, &e), STATUS_OK);
    assert_true(p.distance_m == 0.12 && p.poni_m[0] == 0.012 && p.poni_m[1] == -0.025);
    assert_true(p.rotation_rad[1] == -0.2 && p.wavelength_m == 1.1e-10 && p.pixel_m[1] == 1e-4);
    assert_true(!p.pixels[0] && !*p.detector && p.orientation == 3);
    assert_int_equal(read_text(TWO, &p, &e), STATUS_OK);
    assert_string_equal(p.detector, "Eiger4M");
    assert_true(p.distance_m == 0.2 && p.pixel_m[0] == 0 && p.wavelength_m == 0);
    (void)snprintf(text, sizeof text, CONFIG, 2);
    assert_int_equal(read_text(text, &p, &e), STATUS_OK);
    assert_true(p.pixels[0] == 30 && p.pixels[1] == 40 && p.orientation == 2);
    assert_true(p.pixel_m[0] == 7e-5);
}

/* Centres of pixels in pyFAI's lab, m, for CONFIG, as pyFAI 2026.9.0 computes them
 * (AzimuthalIntegrator.calc_pos_zyx): four orders in which one and the same detector is stored. */
static const struct {
    int orientation, slow, fast;
    double lab_m[3];
} by_pyfai[] = {
    {1, 0, 0, {0.001129117, 0.041807236, 0.116277597}},
    {1, 29, 0, {-0.000771559, 0.041219288, 0.116680896}},
    {1, 0, 39, {0.001983585, 0.039228198, 0.116544710}},
    {1, 12, 7, {0.000495996, 0.041101043, 0.116492423}},
    {2, 0, 0, {0.001983585, 0.039228198, 0.116544710}},
    {2, 29, 0, {0.000082909, 0.038640250, 0.116948008}},
    {2, 0, 39, {0.001129117, 0.041807236, 0.116277597}},
    {2, 12, 7, {0.001043732, 0.039447813, 0.116663649}},
    {3, 0, 0, {0.000082909, 0.038640250, 0.116948008}},
    {3, 29, 0, {0.001983585, 0.039228198, 0.116544710}},
    {3, 0, 39, {-0.000771559, 0.041219288, 0.116680896}},
    {3, 12, 7, {0.000716030, 0.039346443, 0.116733183}},
    {4, 0, 0, {-0.000771559, 0.041219288, 0.116680896}},
    {4, 29, 0, {0.001129117, 0.041807236, 0.116277597}},
    {4, 0, 39, {0.000082909, 0.038640250, 0.116948008}},
    {4, 12, 7, {0.000168294, 0.040999672, 0.116561957}},
};

static void pixels_lie_where_pyfai_puts_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof by_pyfai / sizeof *by_pyfai; i++) {
        char text[1000];
        struct poni p;
        struct error e;
        struct geom_panel panel;
        (void)snprintf(text, sizeof text, CONFIG, by_pyfai[i].orientation);
        assert_int_equal(read_text(text, &p, &e), STATUS_OK);
        poni_panel(&p, &panel);
        assert_true(panel.fast_pixels == 40 && panel.slow_pixels == 30 && panel.pixel_m == 7e-5);
        double got[3];
        for (int k = 0; k < 3; k++)
            got[k] = panel.corner_m[k] + 7e-5 * ((by_pyfai[i].slow + 0.5) * panel.slow[k] +
                                                 (by_pyfai[i].fast + 0.5) * panel.fast[k]);
        const double *want = by_pyfai[i].lab_m;
        assert_near(got[0], want[1], 1e-9);
        assert_near(got[1], -want[0], 1e-9);
        assert_near(got[2], want[2], 1e-9);
    }
}

static void what_is_not_known_is_kept(void **state)
{
    (void)state;
    struct poni p;
    struct error e;
    assert_int_equal(
        read_text("poni_version: 3\nDetector: Detector\nDetector_config: {\"pixel1\": 1e-4, "
                  "\"pixel2\": 1e-4, \"binning\": [2, 2], \"sensor\": {\"material\": \"Si\", "
                  "\"thickness\": 0.00032}}\nDistance: 0.1\nPoni1: 0\nPoni2: 0\nRott1: 0.1\n"
                  "Rott1: 0.2\nParallax: True\n",
                  &p, &e),
        STATUS_OK);
    assert_string_equal(p.unused, "binning, Rott1");
    assert_string_equal(p.material, "Si");
    assert_true(p.thickness_m == 0.00032);
}

/* Each with a part of what must be said. */
static void what_cannot_be_is_said(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "not an NXmx file, and not a poni file"},
        {"Distance: 0.1\nPoni1: 0\n", "'Poni2: ' is missing"},
        {"Distance: 0.1\nPoni1: nan\nPoni2: 0\n", ":2: Poni1: 'nan' is not a finite number"},
        {"Distance: -0.1\n", ":1: Distance: '-0.1' is out of range"},
        {"Distance: 120mm\n", ":1: Distance: '120mm' is not a finite number"},
        {"\n\nRot1: 0x10\n", ":3: Rot1: '0x10' is not a finite number"},
        {"Wavelength: 1\n", ":1: Wavelength: '1' is out of range"},
        {"SplineFile: /a/b.spline\n", ":1: SplineFile: a distortion"},
        {"Detector_config: {\"pixel1\": 0.0001\n", "not an object"},
        {"Detector_config: [1]\n", "not an object"},
        {"Detector_config: {\"pixel1\": \"x\"}\n",
         "pixel1 is out of range; expected a value from 1e-7 to 1 m"},
        {"Detector_config: {\"max_shape\": [1e9, 3]}\n",
         "max_shape is not valid; expected two whole numbers"},
        {"Detector_config: {\"max_shape\": [70000, 3]}\n",
         "max_shape is not valid; expected two whole numbers"},
        {"Detector_config: {\"max_shape\": [3]}\n",
         "max_shape is not valid; expected two whole numbers"},
        {"Detector_config: {\"orientation\": 5}\n", "orientation is not valid; expected"},
        {"Distance: 0.1\nPoni1 = 0\n", ":2: 'Poni1 = 0' has no ':'"},
        {"Rot1: 45\n", ":1: Rot1: '45' is out of range"},
        {"Rot1: 0,1\n", ":1: Rot1: '0,1' is not a finite number"},
        {"Rot1:\n", ":1: Rot1: '' is not a finite number"},
        {"Rot1: 1e400\n", ":1: Rot1: '1e400' is not a finite number"},
        {"poni_version: 4\n", ":1: poni_version: '4' is out of range"},
        {"Detector: Aarhus\n", ":1: Detector: Aarhus is curved"},
        {"Detector_config: {\"splineFile\": \"a.spline\"}\n", "splineFile: pixels at positions"},
        {"Detector_config: {\"radius\": 0.3}\n", "radius: a curved detector"},
        {"Detector_config: {\"sensor\": {\"thickness\": \"thin\"}}\n",
         "thickness of the sensor is out of range; expected a value from 0 to 1 m"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct poni p;
        struct error e;
        assert_int_equal(read_text(bad[i][0], &p, &e), STATUS_INPUT);
        if (!strstr(e.text, bad[i][1]))
            fail_msg("%s", e.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_read),
        cmocka_unit_test(pixels_lie_where_pyfai_puts_them),
        cmocka_unit_test(what_is_not_known_is_kept),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
