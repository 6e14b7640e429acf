/* bragg-geometry: from options to the request in SI units. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../stages/geometry_options.h"

enum { WORDS_MAX = 8 };

static struct request request;
static struct crystal_request crystal;
static struct error error;

/* Parses up to seven options and makes the request. */
static enum status make(const char *const *options)
{
    static const struct opt_program program = {.name = "bragg-geometry", .summary = ""};
    char words[WORDS_MAX][64] = {"bragg-geometry"}, *argv[WORDS_MAX + 1] = {words[0]};
    int argc = 1, noperands;
    for (; options[argc - 1]; argc++) {
        strncpy(words[argc], options[argc - 1], sizeof words[argc] - 1);
        argv[argc] = words[argc];
    }
    struct geometry_options o = {0};
    const char *operands[1];
    geometry_defaults(&o);
    memset(&error, 0, sizeof error);
    const enum status s = opt_parse(&program, geometry_table, &o, NULL, NULL, argc, argv, operands,
                                    &noperands, &error);
    return s ? s : geometry_request(&o, &request, &crystal, &error);
}
#define MAKE(...) make((const char *const[]){__VA_ARGS__, NULL})

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fabs(b);
}

static void defaults_are_the_documented_ones(void **state)
{
    (void)state;
    assert_int_equal(make((const char *const[]){NULL}), STATUS_OK);
    assert_int_equal(request.physics, PHYSICS_PHYSICAL);
    assert_true(request.detector.pixels[0] == 1024 && request.detector.pixels[1] == 1024);
    assert_true(near(request.detector.pixel_m, 1e-4) && near(request.detector.distance_m, 0.1));
    assert_true(near(request.beam.wavelength_m, 1e-10) && request.beam.kahn == 0);
    assert_true(near(request.beam.fluence_ph_m2, 1e25) && near(request.beam.size_m, 3e-7));
    assert_true(crystal.cells[0] == 20 && crystal.cells[2] == 20 && !crystal.has_cell);
}

static void values_become_si_units(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--energy=12398.42", "--beam-center=10,20", "--thickness=450",
                          "--absorption=300", "--rotate=0,90,180", "--dispersion=2",
                          "--divergence-h=3"),
                     STATUS_OK);
    assert_true(near(request.beam.wavelength_m, 1e-10));
    assert_true(near(request.detector.beam_x_m, 0.01) && near(request.detector.beam_y_m, 0.02));
    assert_true(near(request.detector.thickness.range, 450e-6));
    assert_true(near(request.detector.absorption_1_m, 1 / 300e-6));
    assert_true(near(request.detector.rotation_rad[1], M_PI / 2));
    assert_true(near(request.beam.dispersion.range, 0.02));
    assert_true(request.beam.horizontal.has_range && !request.beam.vertical.has_range);
    assert_true(near(request.beam.horizontal.range, 3e-3));
}

static void one_number_stands_for_all_axes(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--detpixels=30,40", "--ncells=3"), STATUS_OK);
    assert_true(request.detector.pixels[0] == 30 && request.detector.pixels[1] == 40);
    assert_true(crystal.cells[0] == 3 && crystal.cells[1] == 3 && crystal.cells[2] == 3);
    assert_int_equal(MAKE("--crystal-size=0.01,0.02,0.03"), STATUS_OK);
    assert_true(near(crystal.size_m[1], 2e-5));
    assert_int_equal(MAKE("--ncells=3,4"), STATUS_USAGE);
    assert_int_equal(MAKE("--ncells=3,4,5,6"), STATUS_USAGE);
    assert_int_equal(MAKE("--ncells=3,4,"), STATUS_USAGE);
}

static void vectors_choose_the_custom_convention(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--spindle=1,0,0"), STATUS_OK);
    assert_int_equal(request.detector.convention, CONVENTION_CUSTOM);
    assert_true(request.beam.has_spindle && request.beam.spindle[0] == 1);
    assert_int_equal(MAKE("--spindle=1,0,0", "--convention=dials"), STATUS_USAGE);
}

static void file_weights_count_when_asked_for(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--source-file=x"), STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_IGNORE);
    assert_int_equal(MAKE("--source-file=x", "--weights=apply"), STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_APPLY);
    assert_int_equal(MAKE("--source-file=x", "--physics=faithful", "--weights=override"),
                     STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_OVERRIDE);
}

static void contradictions_are_named(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--hkl=a", "--mtz=b", "--cell=9,9,9,90,90,90"), STATUS_USAGE);
    assert_string_equal(error.text, "--hkl and --mtz exclude each other");
    assert_int_equal(MAKE("--layers=3"), STATUS_USAGE);
    assert_string_equal(error.text, "--layers needs --thickness");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(values_become_si_units),
        cmocka_unit_test(one_number_stands_for_all_axes),
        cmocka_unit_test(vectors_choose_the_custom_convention),
        cmocka_unit_test(file_weights_count_when_asked_for),
        cmocka_unit_test(contradictions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
