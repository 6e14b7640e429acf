/*
 * bench-engine: CPU time per step of every engine and instruction set, in one
 * interleaved run.  A step is one evaluation: pixel x layer x subpixel x source x
 * phi x domain.  Each image is compared with that of the physical reference before
 * any time is believed (faithful layers differ by nature).  One JSON line per
 * workload and engine on stdout; ratios are to the faithful reference, which does
 * what nanoBragg does, on one thread.
 */
#include <stdio.h>

#include "../tests/unit/engine_case.h"
#include "base/clock.h"
#include "base/opt.h"
#include "engine/engine.h"

/* A workload is a line. */
// clang-format off
static const struct engine_case workloads[] = {
    {.name = "one step", .pixels = 2048, .pixel_mm = 0.1, .cells = {5}, .unpolarized = true},
    {.name = "one step, polarized", .pixels = 2048, .pixel_mm = 0.1, .cells = {5}},
    {.name = "25 domains x 5 wavelengths, F table", .pixels = 512, .pixel_mm = 0.4, .cells = {20}, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 25, .wavelengths = 5},
    {.name = "50 phi x 10 domains", .pixels = 256, .pixel_mm = 0.8, .cells = {10}, .phi_steps = 50, .mosaic_deg = 0.5, .domains = 10},
    {.name = "4 layers x oversample 3", .pixels = 512, .pixel_mm = 0.4, .cells = {10}, .layers = 4, .oversample = 3},
    {.name = "gauss, 25 x 5", .pixels = 256, .pixel_mm = 0.8, .cells = {20}, .shape = SHAPE_GAUSS, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 25, .wavelengths = 5},
    {.name = "round, 25 x 5", .pixels = 256, .pixel_mm = 0.8, .cells = {20}, .shape = SHAPE_ROUND, .table = TABLE_BOX, .mosaic_deg = 0.5, .domains = 25, .wavelengths = 5},
    {.name = "tricubic, N 2", .pixels = 512, .pixel_mm = 0.4, .cells = {2}, .table = TABLE_BOX, .interpolate = true},
};
// clang-format on

static const struct contestant {
    const char *name;
    const struct engine *engine;
    const char *isa;
    enum physics physics;
} contestants[] = {
    {"reference", &engine_reference, NULL, PHYSICS_PHYSICAL},  // whose image is believed
    {"reference, faithful", &engine_reference, NULL, PHYSICS_FAITHFUL},
    {"cpu", &engine_cpu, "baseline", PHYSICS_PHYSICAL},
    {"cpu", &engine_cpu, "avx2", PHYSICS_PHYSICAL},
    {"cpu", &engine_cpu, "avx512", PHYSICS_PHYSICAL},
};
enum { CONTESTANTS = sizeof contestants / sizeof *contestants, BASE = 1, ROUNDS_MAX = 99 };

struct timing {
    struct plan *plan;  // NULL: not on this machine
    double ns[ROUNDS_MAX];
    double worst;  // relative error with a floor of 1e-3 of the mean
    double sum_ratio;
};

struct options {
    int64_t iterations, threads;
};

static const struct opt table[] = {
    {.name = "iterations",
     .metavar = "N",
     .doc = "rounds, interleaved (3)",
     .type = OPT_INT,
     .offset = offsetof(struct options, iterations),
     .min = 1,
     .max = ROUNDS_MAX},
    {.name = "threads",
     .metavar = "N",
     .doc = "threads of the physical engines (1)",
     .type = OPT_INT,
     .offset = offsetof(struct options, threads),
     .min = 1,
     .max = 1024},
    {0},
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare_images(const float *a, const float *b, size_t count, struct timing *t)
{
    double sum_a = 0.0, sum_b = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum_a += (double)a[i];
        sum_b += (double)b[i];
    }
    const double floor_photons = 1e-3 * sum_b / (double)count;
    t->worst = 0.0;
    t->sum_ratio = sum_a / sum_b;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)a[i] - (double)b[i]) / fmax((double)b[i], floor_photons);
        t->worst = !(error <= t->worst) ? error : t->worst;  // NaN stays
    }
}

/* Evaluations of a whole frame. */
static double steps_of(const struct experiment *x, const struct recipe *r)
{
    const double samples =
        (double)x->sampling.oversample * x->sampling.oversample * x->panels[0].layers;
    return (double)experiment_pixels(x) * samples * (double)x->beam.nsources *
           (double)r->lattices[0].nphi * (double)r->lattices[0].ndomains;
}

