/* Poni files: pixels lie where pyFAI's formulas put them, and what cannot be is said in a line. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/poni.h"
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

/* Turns v about an axis, with the hand that pyFAI's manual says ("Geometry"): 1 and 2 left. */
static void turn(double v[3], int axis, double rad)
{
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double s = axis == 2 ? sin(rad) : -sin(rad), x = v[a], y = v[b];
    v[a] = x * cos(rad) - y * s;
    v[b] = x * s + y * cos(rad);
}

/* Corner (slow, fast) of pixels in pyFAI's lab: numbers are reordered by the orientation before the
 * rotations, axes 1 and 2 turned round behind them. */
static void expected(const struct poni *p, double slow, double fast, double lab[3])
{
    const bool flip1 = p->orientation == 1 || p->orientation == 2;
    const bool flip2 = p->orientation == 1 || p->orientation == 4;
    lab[0] = (flip1 ? (double)p->pixels[0] - slow : slow) * p->pixel_m[0] - p->poni_m[0];
    lab[1] = (flip2 ? (double)p->pixels[1] - fast : fast) * p->pixel_m[1] - p->poni_m[1];
    lab[2] = p->distance_m;
    for (int i = 0; i < 3; i++)
        turn(lab, i, p->rotation_rad[i]);
    lab[0] *= flip1 ? -1 : 1;
    lab[1] *= flip2 ? -1 : 1;
}

static void pixels_lie_where_pyfai_puts_them(void **state)
{
    (void)state;
    static const double at[][2] = {{0, 0}, {30, 0}, {0, 40}, {12.5, 7}};
    for (int orientation = 1; orientation <= 4; orientation++) {
        char text[1000];
        struct poni p;
        struct error e;
        struct geom_panel panel;
        (void)snprintf(text, sizeof text, CONFIG, orientation);
        assert_int_equal(read_text(text, &p, &e), STATUS_OK);
        poni_panel(&p, &panel);
        assert_true(panel.fast_pixels == 40 && panel.slow_pixels == 30 && panel.pixel_m == 7e-5);
        for (int i = 0; i < 4; i++) {
            double want[3], got[3];
            expected(&p, at[i][0], at[i][1], want);
            for (int k = 0; k < 3; k++)
                got[k] = panel.corner_m[k] +
                         7e-5 * (at[i][0] * panel.slow[k] + at[i][1] * panel.fast[k]);
            assert_near(got[0], want[1], 1e-15);
            assert_near(got[1], -want[0], 1e-15);
            assert_near(got[2], want[2], 1e-15);
        }
    }
}

/* Each with a part of what must be said. */
static void what_cannot_be_is_said(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "is no NXmx file and no poni file"},
        {"Distance: 0.1\nPoni1: 0\n", "'Poni2: ' is missing"},
        {"Distance: 0.1\nPoni1: nan\nPoni2: 0\n", ":2: Poni1: 'nan' is no finite number"},
        {"Distance: -0.1\n", ":1: Distance: '-0.1' is out of range"},
        {"Distance: 120mm\n", ":1: Distance: '120mm' is no finite number"},
        {"\n\nRot1: 0x10\n", ":3: Rot1: '0x10' is no finite number"},
        {"Wavelength: 1\n", ":1: Wavelength: '1' is out of range"},
        {"SplineFile: /a/b.spline\n", ":1: a distortion"},
        {"Detector_config: {\"pixel1\": 0.0001\n", "must be an object"},
        {"Detector_config: [1]\n", "must be an object"},
        {"Detector_config: {\"pixel1\": \"x\"}\n", "pixel1 must be from 1e-7 to 1 m"},
        {"Detector_config: {\"max_shape\": [1e9, 3]}\n", "max_shape must be two whole numbers"},
        {"Detector_config: {\"max_shape\": [70000, 3]}\n", "max_shape must be two whole numbers"},
        {"Detector_config: {\"max_shape\": [3]}\n", "max_shape must be two whole numbers"},
        {"Detector_config: {\"orientation\": 5}\n", "orientation must be"},
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
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
