/* Experiment lists of DIALS: what is read, and what is refused. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "io/dials/expt.h"
#include "scratch.h"

static struct expt expt;
static struct error error;

#define BEAM "{\"direction\": [0, 0, 1], \"wavelength\": 1.5}"
#define PLACE(fast, slow, origin) \
    "\"fast_axis\": " fast ", \"slow_axis\": " slow ", \"origin\": " origin
#define SIZE ", \"pixel_size\": [0.1, 0.1], \"image_size\": [10, 5]"
#define PANEL "{" PLACE("[1, 0, 0]", "[0, -1, 0]", "[-1, 2, -100]") SIZE "}"
#define DETECTOR "{\"panels\": [" PANEL "]}"
#define MODELS "\"beam\": 0, \"detector\": 0, \"goniometer\": 0, \"scan\": 0, \"crystal\": 0"
/* A file of one experiment, with these models and what follows behind them. */
#define LIST(beam, detector, more)                                                      \
    "{\"__id__\": \"ExperimentList\", \"experiment\": [{" MODELS "}], \"beam\": [" beam \
    "], \"detector\": [" detector "]" more "}"
#define NONE ", \"goniometer\": [{\"rotation_axis\": [1, 0, 0]}], \"scan\": [{}]"

static const char *put(const char *text)
{
    error = (struct error){0};
    return scratch_text(scratch_path("a.expt"), text);
}

static enum status read_text(const char *text)
{
    expt_free(&expt);
    return expt_read(put(text), &expt, &error);
}

static void is_near(const double v[3], double x, double y, double z)
{
    const double difference = fabs(v[0] - x) + fabs(v[1] - y) + fabs(v[2] - z);
    if (!(difference < 1e-12 * (1 + fabs(x) + fabs(y) + fabs(z))))
        fail_msg("%.15g %.15g %.15g instead of %.15g %.15g %.15g", v[0], v[1], v[2], x, y, z);
}

/* DIALS' (x, y, z) is our (-z, y, x). */
static void a_panel_stands_in_the_lab_of_mosflm(void **state)
{
    (void)state;
    assert_int_equal(read_text(LIST(BEAM, DETECTOR, NONE)), STATUS_OK);
    const struct geom_panel *p = &expt.panels[0];
    assert_int_equal(expt.npanels, 1);
    assert_true(p->fast_pixels == 10 && p->slow_pixels == 5 && p->pixel_m == 1e-4 && !p->mask);
    is_near(p->fast, 0, 0, 1);
    is_near(p->slow, 0, -1, 0);
    is_near(p->corner_m, 0.1, 0.002, -0.001);
    assert_true(expt.wavelength_m == 1.5e-10 && expt.kahn == 0 && expt.flux_ph_s == 0);
    is_near(expt.direction, 1, 0, 0);
    is_near(expt.polarization, 0, 0, 1);
    assert_true(expt.has_spindle && expt.thickness_m == 0 && expt.saturation == 0);
    is_near(expt.spindle, 0, 0, 1);
}

static void all_of_a_beam_is_read(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(LIST("{\"direction\": [0, 0.6, 0.8], \"wavelength\": 1, \"flux\": 1e12, "
                       "\"polarization_normal\": [0, 4, -3], \"polarization_fraction\": 0.9, "
                       "\"probe\": \"x-ray\"}",
                       DETECTOR,
                       ", \"goniometer\": [{\"rotation_axis\": [0, 2, 0]}], \"scan\": "
                       "[{\"exposure_time\": [0.25]}]")),
        STATUS_OK);
    is_near(expt.direction, 0.8, -0.6, 0);
    is_near(expt.polarization, 0, 0, 1);
    is_near(expt.spindle, 0, 1, 0);
    assert_true(fabs(expt.kahn - 0.8) < 1e-15 && expt.flux_ph_s == 1e12 && expt.exposure_s == 0.25);
}

