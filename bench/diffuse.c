/*
 * Measures how much time diffuse halos take, in turn with a still of 25 mosaic domains x 5
 * wavelengths by the loop over pixels, on one thread.  The molecules of one crystal move by 0.4 A,
 * with a correlation length of 25 A.  The pixels are small enough for a mesh (0.05 mm) or too large
 * for it (0.1 mm).  tests/unit/diffuse.c tests that the halos are right.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/crystal/diffuse.h"
#include "engine/engine.h"
#include "workload.h"

#define CELLS "-N 20 -oversample 1 "

static const struct workload works[] = {
    {"spots", CELLS "-dispersion 0.2 -dispsteps 5 -mosaic 0.1 -mosaic_domains 25", .table = true,
     .size = 2048},
    {"halos", CELLS, .table = true, .size = 2048},
    {"halos, coarse pixels", CELLS, .table = true, .size = 1024},
    {"halos' grid", CELLS, .table = true, .size = 2048},
};
enum { SPOTS, HALOS, COARSE, GRID, WORKS };

struct work {
    int64_t size;
    struct experiment x;
    struct recipe r;
    struct plan *plan;        // of spots
    struct diffuse *diffuse;  // of halos
    struct timing timing;
};

static enum status open_work(struct work *w, int which, struct error *e)
{
    struct words words;
    workload_words(&works[which], w->size, &words);
    const enum status s = workload_build(&works[which], &words, PHYSICS_PHYSICAL, &w->x, &w->r, e);
    if (s || which == SPOTS)
        return s ? s
                 : engine_cpu.create(&w->plan, &w->x, &(struct engine_options){.threads = 1}, e);
    struct crystal *c = w->x.crystals;
    c->has_diffuse = true;
    for (int k = 0; k < 3; k++) {
        c->diffuse_sigma_A[k] = 0.4;
        c->diffuse_gamma_A[k] = 25.0;
    }
    return diffuse_create(&w->diffuse, &w->x, NULL, 1, e);
}

static enum status run_work(struct work *w, int which, float *image, struct error *e)
{
    struct diffuse *again = NULL;
    if (which == SPOTS)
        return engine_cpu.run(w->plan, &w->r, image, NULL, e);
    if (which != GRID)
        return diffuse_add(w->diffuse, &w->r, 1, image, e);
    const enum status s = diffuse_create(&again, &w->x, NULL, 1, e);
    diffuse_destroy(&again);
    return s;
}

static void report(struct bench *b, const struct work *all, int which)
{
    const struct work *w = &all[which];
    const struct timing *t = &w->timing, *spots = &all[SPOTS].timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double pixels = (double)(w->size * w->size);
    const double spots_ns = timing_median(spots->cpu_ns, spots->count) * pixels /
                            (double)(all[SPOTS].size * all[SPOTS].size);
    record_open(b, "diffuse");
    record_text(b, "workload", works[which].name);
    record_real(b, "size", (double)w->size);
    record_timing(b, t);
    record_real(b, "share_of_spots", cpu_ns / spots_ns);
    record_close(b);
    printf("| %s | %" PRId64 " | %.1f%s | %.1f | %.1f %% |\n", works[which].name, w->size,
           cpu_ns * 1e-6, timing_mark(t), cpu_ns / pixels, 100.0 * cpu_ns / spots_ns);
    (void)fflush(stdout);
}

static enum status run_rounds(struct bench *b, struct work *all, float *image, struct error *e)
{
    enum status s = STATUS_OK;
    for (int64_t round = -1; round < b->o.iterations && !s; round++)
        for (int i = 0; i < WORKS && !s; i++) {
            const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
            s = run_work(&all[i], i, image, e);
            if (round >= 0)
                timing_add(&all[i].timing, (double)(clock_cpu_ns() - cpu),
                           (double)(clock_ns() - wall));
        }
    return s;
}

enum status bench_diffuse(struct bench *b, struct error *e)
{
    struct work all[WORKS] = {0};
    int64_t most = 0;
    enum status s = STATUS_OK;
    for (int i = 0; i < WORKS; i++) {
        all[i].size =
            b->o.has_sizes ? b->sizes[0] * works[i].size / works[SPOTS].size : works[i].size;
        most = all[i].size > most ? all[i].size : most;
    }
    float *image = mem_array((size_t)(most * most), sizeof *image);
    for (int i = 0; i < WORKS && !s; i++)
        s = open_work(&all[i], i, e);
    if (!s)
        s = run_rounds(b, all, image, e);
    printf(
        "\n| halos of gamma 25 A | size | CPU ms | ns a pixel | of 25 domains x 5 wavelengths |\n"
        "|---|---|---|---|---|\n");
    for (int i = 0; i < WORKS; i++) {
        if (!s)
            report(b, all, i);
        if (all[i].plan)
            engine_cpu.destroy(&all[i].plan);
        diffuse_destroy(&all[i].diffuse);
        recipe_free(&all[i].r);
        experiment_free(&all[i].x);
    }
    mem_free(image);
    return s;
}
