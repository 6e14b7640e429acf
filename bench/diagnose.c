/*
 * Shows which parts of the computation take the time of a frame of the cpu engine.  Each row
 * changes one property of the frame and prints how much time this adds or saves.  All rows run in
 * the same rounds.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/engine.h"
#include "workload.h"

#define PLAIN "-N 5 -default_F 100 "
#define BROAD "-N 20 -mosaic 0.5 -mosaic_domains 25 "

/* What a row is compared with stands first and has no question. */
static const struct row {
    const char *question;
    struct workload w;
    bool fresh;  // into a new buffer every time: page faults
} rows[] = {
    {.w = {.name = "one step", .words = PLAIN}},
    {"polarization", {.name = "without", .words = PLAIN "-nopolar"}, false},
    {"page faults", {.name = "new, zeroed output buffer", .words = PLAIN}, true},
    {"obliquity", {.name = "point pixels", .words = PLAIN "-point_pixel"}, false},
    {"gather", {.name = "F table in place of a constant", .words = "-N 5", .table = true}, false},
    {"phases in double",
     {.name = "N 1001 in place of 5", .words = "-N 1001 -default_F 100"},
     false},
    {"sources", {.name = "3 wavelengths", .words = PLAIN "-dispersion 1 -dispsteps 3"}, false},
    {"sources", {.name = "100 wavelengths", .words = PLAIN "-dispersion 1 -dispsteps 100"}, false},
    {.w = {.name = "25 domains", .words = BROAD "-default_F 100"}},
    {"gather", {.name = "F table in place of a constant", .words = BROAD, .table = true}, false},
    {"sines",
     {.name = "GAUSS: an exponential instead", .words = BROAD "-default_F 100 -gauss_xtal"},
     false},
    {"sines",
     {.name = "TOPHAT: a comparison instead", .words = BROAD "-default_F 100 -tophat_spots"},
     false},
};
enum { NROWS = sizeof rows / sizeof *rows };

struct lane {
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    double steps;
    struct timing timing;
};

static enum status lane_open(struct lane *l, const struct row *row, int64_t size, struct error *e)
{
    struct words words;
    workload_words(&row->w, size, &words);
    enum status s = workload_build(&row->w, &words, PHYSICS_PHYSICAL, &l->x, &l->r, e);
    if (s)
        return s;
    l->steps = workload_steps(&l->x, &l->r);
    return engine_cpu.create(&l->plan, &l->x, &(struct engine_options){.threads = 1}, e);
}

static enum status lane_run(struct lane *l, const struct row *row, float *pixels, struct error *e)
{
    float *fresh = NULL;
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    if (row->fresh)
        fresh = mem_array((size_t)experiment_pixels(&l->x), sizeof *fresh);
    const enum status s = engine_cpu.run(l->plan, &l->r, fresh ? fresh : pixels, NULL, e);
    mem_free(fresh);
    timing_add(&l->timing, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    return s;
}

static void report(struct bench *b, const struct row *row, const struct lane *l,
                   const struct lane *base)
{
    const double ns = timing_median(l->timing.cpu_ns, l->timing.count) / l->steps;
    const double base_ns = timing_median(base->timing.cpu_ns, base->timing.count) / base->steps;
    record_open(b, "diagnose");
    record_text(b, "question", row->question ? row->question : "base");
    record_text(b, "change", row->w.name);
    record_timing(b, &l->timing);
    record_real(b, "ns_per_step", ns);
    record_real(b, "ns_per_step_base", base_ns);
    record_close(b);
    printf("| %s | %s | %.2f%s | %+.0f %% |\n", row->question ? row->question : "", row->w.name, ns,
           timing_mark(&l->timing), 100.0 * (ns / base_ns - 1.0));
}

enum status bench_diagnose(struct bench *b, struct error *e)
{
    static struct lane lanes[NROWS];
    const int64_t size = b->o.has_sizes ? b->sizes[0] : 1024;
    float *pixels = mem_array((size_t)(size * size), sizeof *pixels);
    enum status s = STATUS_OK;
    for (int i = 0; i < NROWS && !s; i++)
        s = lane_open(&lanes[i], &rows[i], size, e);
    for (int64_t round = -1; round < b->o.iterations && !s; round++)
        for (int i = 0; i < NROWS && !s; i++) {
            lanes[i].timing.count -= round == 0;  // the first round only warms up
            s = lane_run(&lanes[i], &rows[i], pixels, e);
        }
    if (!s)
        printf("\ncpu engine, %" PRId64 " x %" PRId64 " pixels\n\n"
               "| question | change | CPU ns/step | against the row without a question |\n"
               "|---|---|---|---|\n",
               size, size);
    for (int i = 0, base = 0; i < NROWS; i++) {
        base = rows[i].question ? base : i;
        if (!s)
            report(b, &rows[i], &lanes[i], &lanes[base]);
        if (lanes[i].plan)
            engine_cpu.destroy(&lanes[i].plan);
        recipe_free(&lanes[i].r);
        experiment_free(&lanes[i].x);
    }
    mem_free(pixels);
    return s;
}