static void a_probe_is_named(void **state)
{
    (void)state;
    static const char *const names[] = {"x-ray", "electron", "neutron"};
    assert_int_equal(read_text(LIST(BEAM, DETECTOR, NONE)), STATUS_OK);
    assert_true(!expt.names_probe && expt.probe == PROBE_XRAY);
    for (int i = 0; i < 3; i++) {
        char text[4096];
        (void)snprintf(text, sizeof text,
                       LIST("{\"direction\": [0, 0, 1], \"wavelength\": 0.025, \"probe\": \"%s\"}",
                            DETECTOR, NONE),
                       names[i]);
        assert_int_equal(read_text(text), STATUS_OK);
        assert_true(expt.names_probe && (int)expt.probe == i);
    }
}

/* As dxtbx places the same panels. */
static void groups_carry_their_panels(void **state)
{
    (void)state;
    static const char detector[] = "{\"panels\": [{" PLACE("[1, 0, 0]", "[0, 1, 0]", "[0, 2, 0]")
        SIZE "}, {" PLACE("[1, 0, 0]", "[0, 1, 0]", "[10, 2, 0]") SIZE
        ", \"mask\": [[3, 4, 20, 6], [0, 0, 1, 1]], \"trusted_range\": [0, 520], \"gain\": 2, "
        "\"pedestal\": 20}], "
        "\"hierarchy\": {" PLACE(
            "[1, 0, 0]", "[0, -1, 0]",
            "[0, 0, -100]") ", \"children\": ["
                            "{\"panel\": 1}, {" PLACE(
                                "[0.8, 0.6, 0]", "[-0.6, 0.8, 0]",
                                "[5, 6, 7]") ", \"children\": [{\"panel\": 0}]}]}}";
    char text[4096];
    (void)snprintf(text, sizeof text, LIST(BEAM, "%s", NONE), detector);
    assert_int_equal(read_text(text), STATUS_OK);
    assert_int_equal(expt.npanels, 2);
    is_near(expt.panels[0].corner_m, 0.107, -0.0076, 0.0038);
    is_near(expt.panels[0].fast, 0, -0.6, 0.8);
    is_near(expt.panels[0].slow, 0, -0.8, -0.6);
    is_near(expt.panels[1].corner_m, 0.1, -0.002, 0.01);
    int good = 0;
    for (int i = 0; i < 50; i++)
        good += expt.panels[1].mask[i];
    assert_true(good == 50 - 7 - 1 && !expt.panels[1].mask[43] && expt.panels[1].mask[42]);
    assert_true(!expt.panels[0].mask && expt.saturation == 250);
}

static void a_sensor_is_as_thick_as_it_says(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double thickness_m, absorption_1_m;
        const char *material;
    } rows[] = {
        {", \"thickness\": 0.5, \"mu\": 4, \"material\": \"Si\"", 0.5e-3, 4000, "Si"},
        {", \"thickness\": 0.5, \"mu\": 0, \"material\": \"CdTe\"", 0.5e-3, 0, "CdTe"},
        {", \"thickness\": 1e-6, \"mu\": 4", 0, 0, ""},  // said because it must be
        {", \"thickness\": null", 0, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       LIST(BEAM,
                            "{\"panels\": [{" PLACE("[1,0,0]", "[0,1,0]", "[0,0,-9]") SIZE "%s}]}",
                            NONE),
                       rows[i].text);
        assert_int_equal(read_text(text), STATUS_OK);
        assert_true(expt.thickness_m == rows[i].thickness_m);
        assert_string_equal(expt.material, rows[i].material);
        assert_true(expt.absorption_1_m == rows[i].absorption_1_m);
    }
}

#define SCAN(text) LIST(BEAM, DETECTOR, ", \"scan\": [" text "]")

