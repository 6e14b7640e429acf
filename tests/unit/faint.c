/* Terms that are too faint to be seen.  A pixel never loses more than the photons of --faint, for
 * every shape and path.  Some images refuse the option.  The bytes depend on nothing else. */
#include "unit.h"

#include <math.h>

#include "engine/cpu/threads.h"
#include "engine_case.h"
#include "engine_run.h"

static const char *const isas[] = {"baseline", "avx2", "avx512"};

/* Each case has pixels that are small against the spots, in which the bound is almost reached, or
 * something else that changes a bound. */
// clang-format off
static const struct engine_case cases[] = {
    {.name = "square", .cells = {20}, .table = TABLE_BOX, .pixel_mm = 0.05, .mosaic_deg = 0.3, .domains = 9},
    {.name = "square, one step", .cells = {5}, .table = TABLE_BOX, .pixel_mm = 0.1},
    {.name = "square, flat table", .cells = {10}, .mosaic_deg = 0.5, .domains = 70, .oversample = 2, .pixel_mm = 0.05},
    {.name = "square, fine numbers", .cells = {50}, .table = TABLE_BOX, .pixel_mm = 0.05, .phi_steps = 3},
    {.name = "square, wide tiles", .cells = {3}, .table = TABLE_BOX, .pixel_mm = 0.6},
    {.name = "square, layers and tilts", .cells = {8}, .table = TABLE_TINY, .layers = 3, .tilt_deg = {5, 10, 15}, .twotheta_deg = 30, .pixel_mm = 0.05},
    {.name = "square, sources", .cells = {12}, .table = TABLE_BOX, .divergence = 2, .wavelengths = 4, .weights = true, .pixel_mm = 0.1},
    {.name = "square, smear", .cells = {10}, .table = TABLE_BOX, .pixels = 64, .pixel_mm = 0.1, .oversample = 3, .layers = 1, .smears = true, .mosaic_deg = 0.3, .domains = 9},
    {.name = "square, factors of each", .cells = {7, 9, 11}, .table = TABLE_BOX, .oversample = 2, .each = true, .layers = 2, .dmin_A = 3, .pixel_mm = 0.05},
    {.name = "lattices, panels, water, mask", .cells = {10}, .table = TABLE_BOX, .lattices = 3, .panels = 2, .mosaic_deg = 0.3, .domains = 4, .water_um = 0.1, .mask = true, .pixel_mm = 0.05},
    {.name = "round", .cells = {20}, .shape = SHAPE_ROUND, .table = TABLE_BOX, .pixel_mm = 0.05, .mosaic_deg = 0.3, .domains = 9},
    {.name = "round, one step", .cells = {5}, .shape = SHAPE_ROUND, .fudge = 1.3, .table = TABLE_BOX, .pixel_mm = 0.1},
    {.name = "gauss", .cells = {5}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .mosaic_deg = 0.3, .domains = 9, .pixel_mm = 0.05},
    {.name = "gauss, one step", .cells = {5}, .shape = SHAPE_GAUSS, .fudge = 0.7, .table = TABLE_BOX, .pixel_mm = 0.1},
    {.name = "gauss, point pixels", .cells = {5}, .shape = SHAPE_GAUSS, .pixel_mm = 0.1, .point_pixel = true},
    {.name = "gauss, spots", .cells = {20}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .oversample = 3, .mosaic_deg = 0.5, .domains = 5, .pixel_mm = 0.2},
    {.name = "gauss, narrow spots", .cells = {60}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .pixel_mm = 0.2, .oversample = 3},
    {.name = "gauss, smear", .cells = {20}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .pixels = 64, .pixel_mm = 0.1, .oversample = 3, .layers = 1, .smears = true, .mosaic_deg = 0.3, .domains = 9},
    {.name = "tophat", .cells = {5}, .shape = SHAPE_TOPHAT, .table = TABLE_BOX, .mosaic_deg = 0.3, .domains = 9, .pixel_mm = 0.1},
};
enum { NCASES = sizeof cases / sizeof *cases };
// clang-format on

static float *run_faint(const struct experiment *x, const struct recipe *r, double faint,
                        const char *isa, int threads)
{
    const struct engine_options options = {.threads = threads, .isa = isa, .faint = faint};
    return run_engine_with(&engine_cpu, x, r, &options);
}

/* What a pixel loses and gains at most, beyond rounding, and how many pixels differ. */
struct losses {
    double most, gain;
    size_t differ, lit;
};

static struct losses find_losses(const float *all, const float *some, size_t count)
{
    struct losses l = {0};
    for (size_t i = 0; i < count; i++) {
        const double lost = (double)all[i] - (double)some[i], rounding = 2e-6 * (double)all[i];
        l.most = fmax(l.most, lost - rounding);
        l.gain = fmax(l.gain, -lost - rounding);
        l.differ += fabs(lost) > rounding;
        l.lit += all[i] > 0.0f;
    }
    return l;
}

/* Checks a case at several bounds, from 1e-6 of the brightest pixel to all of it.  Returns the
 * largest part of a bound that a pixel lost. */
static double check(const struct engine_case *c, size_t *differ)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    double worst = 0.0, brightest = 0.0;
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    const size_t count = (size_t)experiment_pixels(&x);
    float *all = run_faint(&x, &r, 0.0, NULL, 2);
    for (size_t i = 0; i < count; i++)
        brightest = fmax(brightest, (double)all[i]);
    for (double part = 1e-6; part < 2.0; part *= 10.0) {
        const double faint = part * brightest;
        float *some = run_faint(&x, &r, faint, NULL, 2);
        const struct losses l = find_losses(all, some, count);
        worst = fmax(worst, l.most / faint);
        *differ += l.differ;
        if (!(l.most <= faint) || !(l.gain <= (c->smears ? faint : 0.0)))
            fail_msg("%s: a pixel loses %g and gains %g photons of %g", c->name, l.most, l.gain,
                     faint);
        mem_free(some);
    }
    mem_free(all);
    recipe_free(&r);
    experiment_free(&x);
    return worst;
}

