/* A detector that is cut into panels gives the image of the whole detector, bit for bit: every
 * engine and instruction set, narrow spots, and the background.  Also tests places of panels in the
 * laboratory frame, and built-in detectors. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>

#include "engine/cpu/threads.h"
#include "engine_case.h"
#include "engine_run.h"
#include "physics/background/amorphous.h"
#include "physics/background/background.h"
#include "physics/detector/detector.h"

/* A case is a line. */
// clang-format off
static const struct engine_case cases[] = {
    {.name = "square", .cells = {10}, .table = TABLE_BOX},
    {.name = "tilts, layers, oversample", .cells = {10}, .layers = 3, .oversample = 2, .tilt_deg = {5, 10, 15}, .twotheta_deg = 20},
    {.name = "each factor, dispersion", .cells = {7}, .oversample = 2, .each = true, .layers = 2, .wavelengths = 3},
    {.name = "ROI and mask", .cells = {10}, .roi = true, .mask = true},
    {.name = "gauss by choice", .cells = {20}, .shape = SHAPE_GAUSS, .pixels = 300, .pixel_mm = 0.3},
    {.name = "gauss, tilts, ROI, mask", .cells = {15}, .shape = SHAPE_GAUSS, .tilt_deg = {5, 10, 15}, .oversample = 2, .layers = 2, .roi = true, .mask = true},
    {.name = "gauss, mosaic", .cells = {15}, .shape = SHAPE_GAUSS, .mosaic_deg = 0.5, .domains = 5, .wavelengths = 3, .table = TABLE_BOX},
    {.name = "tophat", .cells = {10}, .shape = SHAPE_TOPHAT, .oversample = 2},
    {.name = "point pixels, odd width", .cells = {10}, .pixels = 117, .point_pixel = true},
    {.name = "tricubic", .cells = {2}, .interpolate = true, .table = TABLE_BOX, .pixels = 64},
};
// clang-format on
enum { NCASES = sizeof cases / sizeof *cases };

static const struct layout cuts[] = {{.count = {2, 2}}, {.count = {4, 3}}, {.count = {1, 7}}};
enum { NCUTS = sizeof cuts / sizeof *cuts };

/* Fails unless every pixel of the panels of *x is that of the whole. */
static void same_pixels(const char *name, const struct experiment *x, int64_t width,
                        const float *whole, const float *cut)
{
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t s = 0; s < p->slow_pixels; s++) {
            const float *row = whole + (s + p->grid_slow) * width + p->grid_fast;
            if (memcmp(row, cut + p->first_pixel + s * p->fast_pixels,
                       (size_t)p->fast_pixels * sizeof *row))
                fail_msg("%s: row %lld of panel %zu differs", name, (long long)s, i);
        }
    }
}

static void build(const struct engine_case *c, struct experiment *x, struct recipe *r)
{
    struct error e = {0};
    if (case_build(c, x, r, &e))
        fail_msg("%s", e.text);
}

static void cut(const struct layout *l, struct experiment *x)
{
    struct error e = {0};
    if (panels_cut(l, x, &e))
        fail_msg("%s", e.text);
}

static void check_engine(const struct engine_case *c, const struct engine *engine, const char *isa,
                         enum engine_precision precision)
{
    struct experiment x;
    struct recipe r;
    build(c, &x, &r);
    const struct engine_options one = {.threads = 1, .isa = isa, .precision = precision};
    const struct engine_options three = {.threads = 3, .isa = isa, .precision = precision};
    const int64_t width = x.panels[0].fast_pixels;
    float *whole = run_engine_with(engine, &x, &r, &one);
    for (int i = 0; i < NCUTS; i++) {
        struct experiment y;
        experiment_copy(&y, &x);
        cut(&cuts[i], &y);
        assert_int_equal(y.npanels, cuts[i].count[0] * cuts[i].count[1]);
        assert_int_equal(experiment_pixels(&y), experiment_pixels(&x));
        float *parts = run_engine_with(engine, &y, &r, &three);
        same_pixels(c->name, &y, width, whole, parts);
        mem_free(parts);
        experiment_free(&y);
    }
    mem_free(whole);
    recipe_free(&r);
    experiment_free(&x);
}

static void cuts_change_no_bit(void **state)
{
    (void)state;
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (int i = 0; i < NCASES; i++) {
        check_engine(&cases[i], &engine_reference, NULL, PRECISION_MIXED);
        for (int j = 0; j < 2 && has_isa(isas[j]); j++)
            check_engine(&cases[i], &engine_cuda_host, isas[j], PRECISION_MIXED);
        for (int j = 0; j < 3; j++)
            for (int precision = 0; precision < 2 && has_isa(isas[j]); precision++)
                check_engine(&cases[i], &engine_cpu, isas[j], (enum engine_precision)precision);
    }
}

