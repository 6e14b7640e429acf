/*
 * Every engine computes the same table of cases and is compared with the reference by
 * the gate of engine_gate.h.
 */
#include "unit.h"

#include <math.h>

#include "engine/cpu/threads.h"
#include "engine/engine.h"
#include "engine_gate.h"
#include "engine_run.h"
#include "engine_table.h"

/* A case with its image by the reference engine and the changes of its pixels. */
struct held {
    struct experiment x;
    struct recipe r;
    float *reference;
    size_t count;
    double mean; /* of the image, photons */
    double
        *change; /* of each pixel when an index moves by 1e-12: its first of 1e-6, or the largest */
    uint8_t *unsteady;
};

static void hold_case(struct held *h, const struct engine_case *c)
{
    struct error e = {0};
    if (case_build(c, &h->x, &h->r, &e))
        fail_msg("%s: %s", c->name, e.text);
    h->count = (size_t)experiment_pixels(&h->x);
    h->reference = run_engine(&engine_reference, &h->x, &h->r, NULL, 2);
    h->mean = 0.0;
    for (size_t i = 0; i < h->count; i++)
        h->mean += (double)h->reference[i] / (double)h->count;
    h->change = mem_array(h->count, sizeof *h->change);
    h->unsteady = mem_array(h->count, 1);
    changes_of_pixels(&h->x, &h->r, h->reference, 1e-3 * h->mean, 1e-6, h->change);
}

static void mark_from(struct held *h, double limit)
{
    for (size_t i = 0; i < h->count; i++)
        h->unsteady[i] = h->change[i] >= limit;
}

static void drop_case(struct held *h)
{
    mem_free(h->unsteady);
    mem_free(h->change);
    mem_free(h->reference);
    recipe_free(&h->r);
    experiment_free(&h->x);
}

/* ---- mixed precision ----------------------------------------------------------- */

static void check_mixed(struct held *h, const struct engine_case *c)
{
    static const char *const isas[] = {"baseline", "avx2", "avx512", NULL};
    mark_from(h, 1e-6);
    for (const char *const *isa = isas; *isa; isa++) {
        if (!has_isa(*isa))
            continue;
        float *image = run_engine(&engine_cpu, &h->x, &h->r, *isa, 2);
        const struct verdict v = compare(image, h->reference, h->unsteady, h->count);
        print_message("# %-40s %-8s worst %.1e, sums 1%+.0e, left out %zu of %zu\n", c->name, *isa,
                      v.worst, v.sum_ratio - 1.0, v.unsteady, h->count);
        const char *wrong = gate_says(&v, limit_of(c));
        if (wrong)
            fail_msg("%s, %s: %s; pixel %zu is %.9g, reference %.9g", c->name, *isa, wrong,
                     v.worst_at, (double)image[v.worst_at], (double)h->reference[v.worst_at]);
        mem_free(image);
    }
}

/* ---- double precision ------------------------------------------------------------ */

static const struct engine_options options_of_reference = {.threads = 1};

/* Keeps the photons of a trace before they are rounded to float32. */
static void keep_photons(void *context, const char *name, int count, const double *values,
                         const char *unit)
{
    double *photons = context;
    (void)unit;
    if (count == 1 && (!strcmp(name, "photons") || !strcmp(name, "total")))
        photons[*name == 't'] = *values;
}

/* Unrounded photons of one pixel; the cpu engine calls them "total". */
static double traced(const struct engine *engine, struct plan *plan, const struct recipe *r,
                     int64_t fast, int64_t slow)
{
    double photons[2] = {0.0, -1.0};
    struct error e = {0};
    const struct pixel_trace trace = {fast, slow, keep_photons, photons};
    assert_int_equal(engine->trace(plan, r, &trace, &e), STATUS_OK);
    return photons[engine == &engine_cpu];
}

/* Images differ in the last bit of a few pixels at most, pixels of a coarse grid by 1e-9
 * before they were rounded. */
static void check_double(struct held *h, const struct engine_case *c, const char *isa)
{
    const struct engine_options options = {.threads = 2, .isa = isa, .precision = PRECISION_DOUBLE};
    float *image = run_engine_with(&engine_cpu, &h->x, &h->r, &options);
    mark_from(h, 1e-7);
    const struct verdict v = compare(image, h->reference, h->unsteady, h->count);
    struct error e = {0};
    struct plan *plans[2];
    assert_int_equal(engine_reference.create(&plans[0], &h->x, &options_of_reference, &e),
                     STATUS_OK);
    assert_int_equal(engine_cpu.create(&plans[1], &h->x, &options, &e), STATUS_OK);
    const struct panel *p = h->x.panels;
    double worst = 0.0;
    for (int64_t at = 7; at < p->fast_pixels * p->slow_pixels; at += 61) {
        if (h->unsteady[at] || h->reference[at] == 0.0f)
            continue;
        const int64_t fast = at % p->fast_pixels, slow = at / p->fast_pixels;
        const double a = traced(&engine_cpu, plans[1], &h->r, fast, slow);
        const double b = traced(&engine_reference, plans[0], &h->r, fast, slow);
        worst = fmax(worst, fabs(a - b) / fmax(b, 1e-3 * h->mean));
    }
    print_message("# %-40s %-8s image %.1e, unrounded %.1e, left out %zu\n", c->name, isa, v.worst,
                  worst, v.unsteady);
    assert_true(v.worst <= 1.2e-7 && worst <= 1e-9);
    engine_cpu.destroy(&plans[1]);
    engine_reference.destroy(&plans[0]);
    mem_free(image);
}