static void scans_are_of_two_kinds(void **state)
{
    (void)state;
    struct expt_scan scan;
    assert_int_equal(expt_read_scan(put(SCAN("{\"image_range\": [5, 24], \"oscillation\": "
                                             "[30, 0.5]}")),
                                    &scan, &error),
                     STATUS_OK);
    assert_true(scan.images == 20 && scan.start_deg == 30 && scan.width_deg == 0.5);
    assert_int_equal(
        expt_read_scan(put(SCAN("{\"image_range\": [1, 3], \"properties\": {\"oscillation\": "
                                "[30, 30.25, 30.5], \"exposure_time\": [1, 1, 1]}}")),
                       &scan, &error),
        STATUS_OK);
    assert_true(scan.images == 3 && scan.start_deg == 30 && scan.width_deg == 0.25);
    assert_int_equal(
        expt_read_scan(put(SCAN("{\"image_range\": [1, 1], \"properties\": {\"oscillation\": "
                                "[30], \"oscillation_width\": [0.125]}}")),
                       &scan, &error),
        STATUS_OK);
    assert_true(scan.images == 1 && scan.start_deg == 30 && scan.width_deg == 0.125);
    assert_int_equal(
        expt_read_scan(put(SCAN("{\"image_range\": [1, 1], \"oscillation\": [0]}")), &scan, &error),
        STATUS_INPUT);
    assert_non_null(strstr(
        error.text, "a.expt: scan[0].oscillation: not a vector; expected a list of 2 numbers"));
    assert_int_equal(expt_read_scan(put(SCAN("{\"image_range\": [3, 1], \"oscillation\": [0, 1]}")),
                                    &scan, &error),
                     STATUS_INPUT);
    assert_non_null(strstr(error.text, "image_range 3 to 1; expected two whole numbers that rise"));
    assert_int_equal(expt_read_scan(put(LIST(BEAM, DETECTOR, "")), &scan, &error), STATUS_INPUT);
    assert_non_null(strstr(error.text, "has no 'scan'"));
}

/* Scans that contradict themselves, their images or their goniometer. */
static void scans_agree_with_all_that_belongs_to_them(void **state)
{
    (void)state;
    const struct {
        const char *scan, *more, *why;
    } rows[] = {
        {"\"image_range\": [1, 3], \"oscillation\": [0, 1], \"exposure_time\": [1, 1, 1, 1]", "",
         "scan[0].exposure_time: has 4 items; expected at most one for each of the 3 images"},
        {"\"image_range\": [1, 3], \"properties\": {\"epochs\": [1, 2, 3, 4]}", "",
         "scan[0].properties.epochs: has 4 items"},
        {"\"image_range\": [1, 3], \"properties\": {\"oscillation\": [0, 1]}", "",
         "oscillation: has 2 items; expected one for each of the 3 images of image_range"},
        {"\"image_range\": [1, 3], \"properties\": {\"oscillation\": [0, 1, 2.5]}", "",
         "oscillation[2]: is 2.5; expected 2 in a scan of evenly spaced images"},
        {"\"image_range\": [1, 3], \"oscillation\": [0, 1]",
         ", \"imageset\": [{\"template\": \"a.nxs\", \"single_file_indices\": [0, 1]}]",
         "imageset[0].single_file_indices: has 2 items, but image_range of the scan has 3 images"},
        {"\"image_range\": [1, 3], \"oscillation\": [0, 1]",
         ", \"imageset\": [{\"images\": [\"a.cbf\"]}]", "imageset[0].images: has 1 items, but"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        struct expt_scan scan;
        (void)snprintf(text, sizeof text, LIST(BEAM, DETECTOR, ", \"scan\": [{%s}]%s"),
                       rows[i].scan, rows[i].more);
        char *crystal = strstr(text, "\"crystal\": 0");
        memcpy(crystal, "\"imageset\":0", 12);
        assert_int_equal(expt_read_scan(put(text), &scan, &error), STATUS_INPUT);
        if (!strstr(error.text, rows[i].why))
            fail_msg("'%s' instead of '%s'", error.text, rows[i].why);
    }
    const char *const widths[] = {"0.5", "0"};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       SCAN("{\"image_range\": [5, 24], \"oscillation\": [30, %s]}"), widths[i]);
        memcpy(strstr(text, "\"goniometer\": 0"), "\"nothing\":    0", 15);
        assert_int_equal(read_text(text), i ? STATUS_OK : STATUS_INPUT);
        assert_true(i || strstr(error.text, "scan[0]: rotates by 0.5 deg per image, but the "
                                            "experiment has no goniometer"));
    }
}