static void no_pixel_loses_more(void **state)
{
    (void)state;
    double worst[CRYSTAL_SHAPES_COUNT] = {0};
    for (int i = 0; i < NCASES; i++) {
        size_t differ = 0;
        const double loss = check(&cases[i], &differ);
        print_message("# %-29s loses %.3f of the bound, %zu pixels differ\n", cases[i].name, loss,
                      differ);
        worst[cases[i].shape] = fmax(worst[cases[i].shape], loss);
    }
    /* A bound that is not used is no test of it. */
    assert_true(worst[SHAPE_SQUARE] > 0.35 && worst[SHAPE_ROUND] > 0.35 &&
                worst[SHAPE_GAUSS] > 0.35);
}

/* Returns a random number below n. */
static int pick(uint32_t *at, int n)
{
    *at = *at * 1664525u + 1013904223u;
    return (int)(*at >> 16) % n;
}

/* Random detectors, beams and crystals. */
static void no_random_pixel_loses_more(void **state)
{
    (void)state;
    uint32_t at = 1;
    size_t differ = 0;
    double worst = 0.0;
    for (int i = 0; i < 60; i++) {
        struct engine_case c = {.name = "random", .pixels = 33 + pick(&at, 60)};
        c.pixel_mm = 0.03 * pow(2.0, pick(&at, 7));
        for (int k = 0; k < 3; k++)
            c.cells[k] = 1 + pick(&at, 25);
        c.shape = (enum crystal_shape)pick(&at, 3);
        c.table = pick(&at, 2) ? TABLE_BOX : TABLE_NONE;
        c.oversample = 1 + pick(&at, 2);
        c.layers = pick(&at, 3);
        c.twotheta_deg = pick(&at, 50);
        c.tilt_deg[i % 3] = pick(&at, 20);
        c.wavelengths = pick(&at, 3);
        c.mosaic_deg = 0.2 * pick(&at, 4);
        c.domains = 1 + pick(&at, 20);
        c.lattices = 1 + pick(&at, 2);
        worst = fmax(worst, check(&c, &differ));
    }
    print_message("# at most %.3f of the bound, %zu pixels differ\n", worst, differ);
}

/* Threads, instruction sets of a class and a region of interest change no byte of a pixel. */
static void bytes_depend_on_nothing_else(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++) {
        struct experiment x;
        struct recipe r;
        struct error e = {0};
        assert_int_equal(case_build(&cases[i], &x, &r, &e), STATUS_OK);
        const size_t count = (size_t)experiment_pixels(&x);
        float *one = run_faint(&x, &r, 1e-3, NULL, 1), *three = run_faint(&x, &r, 1e-3, NULL, 3);
        assert_memory_equal(one, three, count * sizeof *one);
        mem_free(three);
        if (has_isa(isas[1]) && has_isa(isas[2])) {
            float *a = run_faint(&x, &r, 1e-3, isas[1], 2),
                  *b = run_faint(&x, &r, 1e-3, isas[2], 2);
            assert_memory_equal(a, b, count * sizeof *a);
            mem_free(a);
            mem_free(b);
        }
        /* The choice of spots depends on the region, and bands of the smear do, too. */
        const bool whole = cases[i].smears || cases[i].oversample == 3;
        const struct roi roi = {7, 41, 11, 30};
        for (size_t k = 0; k < x.npanels; k++)
            x.panels[k].roi = roi;
        float *part = run_faint(&x, &r, 1e-3, NULL, 2);
        const int64_t width = x.panels[0].fast_pixels;
        for (int64_t s = roi.slow_min; s <= roi.slow_max && !whole; s++)
            assert_memory_equal(part + s * width + roi.fast_min, one + s * width + roi.fast_min,
                                (size_t)(roi.fast_max - roi.fast_min + 1) * sizeof *one);
        mem_free(part);
        mem_free(one);
        recipe_free(&r);
        experiment_free(&x);
    }
}

static void refuses(const struct engine_case *c, const struct engine_options *options,
                    const char *text)
{
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    struct plan *plan;
    assert_int_equal(case_build(c, &x, &r, &e), STATUS_OK);
    assert_int_equal(engine_cpu.create(&plan, &x, options, &e), STATUS_INPUT);
    assert_null(plan);
    if (!strstr(e.text, text))
        fail_msg("'%s' has no '%s'", e.text, text);
    recipe_free(&r);
    experiment_free(&x);
}

static void what_it_refuses(void **state)
{
    (void)state;
    const struct engine_options faint = {.threads = 1, .faint = 1e-3};
    struct engine_options precise = faint;
    precise.precision = PRECISION_DOUBLE;
    refuses(&(struct engine_case){.pixels = 16}, &precise, "--precision=double");
    refuses(&(struct engine_case){.pixels = 16, .curved = true}, &faint, "--curved");
    refuses(&(struct engine_case){.pixels = 16, .table = TABLE_BOX, .interpolate = true}, &faint,
            "--interpolate=on");
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_pixel_loses_more),
        cmocka_unit_test(no_random_pixel_loses_more),
        cmocka_unit_test(bytes_depend_on_nothing_else),
        cmocka_unit_test(what_it_refuses),
    };
    return unit_run(tests);
}
