/* CrystFEL geometry files: what is read, what is refused, and round trips. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "io/crystfel/geom.h"
#include "scratch.h"

static struct geom geom;
static struct error error;

static enum status read_text(const char *text)
{
    geom_free(&geom);
    error = (struct error){0};
    return geom_read(scratch_text(scratch_path("a.geom"), text), 0, &geom, &error);
}

#define SPAN(name, max_fs, min_ss)                                                        \
    name "/min_fs = 0\n" name "/max_fs = " max_fs "\n" name "/min_ss = " min_ss "\n" name \
         "/max_ss = 4\n"
#define CORNER(name) name "/corner_x = -5\n" name "/corner_y = 2.5\n"
#define BARE(name) SPAN(name, "9", "0") CORNER(name) name "/fs = x\n" name "/ss = y\n"
#define PANEL(name) BARE(name) name "/data = /" name "\n"
#define TOP "clen = 120 mm\nres = 10000\n"

static void panels_stand_where_the_file_says(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("; a comment\nphoton_energy = 9.5 keV ; units\nclen = 0.1 m\ncoffset = 0.002\n"
                  "res=5000\nadu_per_photon = 3\n\n rigid_group_q0 = a,b\n"
                  "rigid_group_collection_all = q0\ndata = /entry/data\na/dim0 = %\n"
                  "a/min_fs = 0\na/max_fs = 9\na/min_ss = 10\na/max_ss = 14\n"
                  "a/corner_x = -10.5\na/corner_y = +20\na/fs = +0.0x -1.0y\na/ss = x\n"
                  "coffset = 0\n" SPAN("b", "9", "0")
                      CORNER("b") "b/ss = y\n"
                                  "b/clen = 250 mm\nb/fs = 0.8 x + 0.6 z\n"),
        STATUS_OK);
    assert_int_equal(geom.npanels, 2);
    const struct geom_panel *a = &geom.panels[0], *b = &geom.panels[1];
    assert_true(a->fast_pixels == 10 && a->slow_pixels == 5 && !a->mask);
    assert_true(fabs(a->corner_m[0] + 2.1e-3) < 1e-15 && fabs(a->corner_m[1] - 4e-3) < 1e-15);
    assert_true(fabs(a->corner_m[2] - 0.102) < 1e-15 && fabs(b->corner_m[2] - 0.25) < 1e-15);
    assert_true(a->fast[0] == 0 && a->fast[1] == -1 && a->slow[0] == 1);
    assert_true(fabs(b->fast[0] - 0.8) < 1e-15 && fabs(b->fast[2] - 0.6) < 1e-15);
    assert_true(fabs(geom.wavelength_m * 1e10 - 12398.4198 / 9500) < 1e-6);
    assert_true(geom.adu_per_photon == 3);
    assert_string_equal(geom.unused, "");
}

static void what_has_no_effect_is_named(void **state)
{
    (void)state;
    assert_int_equal(read_text(TOP "flag_equal = 0\n" PANEL(
                         "a") "a/no_index = 1\na/mask_file = m.h5\n" PANEL("b") "b/no_index = 0\n"),
                     STATUS_OK);
    assert_string_equal(geom.unused, "flag_equal, no_index, mask_file");
}

/* Number of pixels that are not masked. */
static int good(size_t panel)
{
    int count = 0;
    for (int i = 0; i < 50; i++)
        count += !geom.panels[panel].mask || geom.panels[panel].mask[i];
    return count;
}