static enum status run_once(const struct contestant *c, struct timing *t, struct experiment *x,
                            const struct recipe *r, float *pixels, double *ns, struct error *e)
{
    x->physics = c->physics;
    const uint64_t start = clock_cpu_ns();
    const enum status s = c->engine->run(t->plan, r, pixels, NULL, e);
    *ns = (double)(clock_cpu_ns() - start);
    return s;
}

static void print_result(const struct engine_case *w, const struct contestant *c,
                         const struct timing *t, const struct options *o, double steps,
                         double base_ns)
{
    const size_t n = (size_t)o->iterations;
    double ns[ROUNDS_MAX];
    memcpy(ns, t->ns, n * sizeof *ns);
    qsort(ns, n, sizeof *ns, compare_doubles);
    printf("{\"workload\": \"%s\", \"engine\": \"%s\", \"isa\": \"%s\", \"threads\": %d, "
           "\"pixels\": %d, "
           "\"ns_per_step\": %.3f, \"ns_per_step_min\": %.3f, \"ratio\": %.2f, \"worst\": %.2g, "
           "\"sum_error\": %.2g}\n",
           w->name, c->name, c->isa ? c->isa : "",
           c->physics == PHYSICS_FAITHFUL ? 1 : (int)o->threads, w->pixels, ns[n / 2] / steps,
           ns[0] / steps, base_ns / ns[n / 2], t->worst, t->sum_ratio - 1.0);
    (void)fflush(stdout);
}

/* An image that is not the reference's makes its time worthless. */
static enum status believe(const struct engine_case *w, const struct contestant *c,
                           const struct timing *t, struct error *e)
{
    if (c->physics == PHYSICS_FAITHFUL || (t->worst <= 1e-5 && fabs(t->sum_ratio - 1.0) <= 1e-6))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s: the image of %s %s differs from the reference by %g",
                     w->name, c->name, c->isa ? c->isa : "", t->worst);
}

/* Images first, then the rounds, then what came out. */
static enum status race(const struct engine_case *w, const struct options *o, struct experiment *x,
                        const struct recipe *r, float *image, float *reference, struct error *e)
{
    static struct timing t[CONTESTANTS];
    enum status s = STATUS_OK;
    const size_t count = (size_t)experiment_pixels(x);
    for (int pass = -1; pass < o->iterations && !s; pass++) {
        for (int i = 0; i < CONTESTANTS && !s; i++) {
            const struct contestant *c = &contestants[i];
            x->physics = c->physics;
            if (pass < 0 &&
                c->engine->create(&t[i].plan, x, &(struct engine_options){(int)o->threads, c->isa},
                                  NULL))
                continue;
            double ns;
            if (!t[i].plan || (s = run_once(c, &t[i], x, r, i ? image : reference, &ns, e)))
                continue;
            if (pass >= 0) {
                t[i].ns[pass] = ns;
                continue;
            }
            compare_images(i ? image : reference, reference, count, &t[i]);
            s = believe(w, c, &t[i], e);
        }
    }
    double ns[ROUNDS_MAX];
    memcpy(ns, t[BASE].ns, (size_t)o->iterations * sizeof *ns);
    qsort(ns, (size_t)o->iterations, sizeof *ns, compare_doubles);
    for (int i = 0; i < CONTESTANTS; i++) {
        if (t[i].plan && !s)
            print_result(w, &contestants[i], &t[i], o, steps_of(x, r), ns[o->iterations / 2]);
        if (t[i].plan)
            contestants[i].engine->destroy(&t[i].plan);
    }
    return s;
}

static enum status run_workload(const struct engine_case *w, const struct options *o,
                                struct error *e)
{
    struct experiment x;
    struct recipe r = {0};
    enum status s = case_build(w, &x, &r, e);
    const size_t count = (size_t)experiment_pixels(&x);
    float *image = mem_array(count, sizeof *image),
          *reference = mem_array(count, sizeof *reference);
    if (!s && !(image && reference))
        s = error_memory(e, "the images");
    if (!s)
        s = race(w, o, &x, &r, image, reference, e);
    mem_free(image);
    mem_free(reference);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

int main(int argc, char **argv)
{
    const struct opt_program program = {.name = "bench-engine",
                                        .summary = "Time the engines, interleaved."};
    struct options o = {.iterations = 3, .threads = 1};
    struct error e = {0};
    int operands;
    enum status s = opt_parse(&program, table, &o, NULL, NULL, argc, argv, NULL, &operands, &e);
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads && !s; i++)
        s = run_workload(&workloads[i], &o, &e);
    if (s)
        (void)fprintf(stderr, "bench-engine: %s\n", e.text);
    return (int)s;
}