static void cuts_may_be_cut_again(void **state)
{
    (void)state;
    struct experiment x, y;
    struct recipe r;
    build(&cases[1], &x, &r);
    experiment_copy(&y, &x);
    cut(&cuts[0], &y);
    cut(&cuts[1], &y);
    assert_int_equal(y.npanels, 48);
    float *whole = run_engine(&engine_cpu, &x, &r, NULL, 1);
    float *parts = run_engine(&engine_cpu, &y, &r, NULL, 1);
    same_pixels("twice", &y, x.panels[0].fast_pixels, whole, parts);
    mem_free(whole);
    mem_free(parts);
    recipe_free(&r);
    experiment_free(&y);
    experiment_free(&x);
}

static void background_is_cut_alike(void **state)
{
    (void)state;
    struct experiment x, y;
    struct recipe r;
    struct error e = {0};
    build(&cases[1], &x, &r);
    double stol[WATER_TABLE_ROWS], F[WATER_TABLE_ROWS];
    water_table(water_F, stol, F);
    for (int i = 0; i < WATER_TABLE_ROWS; i++)
        stol[i] *= 1e10;
    struct background_material water = {.molecules = 1e12};
    assert_int_equal(amorphous_make(&water.table, stol, F, WATER_TABLE_ROWS, true, &e), STATUS_OK);
    experiment_copy(&y, &x);
    cut(&cuts[1], &y);
    float *whole = mem_array((size_t)experiment_pixels(&x), sizeof *whole);
    float *parts = mem_array((size_t)experiment_pixels(&x), sizeof *parts);
    background_image(&x, x.beam.sources, x.beam.nsources, &water, 1, 2, whole, NULL);
    background_image(&y, x.beam.sources, x.beam.nsources, &water, 1, 2, parts, NULL);
    assert_true(whole[0] > 0.0f);
    same_pixels("background", &y, x.panels[0].fast_pixels, whole, parts);
    amorphous_free(&water.table);
    mem_free(whole);
    mem_free(parts);
    recipe_free(&r);
    experiment_free(&y);
    experiment_free(&x);
}

static void what_cannot_be_cut_is_refused(void **state)
{
    (void)state;
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    build(&cases[0], &x, &r);
    assert_int_equal(panels_cut(&(struct layout){.count = {129, 1}}, &x, &e), STATUS_INPUT);
    assert_int_equal(panels_cut(&(struct layout){.count = {64, 64}}, &x, &e), STATUS_INPUT);
    assert_int_equal(
        panels_cut(&(struct layout){.count = {2, 1}, .pixels = {64, 64}, .gap = {1, 0}}, &x, &e),
        STATUS_INPUT);
    x.panels[0].curved = true;
    assert_int_equal(panels_cut(&cuts[0], &x, &e), STATUS_INPUT);
    assert_int_equal(x.npanels, 1);
    recipe_free(&r);
    experiment_free(&x);
}

/* The place of a panel in the frame of the beam gives it back in every convention. */
static void places_are_taken_in_the_frame_of_the_beam(void **state)
{
    (void)state;
    for (int convention = 0; convention < CONVENTION_CUSTOM; convention++) {
        struct engine_case c = {.cells = {5}, .pixels = 32};
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        build(&c, &x, &r);
        x.convention = (enum convention)convention;
        memcpy(x.beam.direction, convention_axes(x.convention)->beam, sizeof x.beam.direction);
        struct place places[2] = {{.pixels = {20, 10},
                                   .pixel_m = 1e-4,
                                   .fast = {1, 0, 0},
                                   .slow = {0, 1, 0},
                                   .corner_m = {-0.001, -0.002, 0.1}},
                                  {.pixels = {5, 6},
                                   .pixel_m = 2e-4,
                                   .fast = {0, -1, 0},
                                   .slow = {1, 0, 0},
                                   .corner_m = {0.003, 0.004, 0.2}}};
        const struct detector_request d = {.nplaces = 2, .places = places};
        assert_int_equal(panels_place(&d, &x, &e), STATUS_OK);
        const struct panel *p = x.panels;
        assert_int_equal(p[1].first_pixel, 200);
        assert_memory_equal(p[0].fast, convention_axes(x.convention)->fast, sizeof p[0].fast);
        assert_true(fabs(p[0].beam_fast_m - 0.001) < 1e-15);
        assert_true(fabs(p[0].beam_slow_m - 0.002) < 1e-15);
        assert_true(fabs(p[1].distance_m - 0.2) < 1e-15);
        assert_true(fabs(vec_dot(p[1].normal, x.beam.direction) - 1) < 1e-15);
        assert_true(fabs(p[1].beam_fast_m - 0.004) < 1e-15);
        double frame[9];
        panels_frame(&x, frame);
        assert_true(fabs(mat_determinant(frame) - 1) < 1e-15);
        recipe_free(&r);
        experiment_free(&x);
    }
}