static void bad_regions_are_masked(void **state)
{
    (void)state;
    assert_int_equal(read_text(TOP PANEL("a")
                                   PANEL("b") "bad1/min_fs = 2\nbad1/max_fs = 3\nbad1/min_ss = 1\n"
                                              "bad1/max_ss = 1\nbad1/panel = b\n"),
                     STATUS_OK);
    assert_true(good(0) == 50 && good(1) == 48 && !geom.panels[0].mask);
    assert_true(!geom.panels[1].mask[12] && !geom.panels[1].mask[13] && geom.panels[1].mask[14]);
    /* in the laboratory frame: x from -5 to 5 in pixels, y from 2.5 */
    assert_int_equal(read_text(TOP PANEL("a") "badx/min_x = -4\nbadx/max_x = -1\nbadx/min_y = 0\n"
                                              "badx/max_y = 3.6\n"),
                     STATUS_OK);
    assert_int_equal(good(0), 50 - 2 * 2);  // corners at x -3, -2 and y 2.5, 3.5
    assert_true(!geom.panels[0].mask[2] && !geom.panels[0].mask[13] && geom.panels[0].mask[4]);
    assert_int_equal(read_text(TOP "mask_edge_pixels = 1\n" PANEL("a")), STATUS_OK);
    assert_int_equal(good(0), 8 * 3);
}

static void what_pixels_can_hold_is_read(void **state)
{
    (void)state;
    assert_int_equal(read_text(TOP "max_adu = 500\nadu_per_photon = 4\n" PANEL("a")
                                   PANEL("b") "b/max_adu = 400.5\n"),
                     STATUS_OK);
    assert_true(geom.max_adu == 400.5 && geom_gain(&geom, 1e-10) == 4);
    assert_int_equal(read_text(TOP "adu_per_eV = 0.001\n" PANEL("a")), STATUS_OK);
    assert_true(isinf(geom.max_adu) && fabs(geom_gain(&geom, 1e-10) - 12.39842) < 1e-6);
    assert_int_equal(read_text(TOP PANEL("a")), STATUS_OK);
    assert_true(geom_gain(&geom, 1e-10) == 1);
}

static void wavelengths_need_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        double m;
    } rows[] = {{"photon_energy = 9500", 1.30509682e-10},
                {"photon_energy = 9.5 keV", 1.30509682e-10},
                {"photon_energy = 0.0095 MeV", 1.30509682e-10},
                {"wavelength = 1.3 A", 1.3e-10},
                {"wavelength = 1.3e-10 m", 1.3e-10},
                {"wavelength = 1.3051", 0},
                {"wavelength = 1,3 A", 0},
                {"wavelength = 0.13 nm", 0},
                {"photon_energy = /LCLS/photon_energy_eV eV", 0},
                {"photon_energy = 9500 J", 0},
                {"photon_energy = 1e400 eV", 0},
                {"photon_energy =", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        (void)snprintf(text, sizeof text, "%s\n" TOP PANEL("a"), rows[i].line);
        assert_int_equal(read_text(text), STATUS_OK);
        if (fabs(geom.wavelength_m - rows[i].m) > 1e-16 ||
            !*geom.wavelength_unread != (rows[i].m > 0))
            fail_msg("%s: %g, %s", rows[i].line, geom.wavelength_m, geom.wavelength_unread);
    }
    assert_int_equal(read_text("photon_energy = /a eV\n" TOP PANEL("a")), STATUS_OK);
    assert_non_null(strstr(geom.wavelength_unread,
                           "a.geom:1: photon_energy = '/a eV' is not a number with a unit"));
}

static void the_detector_can_be_shifted(void **state)
{
    (void)state;
    assert_int_equal(read_text("res = 10000\ndetector_shift_x = 1.5 mm\n" PANEL(
                         "a") "detector_shift_y = -0.002\n"
                              "clen = 120 mm\n"),
                     STATUS_OK);
    assert_true(fabs(geom.panels[0].corner_m[0] - 1e-3) < 1e-15);
    assert_true(fabs(geom.panels[0].corner_m[1] + 1.75e-3) < 1e-15);
    assert_true(geom.panels[0].corner_m[2] == 0.12);
    assert_int_equal(read_text(TOP "detector_shift_x = /motor/x mm\n" PANEL("a")), STATUS_OK);
    assert_string_equal(geom.unused, "detector_shift_x");
}

