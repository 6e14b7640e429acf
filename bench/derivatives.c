/*
 * Measures how much time derivatives take: an image of the cpu engine, the same image with
 * derivative images, and the sums of a refinement near spots, in turn.  The still has 1024 x 1024
 * pixels, 10 domains and 4 subpixels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/derivatives/derive.h"
#include "engine/engine.h"
#include "workload.h"

enum { LISTED = 35000, PASSES = 9 };  // of a refinement

#define STILL "-N 20 -mosaic 0.1 -mosaic_domains 10 -oversample 2"

static const struct workload stills[] = {
    {"square", STILL, .table = true, .size = 1024},
    {"gauss", "-gauss_xtal " STILL, .table = true, .size = 1024},
};

static const char *const isas[] = {NULL, "baseline", "avx2", "avx512"};

/* What is asked; goals are images of the same workload, or seconds for PASSES. */
struct asked {
    const char *name, *parameters;
    bool listed, planes, sums;
    double goal[2];  // of square and gauss; 0: none
};

static const struct asked ASKED[] = {
    {.name = "image, 14 planes",
     .parameters = "rot,cell,ncells,mosaic,scale,wavelength,distance,beam_x",
     .planes = true,
     .goal = {3.0, 3.0}},
    {.name = "image, rot and cell", .parameters = "rot,cell", .planes = true, .goal = {2.0, 2.0}},
    {.name = "Fisher matrix of all pixels",
     .parameters = "rot,cell,ncells,mosaic,scale",
     .sums = true,
     .goal = {2.0, 2.0}},
    {.name = "9 refinement passes near spots, s",
     .parameters = "rot,cell,ncells,mosaic,scale",
     .listed = true,
     .sums = true,
     .goal = {0.2, 0.05}},
};
enum { NASKED = sizeof ASKED / sizeof *ASKED };

struct derived {
    struct bench *b;
    const struct workload *w;
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    size_t pixels, nlisted;
    float *image, *planes, *counts, *background;
    int64_t *listed;
    struct timing plain, timing[NASKED];
};

