/* Options of bragg-geometry, and the request in SI units that is made from them. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#include "stages/geometry/geometry.h"

enum { WORDS_MAX = 8, CRYSTALS_MAX = 4 };

static struct request request;
static struct crystal_request crystals[CRYSTALS_MAX];
static size_t ncrystals;
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
    memset(&error, 0, sizeof error);
    const enum status s = opt_parse(&program, geometry_table, &o, NULL, NULL, argc, argv, operands,
                                    &noperands, &error);
    if (s || geometry_request(&o, &request, &error))
        return error.status;
    struct crystal_options *list;
    if (geometry_crystals(&o, &list, &ncrystals, &error) == STATUS_OK)
        for (size_t i = 0; i < ncrystals && i < CRYSTALS_MAX && !error.status; i++)
            (void)geometry_crystal(&list[i].options, &crystals[i], &error);
    mem_free(list);
    return error.status;
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
    assert_true(near(request.beam.wavelength_m, 1e-10) && request.beam.kahn == 0.98);
    assert_true(near(request.beam.fluence_ph_m2, 1e25) && near(request.beam.size_m, 3e-7));
    assert_true(crystals[0].cells[0] == 20 && crystals[0].cells[2] == 20 && !crystals[0].has_cell);
}

static void nanobragg_is_unpolarized(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--physics=faithful"), STATUS_OK);
    assert_true(request.beam.kahn == 0);
    assert_int_equal(MAKE("--physics=faithful", "--polarization=0.9"), STATUS_OK);
    assert_true(request.beam.kahn == 0.9);
    assert_int_equal(MAKE("--polarization=0"), STATUS_OK);
    assert_true(request.beam.kahn == 0);
}

static void values_become_si_units(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--energy=12398.42", "--beam-center=10,20", "--thickness=450",
                          "--absorption=300", "--rotate=0,90,180", "--dispersion=2",
                          "--divergence-h=3"),
                     STATUS_OK);
    assert_true(near(request.beam.wavelength_m, 1e-10));
    assert_true(near(request.detector.beam_m[0], 0.01) && near(request.detector.beam_m[1], 0.02));
    assert_true(near(request.detector.thickness.range, 450e-6));
    assert_true(near(request.detector.absorption_1_m, 1 / 300e-6));
    assert_true(near(request.detector.rotation_rad[1], M_PI / 2));
    assert_true(near(request.beam.dispersion.range, 0.02));
    assert_true(isnan(request.beam.vertical.range));
    assert_true(near(request.beam.horizontal.range, 3e-3));
}

static void one_number_stands_for_all_axes(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--detpixels=30,40", "--ncells=3"), STATUS_OK);
    assert_true(request.detector.pixels[0] == 30 && request.detector.pixels[1] == 40);
    assert_true(crystals[0].cells[0] == 3 && crystals[0].cells[1] == 3 &&
                crystals[0].cells[2] == 3);
    assert_int_equal(MAKE("--crystal-size=0.01,0.02,0.03"), STATUS_OK);
    assert_true(near(crystals[0].size_m[1], 2e-5));
    assert_int_equal(MAKE("--ncells=3,4"), STATUS_USAGE);
    assert_int_equal(MAKE("--ncells=3,4,5,6"), STATUS_USAGE);
    assert_int_equal(MAKE("--ncells=3,4,"), STATUS_USAGE);
}

static void vectors_choose_the_custom_convention(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--spindle=1,0,0"), STATUS_OK);
    assert_int_equal(request.detector.convention, CONVENTION_CUSTOM);
    assert_true(request.beam.spindle[0] == 1);
    assert_int_equal(MAKE("--spindle=1,0,0", "--convention=dials"), STATUS_USAGE);
}

static void file_weights_count_but_in_faithful_mode(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--source-file=x"), STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_APPLY);
    assert_int_equal(MAKE("--source-file=x", "--weights=ignore"), STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_IGNORE);
    assert_int_equal(MAKE("--source-file=x", "--physics=faithful"), STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_IGNORE);
    assert_int_equal(MAKE("--source-file=x", "--physics=faithful", "--weights=override"),
                     STATUS_OK);
    assert_int_equal(request.beam.weights, WEIGHTS_OVERRIDE);
}

static void contradictions_are_named(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--hkl=a", "--mtz=b", "--cell=9,9,9,90,90,90"), STATUS_USAGE);
    assert_string_equal(error.text, "--hkl and --mtz cannot be used together; remove one of them");
    assert_int_equal(MAKE("--layers=3"), STATUS_USAGE);
    assert_string_equal(error.text, "--layers needs --thickness or --detector or --expt");
}

/* What a crystal says of itself comes before what is said of all. */
static void crystals_share_what_they_do_not_say(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--ncells=7", "--default-F=5",
                          "--crystal=name=one cell=50,60,70,90,90,90",
                          "--crystal=  cell=30,30,30,90,90,90  crystal-size=0.01 ",
                          "--crystal=name=three mtz=x ncells=3 shape=gauss", "--shape=round"),
                     STATUS_OK);
    assert_int_equal(ncrystals, 3);
    assert_string_equal(crystals[0].name, "one");
    assert_true(crystals[0].cells[0] == 7 && crystals[0].cell_A[2] == 70);
    assert_true(crystals[0].table.default_F == 5 && crystals[0].shape == SHAPE_ROUND);
    assert_string_equal(crystals[1].name, "");
    assert_true(near(crystals[1].size_m[0], 1e-5) && crystals[1].cell_A[2] == 30);
    assert_true(crystals[1].blocks && crystals[1].cells[2] == 7);
    assert_true(!crystals[2].has_cell && crystals[2].cells[1] == 3);
    assert_int_equal(crystals[2].shape, SHAPE_GAUSS);
    assert_int_equal(
        MAKE("--cell=9,9,9,90,90,90", "--hkl=a", "--crystal=mtz=b", "--crystal=matrix=c"),
        STATUS_OK);
    assert_true(crystals[0].has_cell && crystals[1].has_matrix && !crystals[1].has_cell);
    /* what excludes and what needs is judged for each of them */
    assert_int_equal(MAKE("--column=F", "--crystal=mtz=b"), STATUS_OK);
    assert_int_equal(MAKE("--hkl=a", "--crystal=cell=9,9,9,90,90,90"), STATUS_OK);
    assert_int_equal(MAKE("--cell=9,9,9,90,90,90", "--crystal=hkl=a"), STATUS_OK);
    assert_int_equal(MAKE("--crystal=mtz=b", "--crystal=column=F"), STATUS_USAGE);
    assert_string_equal(error.text, "--column needs --mtz");
    assert_int_equal(MAKE("--hkl=a", "--crystal=mtz=b model=c"), STATUS_USAGE);
    assert_string_equal(error.text,
                        "--model and --hkl and --mtz cannot be used together; remove one of them");
}

