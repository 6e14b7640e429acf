/* Compares reflections with those of the reference engine, and measures their time. */
#include <math.h>
#include <string.h>

#include "../unit/engine_table.h"
#include "base/clock.h"
#include "check.h"

enum { EDGE = 48 };

/* Image and table of one engine; the caller frees the table. */
static enum status ask(const struct engine *engine, const struct engine_options *options,
                       const struct experiment *x, const struct recipe *r,
                       struct reflection_table *table, struct error *e)
{
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    struct plan *plan = NULL;
    float *pixels = mem_array((size_t)experiment_pixels(x), sizeof *pixels);
    enum status s = pixels ? engine->create(&plan, x, options, e) : error_memory(e, "the image");
    if (!s)
        s = engine->run(plan, r, pixels, NULL, e);
    if (!s)
        s = engine->reflections(plan, r, pixels, &wanted, table, e);
    if (plan)
        engine->destroy(&plan);
    mem_free(pixels);
    return s;
}

/* The worst relative difference of photons of rows above 10 photons; infinite where one is missing,
 * negative where there are none.  Rows of both ascend. */
static double off(const struct reflection_table *a, const struct reflection_table *reference)
{
    double worst = 0.0;
    size_t compared = 0;
    for (size_t i = 0, k = 0; i < reference->count; i++) {
        const struct reflection_row *want = &reference->rows[i];
        if (want->photons <= 10.0)
            continue;
        while (k < a->count && (a->rows[k].lattice != want->lattice ||
                                memcmp(a->rows[k].hkl, want->hkl, sizeof want->hkl) != 0))
            k++;
        if (k == a->count)
            return HUGE_VAL;
        worst = worse(worst, fabs(a->rows[k].photons / want->photons - 1.0));
        compared++;
    }
    return compared ? worst : -1.0;
}

static enum status compare(struct run *run, const struct engine_case *c, struct error *e)
{
    struct experiment x = {0};
    struct recipe r = {0};
    struct reflection_table a = {0}, reference = {0};
    enum status s = case_build(c, &x, &r, e);
    x.beam.fluence_ph_m2 = 1e28;  // hundreds of reflections
    if (!s)
        s = ask(&engine_reference, &run->options, &x, &r, &reference, e);
    if (!s)
        s = ask(run->engine, &run->options, &x, &r, &a, e);
    const double worst = s ? 0.0 : off(&a, &reference);
    if (!s && worst < 0.0)
        tell_skip(run, "reflections", c->name, "it has no reflection of 10 photons");
    else if (!s)
        tell_case(run, "reflections", c->name, worst, 1e-4);
    reflection_table_free(&a);
    reflection_table_free(&reference);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

/* Those of the second workload. */
static enum status take_time(struct run *run, int64_t size, struct error *e)
{
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    struct timed t;
    struct rounds rounds = {0};
    enum status s = timed_open(&t, &workloads[1], size, e);
    if (!s)
        s = run->engine->create(&t.plan, &t.x, &run->options, e);
    if (!s)
        s = run->engine->run(t.plan, &t.r, t.pixels, NULL, e);
    while (!s && rounds_go_on(&rounds)) {
        struct reflection_table table = {0};
        const uint64_t start = clock_ns();
        s = run->engine->reflections(t.plan, &t.r, t.pixels, &wanted, &table, e);
        rounds_add(&rounds, 1e-6 * (double)(clock_ns() - start));
        reflection_table_free(&table);
    }
    if (!s)
        timed_tell(run, "25 domains x 5 wavelengths, table of reflections", "table of reflections",
                   size, &rounds);
    timed_close(run, &t);
    return s;
}

enum status check_reflections(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < NCASES && !s; i++) {
        struct engine_case c = cases[i];
        /* the same detector in coarser pixels */
        c.pixel_mm = (c.pixels ? c.pixels : 128) * (c.pixel_mm > 0.0 ? c.pixel_mm : 0.8) / EDGE;
        c.pixels = EDGE;
        s = compare(run, &c, e);
    }
    return s ? s : take_time(run, numbers[0], e);
}