static void panels_that_hide_others_are_named(void **state)
{
    (void)state;
    assert_int_equal(read_text(TOP PANEL("a") PANEL("b")), STATUS_OK);
    assert_string_equal(geom.hidden, "a and b");
    assert_int_equal(read_text(TOP PANEL("a") "b/min_fs = 10\nb/max_fs = 19\nb/min_ss = 0\n"
                                              "b/max_ss = 4\nb/corner_x = 4.8\nb/corner_y = 2.5\n"
                                              "b/fs = x\nb/ss = y\n"),
                     STATUS_OK);
    assert_string_equal(geom.hidden, "");
    assert_int_equal(read_text(TOP PANEL("a") PANEL("b") "b/adu_per_photon = 2\n"), STATUS_OK);
    assert_true(geom.gains_differ);
}

static void refused(const char *text, const char *why)
{
    if (read_text(text) != STATUS_INPUT || !strstr(error.text, why))
        fail_msg("'%s' instead of '%s'", error.text, why);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    refused("", "no panel found");
    refused("hello\n", "a.geom:1: 'hello' has no '='");
    refused("= 3\n", "has no name");
    refused(TOP "a/ = x\n", "has no name");
    refused(TOP "a/fs = 2x\n", "a.geom:3: fs = '2x'; expected a direction like");
    refused(TOP "a/fs = 1.0\n", "expected a direction like");
    refused(TOP "a/fs = x+\n", "expected a direction like");
    refused(TOP "a/fs = \n", "expected a direction like");
    refused(TOP "a/fs = +1e999x\n", "expected a direction like");
    refused(TOP "a/min_fs = -1\n", "whole number from 0");
    refused(TOP "a/min_fs = 0.5\n", "whole number from 0");
    refused(TOP "a/corner_x = nan\n", "expected a number");
    refused("res = 0\n", "expected a number from 1");
    refused("clen = 1e9 m\n", "expected a value from 1e-6");
    refused("photon_energy = -5 eV\n", "expected a value from 1 to");
    refused(TOP "/fs = x\n", "not a panel name");
    refused("res = 10000\n" PANEL("a"), "panel a has no clen");
    refused("res = 10000\nclen = /LCLS/encoder\n" PANEL("a"), "panel a has no clen");
    refused("clen = 0.1\n" PANEL("a"), "panel a has no res");
    refused(TOP SPAN("a", "70000", "0") CORNER("a"), "65536 pixels");
    refused(TOP SPAN("a", "9", "5") CORNER("a"), "is empty");
    refused(TOP SPAN("a", "9", "0") CORNER("a") "a/fs = x\na/ss = x\n", "right angles");
    refused(TOP "a/min_fs = 0\n", "has no max_fs");
    refused(TOP PANEL("a") "badx/min_x = 0\nbadx/min_fs = 0\n", "expected one pair");
    refused(TOP PANEL("a") "badx/min_fs = 0\nbadx/panel = c\n", "badx: the file has no panel c");
    refused(TOP PANEL("a") "badx/panel = a\n", "badx has no limits");
    refused(TOP PANEL("a") "badx/min_ss = 3\nbadx/max_ss = 2\n", "badx ends before it begins");
    refused(TOP PANEL("a") "badx/min_fs = one\n", "expected a number");
    refused(TOP PANEL("a") "bad1/min_fs = 2\nbad1/max_fs = 3\n", "bad1 needs min_fs");
    refused(TOP PANEL("a") "bad1/min_fs = 2\nbad1/min_fs = 3\n", "bad1/min_fs = '3' contradicts");
    refused(TOP PANEL("a") "a/corner_x = -4\n", "a/corner_x = '-4' contradicts an earlier line");
    refused(TOP PANEL("a") "a/fs = -x\n", "a/fs = '-x' contradicts an earlier line");
    refused(TOP PANEL("a") PANEL("b") "b/corner_y = 9\n", "b/corner_y = '9' contradicts");
    refused("photon_energy = 9 keV\nwavelength = 1 A\n", "wavelength = '1 A' is 1 A, which");
    refused("clen = 0x1 m\nres = 1e4\n" PANEL("a"), "panel a has no clen");
    refused("clen = 10 cm\nres = 1e4\n" PANEL("a"), "panel a has no clen");
    refused(TOP PANEL("a") "coffset = 0.1\n", "'coffset' follows all panels");
    refused(TOP "a/dim = 3\n", "'dim' is not a dimension");
    refused(TOP "data = /d\n" BARE("a") BARE("b"), "panels a and b use the same pixels");
    refused(TOP "max_adu = -1\n", "max_adu = '-1'; expected a number from 0");
    refused(TOP "a/adu_per_photon = 0\n", "expected a number from 1e-09");
    refused(TOP "adu_per_eV = much\n", "expected a number");
}