#define CRYSTAL                                                                     \
    ", \"crystal\": [{\"real_space_a\": [50, 1, 2], \"real_space_b\": [3, 60, 4], " \
    "\"real_space_c\": [5, 6, 70]}]"
#define AXES(scan)                                                                  \
    ", \"goniometer\": [{\"axes\": [[1, 0, 0], [0, 1, 0], [0.6, 0, 0.8], [0, 0.6, " \
    "0.8]], \"angles\": [10, 20, 30, 40], \"scan_axis\": " scan "}]"

/* The numbers are those of dxtbx, setting x fixed rotation x A, in our lab. */
static void crystals_lie_as_the_goniometer_holds_them(void **state)
{
    (void)state;
    double a[9];
    assert_int_equal(expt_read_crystal(put(LIST(BEAM, DETECTOR, CRYSTAL AXES("2"))), a, &error),
                     STATUS_OK);
    is_near(a, 0.014724286592416586, 0.007943585530252964, 0.011210298233933016);
    is_near(a + 3, -0.003176236329782879, 0.014558792427372434, -0.007838788276818973);
    is_near(a + 6, -0.010211623577488395, 0.00079083175261224, 0.010187995458197586);
    assert_int_equal(read_text(LIST(BEAM, DETECTOR, AXES("2") ", \"scan\": [{}]")), STATUS_OK);
    is_near(expt.spindle, -0.5012172601311116, 0.39837698649185127, 0.7681647185209257);
    assert_int_equal(read_text(LIST(BEAM, DETECTOR, AXES("0") ", \"scan\": [{}]")), STATUS_OK);
    is_near(expt.spindle, 0.511890563510377, 0.8075443112188867, 0.29298504468153763);
    assert_int_equal(
        expt_read_crystal(put(LIST(BEAM, DETECTOR,
                                   CRYSTAL ", \"goniometer\": [{\"rotation_axis\": [1, 0, 0], "
                                           "\"setting_rotation\": [0,-1,0, 1,0,0, 0,0,1]}]")),
                          a, &error),
        STATUS_OK);
    /* a* of the cell without a goniometer, then turned about DIALS' z by 90 degrees */
    double plain[9];
    assert_int_equal(
        expt_read_crystal(
            put(LIST(BEAM, DETECTOR, CRYSTAL ", \"goniometer\": [{\"rotation_axis\": [1, 0, 0]}]")),
            plain, &error),
        STATUS_OK);
    is_near(a, plain[0], plain[2], -plain[1]);
}

/* --- refusals ----------------------------------------------------------------------- */

