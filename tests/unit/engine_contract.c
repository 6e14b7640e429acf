/* The promises of engine.h, tested with the CPU engine.  All kernels of one identity class give the
 * same bytes for any number of threads and any division into blocks.  A bad request gives one line
 * of error.  Rows are counted.  Traces report what images contain. */
#include "../hostgpu/host_engine.h"
#include "unit.h"

#include <math.h>

#include "base/hash.h"
#include "engine/cpu/threads.h"
#include "engine/engine.h"
#include "engine_run.h"
#include "engine_table.h"

static void one_class_gives_one_image(void **state)
{
    (void)state;
    static const char *const isas[] = {"avx2", "avx512"};
    int compared = 0;
    for (int n = 0; n < 2 * NCASES; n++) {
        const int i = n / 2;
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        assert_int_equal(case_build(&cases[i], &x, &r, &e), STATUS_OK);
        uint64_t first = 0;
        for (int j = 0; j < 6; j++) {
            if (!has_isa(isas[j / 3]))
                continue;
            const struct engine_options options = {.threads = 1 + j % 3,
                                                   .isa = isas[j / 3],
                                                   .precision =
                                                       n % 2 ? PRECISION_DOUBLE : PRECISION_MIXED};
            float *image = run_engine_with(&engine_cpu, &x, &r, &options);
            const uint64_t hash =
                hash_bytes(HASH_START, image, (size_t)experiment_pixels(&x) * sizeof *image);
            first = first ? first : hash;
            if (hash != first)
                fail_msg("%s: %s with %d threads differs", cases[i].name, isas[j / 3], 1 + j % 3);
            compared++;
            mem_free(image);
        }
        recipe_free(&r);
        experiment_free(&x);
    }
    print_message("# %d images compared\n", compared);
}

/* A pixel does not know its block: a ROI that cuts blocks elsewhere changes nothing. */
static void blocks_may_be_cut_anywhere(void **state)
{
    (void)state;
    const struct engine_case c = {
        .cells = {10}, .table = TABLE_BOX, .pixels = 300, .curved = true, .layers = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    float *whole = run_engine(&engine_cpu, &x, &r, NULL, 1);
    for (int64_t left = 1; left < 40; left += 7) {
        x.panels[0].roi.fast_min = left;
        float *part = run_engine(&engine_cpu, &x, &r, NULL, 1);
        for (int64_t at = 0; at < 300 * 300; at++)
            assert_memory_equal(part + at, at % 300 < left ? &(float){0.0f} : whole + at,
                                sizeof *part);
        mem_free(part);
    }
    mem_free(whole);
    recipe_free(&r);
    experiment_free(&x);
}

static void refused(const struct engine_options *options, enum status expected)
{
    struct experiment x = {0};
    struct plan *plan = NULL;
    struct error e = {0};
    assert_int_equal(engine_cpu.create(&plan, &x, options, &e), expected);
    assert_null(plan);
    assert_true(e.text[0] && !strchr(e.text, '\n'));
}

static void unknown_isa_is_a_usage_error(void **state)
{
    (void)state;
    refused(&(struct engine_options){.threads = 1, .isa = "sse9"}, STATUS_USAGE);
    refused(&(struct engine_options){.threads = 1, .isa = ""}, STATUS_USAGE);
}

/* Runs the cpu engine on a recipe that it must refuse in one line. */
static void refused_recipe(const struct experiment *x, const struct recipe *r)
{
    float pixels[16 * 16];
    struct plan *plan;
    struct error e = {0};
    const struct engine_options options = {.threads = 1};
    assert_int_equal(engine_cpu.create(&plan, x, &options, &e), STATUS_OK);
    assert_int_equal(engine_cpu.run(plan, r, pixels, NULL, &e), STATUS_INPUT);
    assert_true(e.text[0] && !strchr(e.text, '\n'));
    engine_cpu.destroy(&plan);
}

static void bad_recipes_are_refused(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 16};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    r.lattices[0].crystal = 1;
    refused_recipe(&x, &r);
    r.lattices[0].crystal = 0;
    const double cell_m = r.lattices[0].cells_m[0];
    r.lattices[0].cells_m[0] = NAN;
    refused_recipe(&x, &r);
    r.lattices[0].cells_m[0] = 1e-5;  // indices beyond the fixed-point range
    refused_recipe(&x, &r);
    r.lattices[0].cells_m[0] = cell_m;
    x.crystals[0].cells[1] = 2.5;
    refused_recipe(&x, &r);
    recipe_free(&r);
    experiment_free(&x);
}

