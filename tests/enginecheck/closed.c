/* Compares frames in closed form with those of the cpu engine, and measures their time. */
#include <math.h>

#include "../unit/engine_table.h"
#include "base/clock.h"
#include "base/units.h"
#include "check.h"
#include "engine/closed/closed.h"

enum { EDGE = 96 };

/* Gives every crystal the spread that a frame of many domains has. */
static void spread(struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++) {
        struct crystal *c = &x->crystals[i];
        c->has_ensemble = true;
        for (int k = 0; k < 3; k++) {
            c->mosaic_rms_rad[k] = deg_to_rad(0.05);
            c->strain_rms[k] = 5e-4;
        }
    }
}

/* Gives every lattice a spread of its own, if there are several. */
static void spread_lattices(struct experiment *x, struct recipe *r)
{
    x->spreads_vary = r->nlattices > 1;
    for (size_t i = 0; i < r->nlattices && x->spreads_vary; i++) {
        r->lattices[i].has_spread = true;
        r->lattices[i].spread_rad = deg_to_rad(0.05 * (1.0 + (double)i));
    }
}

/* Returns the largest error, relative to a pixel plus a hundredth of the brightest one. A spot ends
 * at e^-20 of its brightest point, and the engines apply this end to different groups of
 * wavelengths. */
static double worst_of(const float *image, const float *cpu, size_t count)
{
    double most = 0.0, worst = 0.0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, (double)cpu[i]);
    for (size_t i = 0; i < count; i++)
        worst =
            worse(worst, fabs((double)image[i] - (double)cpu[i]) / (1e-2 * most + (double)cpu[i]));
    return most > 0.0 ? worst : HUGE_VAL;
}

static enum status compare(struct run *run, const char *name, const struct experiment *x,
                           const struct recipe *r, struct error *e)
{
    const size_t count = (size_t)experiment_pixels(x);
    float *image = mem_array(count, sizeof *image), *cpu = mem_array(count, sizeof *cpu);
    enum status s = image && cpu ? STATUS_OK : error_memory(e, "the images");
    if (!s)
        s = compute(&engine_cpu, &run->options, x, r, cpu, e);
    if (!s)
        s = compute(run->engine, &run->options, x, r, image, e);
    if (!s)
        tell_case(run, "closed form", name, worst_of(image, cpu, count), 1e-5);
    mem_free(image);
    mem_free(cpu);
    return s;
}

/* A case that can be computed so, without the domains that stand for the same spread. */
static enum status compare_case(struct run *run, struct engine_case c, struct error *e)
{
    struct experiment x;
    struct recipe r;
    struct error unfit = {0};
    c.pixel_mm = (c.pixels ? c.pixels : 128) * (c.pixel_mm > 0.0 ? c.pixel_mm : 0.8) / EDGE;
    c.pixels = EDGE;
    c.domains = 0;
    c.mosaic_deg = 0.0;
    enum status s = case_build(&c, &x, &r, e);
    if (!s) {
        spread(&x);
        spread_lattices(&x, &r);
        if (closed_check(&x, &unfit))
            tell_skip(run, "closed form", c.name, unfit.text);
        else
            s = compare(run, c.name, &x, &r, e);
    }
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

/* The fifth workload, of 125 wavelengths. */
static enum status take_time(struct run *run, int64_t size, struct error *e)
{
    struct workload w = workloads[4];
    struct timed t;
    struct rounds rounds = {0};
    w.words = "-gauss_xtal -N 20 -dispersion 1 -dispsteps 125";
    enum status s = timed_open(&t, &w, size, e);
    if (!s) {
        spread(&t.x);
        s = run->engine->create(&t.plan, &t.x, &run->options, e);
    }
    while (!s && rounds_go_on(&rounds)) {
        const uint64_t start = clock_ns();
        s = run->engine->run(t.plan, &t.r, t.pixels, NULL, e);
        rounds_add(&rounds, 1e-6 * (double)(clock_ns() - start));
    }
    if (!s)
        timed_tell(run, "closed form, 125 wavelengths", "closed form timed", size, &rounds);
    timed_close(run, &t);
    return s;
}

enum status check_closed(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < NCASES && !s; i++) {
        struct engine_case c = cases[i];
        c.shape = SHAPE_GAUSS;
        c.smears = false;
        s = compare_case(run, c, e);
    }
    return s ? s : take_time(run, numbers[0], e);
}