static void places_on_the_sample_are_refused(void **state)
{
    (void)state;
    struct engine_case c = {.cells = {5}, .pixels = 32};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    build(&c, &x, &r);
    struct place place = {.pixels = {2, 2}, .pixel_m = 1e-4, .fast = {1, 0, 0}, .slow = {0, 0, 1}};
    const struct detector_request d = {.nplaces = 1, .places = &place};
    assert_int_equal(panels_place(&d, &x, &e), STATUS_INPUT);
    recipe_free(&r);
    experiment_free(&x);
}

static void presets_have_their_makers_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {
        {487, 619},   {981, 1043},  {1475, 1679}, {2463, 2527}, {487, 619},   {981, 1043},
        {1475, 1679}, {2463, 2527}, {1030, 1065}, {2070, 2167}, {3110, 3269}, {4150, 4371},
        {1028, 512},  {1028, 1062}, {2068, 2162}, {3108, 3262}, {4148, 4362}, {1030, 1064},
        {2068, 2164}, {1030, 514},  {128, 526},   {391, 185},   {192, 176},   {1920, 1920},
        {2880, 2880}, {3840, 3840}};
    size_t count = 0;
    for (const struct preset_detector *d; (d = preset_at(count)); count++) {
        const size_t i = count;
        assert_ptr_equal(preset_named(d->name), d);
        for (int k = 0; k < 2; k++)
            assert_int_equal(layout_pixels(&d->layout, k), sizes[i][k]);
    }
    assert_int_equal(count, sizeof sizes / sizeof *sizes);
    assert_string_equal(preset_named("Eiger2 4M")->name, "eiger2-4m");
    assert_null(preset_named("eiger-4"));
    assert_null(preset_named(""));
    uint8_t *mask;
    layout_mask(&preset_named("pilatus-6m")->layout, &mask);
    int64_t lit = 0;
    for (int64_t i = 0; i < 2463 * 2527; i++)
        lit += mask[i];
    assert_int_equal(lit, 60 * 487 * 195);
    assert_true(mask[486] && !mask[487] && !mask[493] && mask[494]);
    mem_free(mask);
}

/* Modules do not overlap each other or the beam, and fill a disk about it but for gaps. */
static void check_places(const struct preset_detector *d, double filled)
{
    struct place *p;
    double box[64][4], all[2] = {0, 0}, area = 0;
    assert_in_range(d->nplaces, 1, 64);
    preset_places(d, 0.2, &p);
    for (size_t i = 0; i < d->nplaces; i++) {
        assert_true(fabs(p[i].fast[0] * p[i].slow[1] - p[i].fast[1] * p[i].slow[0] - 1) < 1e-12);
        for (int k = 0; k < 2; k++) {
            const double a = p[i].corner_m[k],
                         length = d->pixel_m * (p[i].fast[k] * (double)p[i].pixels[0] +
                                                p[i].slow[k] * (double)p[i].pixels[1]);
            box[i][2 * k] = fmin(a, a + length);
            box[i][2 * k + 1] = fmax(a, a + length);
            all[k] = fmax(all[k], fmax(-box[i][2 * k], box[i][2 * k + 1]));
        }
        area += (box[i][1] - box[i][0]) * (box[i][3] - box[i][2]);
    }
    for (size_t i = 0; i < d->nplaces; i++) {
        assert_false(box[i][0] < 0 && box[i][1] > 0 && box[i][2] < 0 && box[i][3] > 0);
        for (size_t j = 0; j < i; j++)
            if (box[i][0] < box[j][1] && box[j][0] < box[i][1] && box[i][2] < box[j][3] &&
                box[j][2] < box[i][3])
                fail_msg("%s: modules %zu and %zu overlap", d->name, i, j);
    }
    print_message("# %s: %.3g x %.3g m, %.3g of it are pixels\n", d->name, 2 * all[0], 2 * all[1],
                  area / (4 * all[0] * all[1]));
    assert_true(area > filled * 4 * all[0] * all[1]);
    mem_free(p);
}

static void places_of_presets_do_not_overlap(void **state)
{
    (void)state;
    size_t count = 0;
    for (size_t i = 0; preset_at(i); i++)
        if (preset_at(i)->nplaces && ++count)
            check_places(preset_at(i), 0.7);
    assert_int_equal(count, 4);
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_change_no_bit),
        cmocka_unit_test(cuts_may_be_cut_again),
        cmocka_unit_test(background_is_cut_alike),
        cmocka_unit_test(what_cannot_be_cut_is_refused),
        cmocka_unit_test(places_are_taken_in_the_frame_of_the_beam),
        cmocka_unit_test(places_on_the_sample_are_refused),
        cmocka_unit_test(presets_have_their_makers_sizes),
        cmocka_unit_test(places_of_presets_do_not_overlap),
    };
    return unit_run(tests);
}