/* The cpu engine takes the numbers of a faithful set-up and computes them physically. */
static void faithful_numbers_are_computed_physically(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {10}, .pixels = 64, .layers = 3};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    float *physical = run_engine(&engine_cpu, &x, &r, NULL, 1);
    x.physics = PHYSICS_FAITHFUL;
    float *faithful = run_engine(&engine_cpu, &x, &r, NULL, 1);
    assert_memory_equal(physical, faithful, 64 * 64 * sizeof *physical);
    mem_free(faithful);
    mem_free(physical);
    recipe_free(&r);
    experiment_free(&x);
}

static void rows_are_counted(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 16, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    struct plan *plan;
    float pixels[2 * 16 * 16];
    atomic_uint_fast64_t rows = 0;
    assert_int_equal(engine_cpu.create(&plan, &x, &(struct engine_options){.threads = 2}, &e), 0);
    assert_int_equal(engine_cpu.run(plan, &r, pixels, &rows, &e), STATUS_OK);
    assert_int_equal(rows, 32);
    engine_cpu.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

/* On request, over panels of several rows, by any number of threads. */
static void pixels_are_summed_up(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 16, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    uint32_t sum = 0;
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    for (int i = 0; i < 6; i++) {
        const struct engine *engine = i < 3 ? &engine_cpu : &engine_cuda_host;
        const int threads = i % 3;
        struct plan *plan;
        float pixels[2 * 16 * 16];
        const struct engine_options how = {.threads = threads, .sums = threads > 0};
        assert_int_equal(engine->create(&plan, &x, &how, &e), STATUS_OK);
        assert_false(engine->sum(plan, &sum));
        assert_int_equal(engine->run(plan, &r, pixels, NULL, &e), STATUS_OK);
        assert_int_equal(engine->sum(plan, &sum), how.sums);
        if (how.sums)
            assert_int_equal(sum, crc32c(0, pixels, sizeof pixels));
        assert_int_equal(engine->run(plan, &(struct recipe){0}, pixels, NULL, &e), STATUS_OK);
        if (engine->sum(plan, &sum))  // a dark frame
            assert_int_equal(sum, crc32c(0, pixels, sizeof pixels));
        engine->destroy(&plan);
    }
    recipe_free(&r);
    experiment_free(&x);
}

/* Panels of unequal width, of whose rows several are taken at once, also of two panels. */
static void rows_are_taken_across_panels(void **state)
{
    (void)state;
    enum { EDGE = 90, WIDE = 150, PIXELS = EDGE * EDGE + WIDE * EDGE };
    const struct engine_case c = {.pixels = EDGE, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    static float pixels[PIXELS], one[PIXELS];
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    x.panels[1].fast_pixels = WIDE;
    x.panels[1].roi.fast_max = 120;
    x.panels[1].roi.slow_min = 17;
    for (int threads = 1; threads < 10; threads++) {
        struct plan *plan;
        uint32_t sum = 0;
        const struct engine_options how = {.threads = threads, .sums = true};
        assert_int_equal(engine_cpu.create(&plan, &x, &how, &e), STATUS_OK);
        memset(pixels, 0xff, sizeof pixels);
        assert_int_equal(engine_cpu.run(plan, &r, pixels, NULL, &e), STATUS_OK);
        assert_true(engine_cpu.sum(plan, &sum));
        assert_int_equal(sum, crc32c(0, pixels, sizeof pixels));
        if (threads == 1)
            memcpy(one, pixels, sizeof one);
        assert_memory_equal(one, pixels, sizeof one);
        engine_cpu.destroy(&plan);
    }
    assert_true(pixels[EDGE * EDGE + 17 * WIDE + 119] > 0.0f);
    assert_true(pixels[EDGE * EDGE + 16 * WIDE + 119] == 0.0f);
    recipe_free(&r);
    experiment_free(&x);
}

/* Without lattices a frame is dark, or nothing but water. */
static void blank_frames_hold_water_alone(void **state)
{
    (void)state;
    const struct engine_case c = {.pixels = 16, .panels = 2};
    const struct engine *both[] = {&engine_reference, &engine_cpu};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        x.water_m = i & 1 ? 1e-4 : 0.0;
        const struct recipe blank = {.id = r.id, .seed = r.seed};
        r.lattices[0].weight = 0.0;
        float *without = run_engine(both[i / 2], &x, &blank, NULL, 1);
        float *nothing = run_engine(both[i / 2], &x, &r, NULL, 1);
        for (int k = 0; k < 2 * 16 * 16; k++) {
            assert_true((without[k] > 0.0f) == (x.water_m > 0.0));
            assert_true(fabsf(without[k] - nothing[k]) <= 1e-6f * nothing[k]);
        }
        mem_free(nothing);
        mem_free(without);
    }
    struct plan *plan;
    float pixels[2 * 16 * 16];
    atomic_uint_fast64_t rows = 0;
    x.water_m = 0.0;
    assert_int_equal(engine_cpu.create(&plan, &x, &(struct engine_options){.threads = 2}, &e), 0);
    assert_int_equal(engine_cpu.run(plan, &(struct recipe){0}, pixels, &rows, &e), STATUS_OK);
    assert_int_equal(rows, 32);
    engine_cpu.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
}

/* An error about a pixel names frame, panel and pixel, with every engine, also if previous panels
 * are masked. */
static void photons_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const struct {
        const struct engine *engine;
        enum engine_precision precision;
    } engines[] = {{&engine_reference, PRECISION_MIXED},
                   {&engine_cpu, PRECISION_MIXED},
                   {&engine_cpu, PRECISION_DOUBLE},
                   {&engine_cuda_host, PRECISION_MIXED},
                   {&engine_cuda_host, PRECISION_DOUBLE}};
    static const double fluences[] = {1e80, NAN};
    static uint8_t nothing[16 * 16];
    const struct engine_case c = {.pixels = 16, .panels = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    r.id = 12;
    x.panels[0].mask = nothing;
    x.panels[1].roi = (struct roi){3, 7, 5, 9};
    for (size_t i = 0; i < 2 * sizeof engines / sizeof *engines; i++) {
        struct plan *plan;
        float pixels[2 * 16 * 16];
        const struct engine *engine = engines[i / 2].engine;
        const struct engine_options how = {.threads = 2, .precision = engines[i / 2].precision};
        x.beam.fluence_ph_m2 = fluences[i % 2];
        assert_int_equal(engine->create(&plan, &x, &how, &e), STATUS_OK);
        assert_int_equal(engine->run(plan, &r, pixels, NULL, &e), STATUS_INPUT);
        if (!strstr(e.text, "frame 12: pixel 3,5 (fast, slow) of panel 1 has ") ||
            !strstr(e.text, i % 2 ? "nan photons" : "inf photons"))
            fail_msg("%s: %s", engine->name, e.text);
        engine->destroy(&plan);
    }
    x.panels[0].mask = NULL;
    recipe_free(&r);
    experiment_free(&x);
}

/* ---- trace ------------------------------------------------------------------- */

struct traced {
    double hkl[3], photons, polarization, F_latt, F_cell;
    int steps;
};

static void keep(void *context, const char *name, int count, const double *values, const char *unit)
{
    struct traced *t = context;
    (void)unit;
    if (!strcmp(name, "hkl"))
        memcpy(t->hkl, values, (size_t)count * sizeof *values);
    t->steps += !strcmp(name, "hkl");
    if (strstr(name, "F_latt"))
        t->F_latt = fabs(values[0]);
    if (strstr(name, "F_cell"))
        t->F_cell = fabs(values[0]);
    if (!strcmp(name, "photons"))
        t->photons = values[0];
    if (!strcmp(name, "polarization"))
        t->polarization = values[0];
}

static void traces_agree(void **state)
{
    (void)state;
    const struct engine_case c = {
        .cells = {10}, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 3, .wavelengths = 2};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    const struct engine *engines[] = {&engine_reference, &engine_cpu};
    struct traced seen[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct plan *plan;
        const struct pixel_trace trace = {61, 20, keep, &seen[i]};
        assert_int_equal(engines[i]->create(&plan, &x, &(struct engine_options){.threads = 1}, &e),
                         0);
        assert_int_equal(engines[i]->trace(plan, &r, &trace, &e), STATUS_OK);
        engines[i]->destroy(&plan);
        float *image = run_engine(engines[i], &x, &r, NULL, 1);
        assert_true((double)image[20 * 128 + 61] == (double)(float)seen[i].photons);
        mem_free(image);
    }
    assert_int_equal(seen[0].steps, 6);
    assert_int_equal(seen[1].steps, 6);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(seen[0].hkl[i] - seen[1].hkl[i]) < 1e-12);
    assert_true(fabs(seen[0].polarization - seen[1].polarization) < 1e-14);
    assert_true(fabs(seen[1].F_latt / seen[0].F_latt - 1.0) < 1e-6);
    assert_true(fabs(seen[1].F_cell / seen[0].F_cell - 1.0) < 1e-6);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_class_gives_one_image),
        cmocka_unit_test(blocks_may_be_cut_anywhere),
        cmocka_unit_test(faithful_numbers_are_computed_physically),
        cmocka_unit_test(unknown_isa_is_a_usage_error),
        cmocka_unit_test(bad_recipes_are_refused),
        cmocka_unit_test(rows_are_counted),
        cmocka_unit_test(pixels_are_summed_up),
        cmocka_unit_test(rows_are_taken_across_panels),
        cmocka_unit_test(blank_frames_hold_water_alone),
        cmocka_unit_test(photons_that_are_not_finite_are_refused),
        cmocka_unit_test(traces_agree),
    };
    return unit_run(tests);
}
