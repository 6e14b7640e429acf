/*
 * Measures how much time tables of reflections take.  The cpu engine computes each frame with and
 * without the table, in turn, on one thread.  Both images must be equal.  With a beam of 1e29
 * photons/m^2 every pixel of every workload is bright.  With 1e24 photons/m^2 a reflection has some
 * tens of photons.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/engine.h"
#include "workload.h"

/* One workload in one beam. */
struct keyed {
    struct bench *b;
    const struct workload *w;
    int64_t size;
    struct experiment x;
    struct recipe r;
    size_t count;
    float *image[2];       // without, with reflections
    struct plan *plan[2];  // likewise
    struct timing timing[2];
    size_t rows;
};

static enum status one_frame(struct keyed *k, int with, bool timed, struct error *e)
{
    const struct reflections_wanted wanted = {.least_photons = 1.0};
    struct reflection_table table = {0};
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    enum status s = engine_cpu.run(k->plan[with], &k->r, k->image[with], NULL, e);
    if (!s && with)
        s = engine_cpu.reflections(k->plan[with], &k->r, k->image[with], &wanted, &table, e);
    if (timed)
        timing_add(&k->timing[with], (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    k->rows = with ? table.count : k->rows;
    reflection_table_free(&table);
    return s;
}

static enum status run_rounds(struct keyed *k, const char *isa, struct error *e)
{
    enum status s = STATUS_OK;
    for (int with = 0; with < 2 && !s; with++) {
        const struct engine_options how = {.threads = 1, .isa = isa, .reflections = with};
        k->image[with] = mem_array(k->count, sizeof **k->image);
        s = engine_cpu.create(&k->plan[with], &k->x, &how, e);
        if (!s)
            s = one_frame(k, with, false, e);
    }
    if (!s && memcmp(k->image[0], k->image[1], k->count * sizeof **k->image) != 0)
        s = error_set(e, STATUS_FAILED, "%s: the image is another one with reflections",
                      k->w->name);
    for (int64_t round = 0; round < k->b->o.iterations && !s; round++)
        for (int with = 0; with < 2 && !s; with++)
            s = one_frame(k, with, true, e);
    return s;
}

static void report(const struct keyed *k)
{
    struct bench *b = k->b;
    double cpu_ns[2];
    for (int with = 0; with < 2; with++) {
        cpu_ns[with] = timing_median(k->timing[with].cpu_ns, k->timing[with].count);
        record_open(b, "reflections");
        record_text(b, "workload", k->w->name);
        record_real(b, "size", (double)k->size);
        record_real(b, "fluence_ph_m2", k->x.beam.fluence_ph_m2);
        record_real(b, "reflections", with ? (double)k->rows : 0.0);
        record_timing(b, &k->timing[with]);
        record_real(b, "cost", cpu_ns[with] / cpu_ns[0] - 1.0);
        record_close(b);
    }
    printf("| %s | %" PRId64 " | %.0e | %zu | %.1f%s | %.1f%s | %.2f |\n", k->w->name, k->size,
           k->x.beam.fluence_ph_m2, k->rows, cpu_ns[0] * 1e-6, timing_mark(&k->timing[0]),
           cpu_ns[1] * 1e-6, timing_mark(&k->timing[1]), cpu_ns[1] / cpu_ns[0] - 1.0);
    (void)fflush(stdout);
}

static enum status run_workload(struct bench *b, const struct workload *w, int64_t size,
                                double fluence_ph_m2, struct error *e)
{
    static const char *const isas[] = {NULL, "baseline", "avx2", "avx512"};
    struct keyed k = {.b = b, .w = w, .size = size, .count = (size_t)(size * size)};
    struct words words;
    workload_words(w, size, &words);
    enum status s = workload_build(w, &words, PHYSICS_PHYSICAL, &k.x, &k.r, e);
    k.x.beam.fluence_ph_m2 = fluence_ph_m2;
    if (!s)
        s = run_rounds(&k, isas[b->o.isa], e);
    if (!s)
        report(&k);
    for (int with = 0; with < 2; with++) {
        if (k.plan[with])
            engine_cpu.destroy(&k.plan[with]);
        mem_free(k.image[with]);
    }
    recipe_free(&k.r);
    experiment_free(&k.x);
    return s;
}

/* The first three: one step, many, and a rotation; only those that --workload names. */
enum status bench_reflections(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| workload | size | photons/m^2 | reflections | frame, CPU ms | with reflections | "
           "cost |\n|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 6 && !s; i++) {
        const struct workload *w = &workloads[i / 2];
        bool chosen = b->o.workloads.count == 0;
        for (size_t k = 0; k < b->o.workloads.count; k++)
            chosen = chosen || strstr(w->name, b->o.workloads.text[k]);
        if (chosen)
            s = run_workload(b, w, b->o.has_sizes ? b->sizes[0] : w->size, i % 2 ? 1e24 : 1e29, e);
    }
    printf("\nCost: what reflections add, as a part of the frame without them.\n");
    return s;
}