static void refused(const char *text, const char *why)
{
    if (read_text(text) != STATUS_INPUT || !strstr(error.text, why) || strchr(error.text, '\n'))
        fail_msg("'%s' instead of '%s'", error.text, why);
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    refused("", "a.expt:1: not JSON");
    refused("{\"a\": NaN}", "a.expt:1: not JSON: invalid token near 'NaN'");
    refused("{\"a\": 1e999}", "a.expt:1: not JSON: real number overflow");
    refused("{\n\"experiment\": [", "a.expt:2: not JSON");
    refused("[]", "a.expt: not an object");
    refused("{}", "'__id__' to be 'ExperimentList'");
    refused("{\"__id__\": 3}", "'__id__' to be 'ExperimentList'");
    refused("{\"__id__\": \"ExperimentList\"}", "a.expt: has no 'experiment'");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": {}}", "experiment: not a list");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": []}", "expected at least 1");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": [{}]}",
            "experiment[0]: has no 'beam'");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": [{\"beam\": 0}]}", "has no 'beam'");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": [{\"beam\": \"b.json\"}], \"beam\": "
            "[{}]}",
            "experiment[0].beam: not a number; expected a value from 0 to 0");
    refused("{\"__id__\": \"ExperimentList\", \"experiment\": [{\"beam\": 1}], \"beam\": [{}]}",
            "experiment[0].beam: is 1; expected a value from 0 to 0");
    refused(LIST("3", DETECTOR, NONE), "beam[0]: not an object");
    char deep[20000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    refused(deep, "maximum parsing depth");
}

static void bad_beams_are_refused(void **state)
{
    (void)state;
    refused(LIST("{}", DETECTOR, NONE), "beam[0]: has no 'wavelength'");
    refused(LIST("{\"wavelength\": 0}", DETECTOR, NONE),
            "beam[0].wavelength: is 0; expected a value from");
    refused(LIST("{\"wavelength\": \"1\"}", DETECTOR, NONE),
            "not a number; expected a value from 0.0001");
    refused(LIST("{\"wavelength\": 1, \"direction\": [0, 0]}", DETECTOR, NONE),
            "beam[0].direction: not a vector; expected a list of 3 numbers");
    refused(
        LIST("{\"wavelength\": 1, \"direction\": [0, 0, 0]}", DETECTOR, NONE),
        "beam[0].direction: 0 0 0 is not a direction; expected a finite vector that is not zero");
    refused(LIST("{\"wavelength\": 1, \"direction\": [0, 0, null]}", DETECTOR, NONE),
            "beam[0].direction[2]: not a number; expected a value");
    refused(LIST("{\"wavelength\": 1, \"direction\": [0, 0, 1], \"polarization_normal\": [0, 0, "
                 "1]}",
                 DETECTOR, NONE),
            "is along the beam; expected a vector across it");
    refused(LIST("{\"wavelength\": 1, \"probe\": \"muon\"}", DETECTOR, NONE),
            "beam[0].probe: unknown probe; expected 'x-ray', 'electron' or 'neutron'");
}

static void bad_detectors_are_refused(void **state)
{
    (void)state;
    refused(LIST(BEAM, "{}", NONE), "detector[0]: has no 'panels'");
    refused(LIST(BEAM, "{\"panels\": []}", NONE), "detector[0].panels: has 0 items");
    refused(LIST(BEAM, "{\"panels\": [7]}", NONE), "detector[0].panels[0]: not an object");
    refused(LIST(BEAM, "{\"panels\": [{" PLACE("[1,0,0]", "[1,1,0]", "[0,0,0]") "}]}", NONE),
            "are not at right angles");
    refused(LIST(BEAM,
                 "{\"panels\": [{" PLACE("[1,0,0]", "[0,1,0]",
                                         "[0,0,0]") ", \"pixel_size\": [0.1, 0.2], \"image_size\": "
                                                    "[1, 1]}]}",
                 NONE),
            "pixel_size: 0.1 x 0.2 mm; expected square pixels");
    refused(LIST(BEAM,
                 "{\"panels\": [{" PLACE("[1,0,0]", "[0,1,0]",
                                         "[0,0,0]") ", \"pixel_size\": [0.1, 0.1], \"image_size\": "
                                                    "[1, 1.5]}]}",
                 NONE),
            "image_size[1]: is 1.5; expected a whole number");
    refused(LIST(BEAM, "{\"panels\": [" PANEL "], \"hierarchy\": {}}", NONE),
            "detector[0].hierarchy: has no 'fast_axis'");
#define ROOT PLACE("[1,0,0]", "[0,1,0]", "[0,0,0]") ", \"children\": "
    refused(LIST(BEAM, "{\"panels\": [" PANEL "], \"hierarchy\": {" ROOT "[]}}", NONE),
            "detector[0].panels[0]: is in no group");
    refused(LIST(BEAM,
                 "{\"panels\": [" PANEL "], \"hierarchy\": {" ROOT
                 "[{\"panel\": 0}, {\"panel\": 0}]}}",
                 NONE),
            "detector[0].hierarchy.children[1].panel: panel 0 occurs twice");
    refused(
        LIST(BEAM, "{\"panels\": [" PANEL "], \"hierarchy\": {" ROOT "[{\"panel\": 1}]}}", NONE),
        "children[0].panel: is 1; expected a value from 0 to 0");
    refused(LIST(BEAM,
                 "{\"panels\": [" PANEL ", {" PLACE("[1,0,0]", "[0,1,0]", "[0,0,0]") SIZE
                 ", \"thickness\": 0.3}]}",
                 NONE),
            "panels[1]: thickness 0.3 mm and mu 0/mm; expected those of panel 0");
    refused(LIST(BEAM,
                 "{\"panels\": [{" PLACE("[1,0,0]", "[0,1,0]", "[0,0,0]") SIZE
                 ", \"mask\": [[1, 2, 3]]}]}",
                 NONE),
            "panels[0].mask[0]: not a vector; expected a list of 4 numbers");
}