static enum status one_image(struct derived *d, bool timed, struct error *e)
{
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    const enum status s = engine_cpu.run(d->plan, &d->r, d->image, NULL, e);
    if (timed)
        timing_add(&d->plain, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    return s;
}

static enum status one_answer(struct derived *d, int index, bool timed, struct error *e)
{
    const struct asked *a = &ASKED[index];
    struct parameters set;
    double gradient[PARAMETERS_MAX], fisher[PARAMETERS_MAX * PARAMETERS_MAX];
    struct derive_sums sums = {.gradient = gradient, .fisher = fisher};
    const struct derive_data data = {d->counts, d->background, 1.0, 1.0};
    enum status s = parameters_parse(a->parameters, &d->x, &set, e);
    const struct derive_request q = {.set = &set,
                                     .listed = a->listed ? d->listed : NULL,
                                     .npixels = a->listed ? d->nlisted : d->pixels,
                                     .planes = a->planes ? d->planes : NULL,
                                     .data = a->sums ? &data : NULL,
                                     .sums = a->sums ? &sums : NULL};
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    for (int i = 0; i < (a->listed ? PASSES : 1) && !s; i++)
        s = engine_cpu.derive(d->plan, &d->r, &q, e);
    if (timed)
        timing_add(&d->timing[index], (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    return s;
}

static int by_number(const void *a, const void *b)
{
    const float one = *(const float *)a, two = *(const float *)b;
    return (one < two) - (one > two);
}

/* The brightest pixels, and data for all. */
static void choose_pixels(struct derived *d)
{
    memcpy(d->planes, d->image, d->pixels * sizeof *d->planes);
    qsort(d->planes, d->pixels, sizeof *d->planes, by_number);
    const float least = d->planes[d->pixels > LISTED ? LISTED : d->pixels / 2];
    for (size_t i = 0; i < d->pixels; i++) {
        d->counts[i] = d->image[i] + 1.0f;
        d->background[i] = 1.0f;
        if (d->image[i] > least)
            d->listed[d->nlisted++] = (int64_t)i;
    }
}

static enum status open_arrays(struct derived *d, struct error *e)
{
    d->image = mem_array(d->pixels, sizeof *d->image);
    d->planes = mem_array(14 * d->pixels, sizeof *d->planes);
    d->counts = mem_array(d->pixels, sizeof *d->counts);
    d->background = mem_array(d->pixels, sizeof *d->background);
    d->listed = mem_array(d->pixels, sizeof *d->listed);
    return d->image && d->planes && d->counts && d->background && d->listed
               ? STATUS_OK
               : error_memory(e, "the images");
}

static void close_arrays(struct derived *d)
{
    mem_free(d->image);
    mem_free(d->planes);
    mem_free(d->counts);
    mem_free(d->background);
    mem_free(d->listed);
}

static enum status run_rounds(struct derived *d, const char *isa, struct error *e)
{
    const struct engine_options how = {
        .threads = 1, .isa = isa, .precision = (enum engine_precision)d->b->o.precision};
    enum status s = engine_cpu.create(&d->plan, &d->x, &how, e);
    if (!s)
        s = one_image(d, false, e);
    if (!s)
        choose_pixels(d);
    for (int i = 0; i < NASKED && !s; i++)
        s = one_answer(d, i, false, e);
    for (int64_t round = 0; round < d->b->o.iterations && !s; round++) {
        s = one_image(d, true, e);
        for (int i = 0; i < NASKED && !s; i++)
            s = one_answer(d, i, true, e);
    }
    return s;
}

static void report(const struct derived *d)
{
    struct bench *b = d->b;
    const double image_ns = timing_median(d->plain.cpu_ns, d->plain.count);
    for (int i = 0; i < NASKED; i++) {
        const struct timing *t = &d->timing[i];
        const double ns = timing_median(t->cpu_ns, t->count), goal = ASKED[i].goal[d->w - stills];
        record_open(b, "derivatives");
        record_text(b, "workload", d->w->name);
        record_text(b, "asked", ASKED[i].name);
        record_text(b, "parameters", ASKED[i].parameters);
        record_text(b, "isa", isas[b->o.isa] ? isas[b->o.isa] : "best");
        record_text(b, "precision", b->o.precision ? "double" : "mixed");
        record_timing(b, t);
        record_real(b, "images", ns / image_ns);
        record_real(b, "goal", goal);
        record_close(b);
        printf("| %s | %s | %.1f%s | %.1f%s | %.2f | ", d->w->name, ASKED[i].name, image_ns * 1e-6,
               timing_mark(&d->plain), ns * 1e-6, timing_mark(t), ns / image_ns);
        if (goal > 0.0)
            printf("%g: %s |\n", goal,
                   (ASKED[i].listed ? ns * 1e-9 : ns / image_ns) <= goal ? "met" : "missed");
        else
            printf("|\n");
    }
    (void)fflush(stdout);
}

static enum status run_still(struct bench *b, const struct workload *w, struct error *e)
{
    const int64_t size = b->o.has_sizes ? b->sizes[0] : w->size;
    struct derived d = {.b = b, .w = w, .pixels = (size_t)(size * size)};
    struct words words;
    workload_words(w, size, &words);
    enum status s = workload_build(w, &words, PHYSICS_PHYSICAL, &d.x, &d.r, e);
    if (!s)
        s = open_arrays(&d, e);
    if (!s)
        s = run_rounds(&d, isas[b->o.isa], e);
    if (!s)
        report(&d);
    if (d.plan)
        engine_cpu.destroy(&d.plan);
    close_arrays(&d);
    recipe_free(&d.r);
    experiment_free(&d.x);
    return s;
}

enum status bench_derivatives(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| shape | what | image, CPU ms | with derivatives | images | goal |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof stills / sizeof *stills && !s; i++)
        s = run_still(b, &stills[i], e);
    printf("\nImages: the time over that of the image alone, which goals are of but for those of "
           "%d passes, in s of one thread.\n",
           PASSES);
    return s;
}