/* ---- all cases ----------------------------------------------------------------- */

/* The oracle that moves indices must itself be the reference. */
static void check_unmoved(const struct held *h, const struct engine_case *c)
{
    const struct panel *p = &h->x.panels[0];
    for (int64_t at = 3; at < p->fast_pixels * p->slow_pixels; at += 97) {
        const double value = moved_photons(&h->x, &h->r, p, at % p->fast_pixels,
                                           at / p->fast_pixels, (double[3]){0.0, 0.0, 0.0});
        const double photons = (double)h->reference[at];
        if (photons != 0.0 && !(fabs(photons - value) <= 1e-6 * value + 1e-37))
            fail_msg("%s: pixel %d", c->name, (int)at);
    }
}

static void engines_agree_with_the_reference(void **state)
{
    (void)state;
    static const char *const isas[] = {"avx512", "avx2", "baseline"};
    for (int i = 0; i < NCASES; i++) {
        struct held h;
        if (cases[i].smears)
            continue;  // the oracle does not smear: see tests/unit/smear.c
        hold_case(&h, &cases[i]);
        check_unmoved(&h, &cases[i]);
        check_mixed(&h, &cases[i]);
        check_double(&h, &cases[i], has_isa(isas[i % 3]) ? isas[i % 3] : "baseline");
        drop_case(&h);
    }
}

/* ---- the gate ------------------------------------------------------------------ */

/* The gate itself: without a floor, pixels near the zeros of a large crystal are
 * unsteady; an error of 2e-5 in one pixel is seen. */
static void the_gate_can_fail(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {1000}, .pixels = 64};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    uint8_t unsteady[64 * 64] = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    float *image = run_engine(&engine_reference, &x, &r, NULL, 1);
    float *other = mem_copy(image, 64 * 64, sizeof *image);
    mark_unsteady(&x, &r, image, 0.0, 1e-6, unsteady);
    const size_t left_out = compare(image, image, unsteady, 64 * 64).unsteady;
    assert_true(left_out > 4 && left_out < 400);
    memset(unsteady, 0, sizeof unsteady);
    size_t brightest = 0;
    for (size_t i = 0; i < 64 * 64; i++)
        brightest = image[i] > image[brightest] ? i : brightest;
    other[brightest] *= 1.00002f;
    const struct verdict v = compare(other, image, unsteady, 64 * 64);
    assert_true(v.worst > 1.9e-5 && v.worst_at == brightest && v.sum_ratio > 1.0);
    mem_free(other);
    mem_free(image);
    recipe_free(&r);
    experiment_free(&x);
}

static void sources_of_a_recipe_replace_the_beam(void **state)
{
    (void)state;
    const struct engine_case c = {.cells = {10}, .wavelengths = 4, .divergence = 2, .pixels = 64};
    struct experiment x;
    struct recipe r;
    struct error e = {0};
    const uint8_t unsteady[64 * 64] = {0};
    assert_int_equal(case_build(&c, &x, &r, &e), STATUS_OK);
    float *whole = run_engine(&engine_cpu, &x, &r, NULL, 1);
    r.nsources = 3;
    r.sources = mem_copy(x.beam.sources + 2, r.nsources, sizeof *r.sources);
    float *cpu = run_engine(&engine_cpu, &x, &r, NULL, 1);
    float *reference = run_engine(&engine_reference, &x, &r, NULL, 1);
    assert_true(compare(cpu, reference, unsteady, 64 * 64).worst < 1e-5);
    assert_true(compare(whole, reference, unsteady, 64 * 64).worst > 1e-2);
    mem_free(reference);
    mem_free(cpu);
    mem_free(whole);
    recipe_free(&r);
    experiment_free(&x);
}

int main(void)
{
    threads_set_wake_ns(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gate_can_fail),
        cmocka_unit_test(engines_agree_with_the_reference),
        cmocka_unit_test(sources_of_a_recipe_replace_the_beam),
    };
    return unit_run(tests);
}