/* A mask with two strips, a rectangle in the corner and a single pixel, and a region of interest:
 * the same pixels come back, in few rectangles. */
static void what_is_never_computed_is_bad(void **state)
{
    (void)state;
    enum { FAST = 12, SLOW = 8, HALF = FAST * SLOW };
    uint8_t mask[HALF];
    for (int i = 0; i < HALF; i++)
        mask[i] = i % FAST != 4 && i / FAST != 3 && i != 91 && !(i % FAST > 9 && i / FAST < 2);
    struct panel p[2] = {{.fast_pixels = FAST,
                          .slow_pixels = SLOW,
                          .pixel_m = 75e-6,
                          .fast = {1, 0, 0},
                          .slow = {0, 1, 0},
                          .distance_m = 0.1,
                          .origin_m = {0, 0, 0.1},
                          .mask = mask,
                          .roi = {0, FAST - 1, 0, SLOW - 1}}};
    p[1] = p[0];
    p[1].mask = NULL;
    p[1].first_pixel = HALF;
    p[1].roi = (struct roi){2, FAST - 1, 0, 5};
    const struct experiment x = {.npanels = 2,
                                 .panels = p,
                                 .saturation = 1048575.5,
                                 .gain = 2,
                                 .beam = {.wavelength_m = 1e-10}};
    const double frame[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const struct geom_style style = {.data = "/data"};
    FILE *out = fopen(scratch_path("c.geom"), "w");
    assert_int_equal(geom_write(out, &x, &style, frame, &error), STATUS_OK);
    (void)fclose(out);
    geom_free(&geom);
    assert_int_equal(geom_read(scratch_path("c.geom"), 0, &geom, &error), STATUS_OK);
    assert_memory_equal(geom.panels[0].mask, mask, HALF);
    for (int i = 0; i < HALF; i++)
        assert_int_equal(geom.panels[1].mask[i], i % FAST >= 2 && i / FAST <= 5);
    assert_true(geom.max_adu == 1048574 && geom.adu_per_photon == 2);
    char text[8192] = "";
    FILE *in = fopen(scratch_path("c.geom"), "r");
    assert_true(fread(text, 1, sizeof text - 1, in) > 0);
    (void)fclose(in);
    assert_non_null(strstr(text, "bad6/panel = p1\nbad6/min_fs = 0\nbad6/max_fs = 11\n"
                                 "bad6/min_ss = 14\nbad6/max_ss = 15\n"));
    assert_null(strstr(text, "bad7"));
    p[0].roi.slow_max = -1;  // nothing is computed
    out = fopen(scratch_path("c.geom"), "w");
    assert_int_equal(geom_write(out, &x, &style, frame, &error), STATUS_OK);
    (void)fclose(out);
    geom_free(&geom);
    assert_int_equal(geom_read(scratch_path("c.geom"), 0, &geom, &error), STATUS_OK);
    for (int i = 0; i < HALF; i++)
        assert_int_equal(geom.panels[0].mask[i], 0);
}

/* Returns the bandwidth of the file of *x; 0: it has none. */
static double written_bandwidth(const struct experiment *x, const struct geom_style *style,
                                const double frame[9])
{
    char text[8192] = "";
    FILE *file = fopen(scratch_path("w.geom"), "w+");
    assert_int_equal(geom_write(file, x, style, frame, &error), STATUS_OK);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    const char *key = strstr(text, "\nbandwidth = ");
    return key ? strtod(key + strlen("\nbandwidth = "), NULL) : 0.0;
}

/* The bandwidth is the rms width of the sources by their weights, relative to their mean; one
 * wavelength in several directions has none. */
static void check_bandwidth(struct experiment x, const struct geom_style *style,
                            const double frame[9])
{
    struct source sources[3] = {{.wavelength_m = 0.9e-10, .weight = 1.5},
                                {.wavelength_m = 1.1e-10, .weight = 0.5},
                                {.wavelength_m = 5e-10, .weight = 0}};
    x.beam.sources = sources;
    x.beam.nsources = 3;
    assert_true(fabs(written_bandwidth(&x, style, frame) - 0.0866025 / 0.95) < 1e-6);
    for (int i = 0; i < 3; i++)
        sources[i].wavelength_m = 1.1e-10;
    assert_true(written_bandwidth(&x, style, frame) == 0.0);
}

/* What is written is read again, to the digits that are written. */
static void writing_is_the_way_back(void **state)
{
    (void)state;
    struct panel p[2] = {{.fast_pixels = 10,
                          .slow_pixels = 5,
                          .pixel_m = 75e-6,
                          .fast = {0, 0, 1},
                          .slow = {0, -1, 0},
                          .origin_m = {0.1234567, 0.02, -0.03},
                          .distance_m = 0.1234567,
                          .roi = {0, 9, 0, 4}},
                         {.fast_pixels = 10,
                          .slow_pixels = 7,
                          .first_pixel = 50,
                          .pixel_m = 75e-6,
                          .fast = {0, 0.6, 0.8},
                          .slow = {0, -0.8, 0.6},
                          .origin_m = {0.12, 0.01, 0.03},
                          .distance_m = 0.12,
                          .roi = {0, 9, 0, 6}}};
    const struct experiment x = {.npanels = 2, .panels = p, .beam = {.wavelength_m = 1.1e-10}};
    const double frame[9] = {0, 0, 1, 0, -1, 0, 1, 0, 0};
    const struct geom_style style = {.data = "/data"};
    FILE *out = fopen(scratch_path("b.geom"), "w");
    assert_int_equal(geom_write(out, &x, &style, frame, &error), STATUS_OK);
    (void)fclose(out);
    geom_free(&geom);
    assert_int_equal(geom_read(scratch_path("b.geom"), 0, &geom, &error), STATUS_OK);
    assert_int_equal(geom.npanels, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct geom_panel *g = &geom.panels[i];
        assert_true(g->fast_pixels == 10 && g->slow_pixels == p[i].slow_pixels && !g->mask);
        for (int k = 0; k < 3; k++) {
            double corner = 0, fast = 0, slow = 0;
            for (int j = 0; j < 3; j++) {
                corner += frame[3 * k + j] * p[i].origin_m[j];
                fast += frame[3 * k + j] * p[i].fast[j];
                slow += frame[3 * k + j] * p[i].slow[j];
            }
            assert_true(fabs(g->corner_m[k] - corner) < 1e-9);
            assert_true(fabs(g->fast[k] - fast) < 1e-9 && fabs(g->slow[k] - slow) < 1e-9);
        }
    }
    assert_true(fabs(geom.wavelength_m - 1.1e-10) < 1e-17);
    check_bandwidth(x, &style, frame);
    p[1].fast_pixels = 11;
    assert_int_equal(geom_write(stdout, &x, &style, frame, &error), STATUS_INPUT);
    p[1].fast_pixels = 10;
    p[1].curved = true;
    assert_int_equal(geom_write(stdout, &x, &style, frame, &error), STATUS_INPUT);
    geom_free(&geom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_stand_where_the_file_says),
        cmocka_unit_test(what_has_no_effect_is_named),
        cmocka_unit_test(bad_regions_are_masked),
        cmocka_unit_test(what_pixels_can_hold_is_read),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(wavelengths_need_a_unit),
        cmocka_unit_test(the_detector_can_be_shifted),
        cmocka_unit_test(panels_that_hide_others_are_named),
        cmocka_unit_test(what_is_never_computed_is_bad),
        cmocka_unit_test(writing_is_the_way_back),
    };
    return unit_run_within(tests, scratch_enter, scratch_leave);
}