static void bad_crystals_are_named(void **state)
{
    (void)state;
    assert_int_equal(MAKE("--crystal=ncells=3", "--crystal=pixel=1"), STATUS_USAGE);
    assert_string_equal(
        error.text, "--crystal='pixel=1': unknown option '--pixel=1'; --help lists the options");
    assert_int_equal(MAKE("--crystal=ncells"), STATUS_USAGE);
    assert_string_equal(error.text, "--crystal='ncells': got 'ncells'; expected KEY=VALUE");
    assert_int_equal(MAKE("--crystal=ncells=3 ncells=4"), STATUS_USAGE);
    assert_string_equal(
        error.text,
        "--crystal='ncells=3 ncells=4': --ncells is given more than once; give it once");
    assert_int_equal(MAKE("--crystal=crystal=x"), STATUS_USAGE);
    assert_int_equal(MAKE("--crystal=cell=9,9,9,90,90,90"), STATUS_USAGE);
    assert_string_equal(error.text,
                        "--cell needs structure factors. Add --model, --mtz, --hkl or --default-F, "
                        "or --wilson=20 for random ones");
    assert_int_equal(MAKE("--name=two words"), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_documented_ones),
        cmocka_unit_test(nanobragg_is_unpolarized),
        cmocka_unit_test(values_become_si_units),
        cmocka_unit_test(one_number_stands_for_all_axes),
        cmocka_unit_test(vectors_choose_the_custom_convention),
        cmocka_unit_test(file_weights_count_but_in_faithful_mode),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(crystals_share_what_they_do_not_say),
        cmocka_unit_test(bad_crystals_are_named),
    };
    return unit_run(tests);
}