static void bad_goniometers_and_crystals_are_refused(void **state)
{
    (void)state;
    double a[9];
    refused(LIST(BEAM, DETECTOR, ""), "a.expt: has no 'scan'");
    refused(LIST(BEAM, DETECTOR, ", \"scan\": [{}], \"goniometer\": [{}]"),
            "goniometer[0]: has no 'rotation_axis'");
    refused(LIST(BEAM, DETECTOR,
                 ", \"scan\": [{}], \"goniometer\": [{\"rotation_axis\": [1, 0, 0], "
                 "\"setting_rotation\": [1, 0, 0, 0, 1, 0, 0, 0, -1]}]"),
            "goniometer[0].setting_rotation: not a rotation;");
    refused(LIST(BEAM, DETECTOR, ", \"scan\": [{}]" AXES("4")),
            "scan_axis: is 4; expected a value from");
    assert_int_equal(
        expt_read_crystal(put(LIST(BEAM, DETECTOR,
                                   ", \"crystal\": [{\"real_space_a\": [1, 0, 0], "
                                   "\"real_space_b\": [0, 1, 0], \"real_space_c\": [1, 1, 0]}], "
                                   "\"goniometer\": [{\"rotation_axis\": [1, 0, 0]}]")),
                          a, &error),
        STATUS_INPUT);
    assert_non_null(strstr(error.text, "crystal[0]: real_space_a, _b and _c are in one plane"));
    expt_free(&expt);
    assert_int_equal(expt_read(scratch_path("none.expt"), &expt, &error), STATUS_FAILED);
    assert_true(expt_is_named("a/b.expt") && !expt_is_named(".expt") && !expt_is_named("a.mat"));
    expt_free(&expt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_panel_stands_in_the_lab_of_mosflm),
        cmocka_unit_test(all_of_a_beam_is_read),
        cmocka_unit_test(a_probe_is_named),
        cmocka_unit_test(groups_carry_their_panels),
        cmocka_unit_test(a_sensor_is_as_thick_as_it_says),
        cmocka_unit_test(scans_are_of_two_kinds),
        cmocka_unit_test(scans_agree_with_all_that_belongs_to_them),
        cmocka_unit_test(crystals_lie_as_the_goniometer_holds_them),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(bad_beams_are_refused),
        cmocka_unit_test(bad_detectors_are_refused),
        cmocka_unit_test(bad_goniometers_and_crystals_are_refused),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
