/*
 * What a thick sensor costs: a still of 20 mosaic domains and 3 x 3 subpixels by the loop over all
 * terms, in one layer, in five layers, and smeared, interleaved, one thread.  The last one has an
 * image of its own: that it is right is tests/unit/smear.c.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/engine.h"
#include "workload.h"

#define STILL                                                                              \
    "-N 10 -default_F 100 -oversample 3 -mosaic 0.3 -mosaic_domains 20 -detector_abs 235 " \
    "-detector_thick 450 -detector_thicksteps "

static const struct {
    struct workload workload;
    bool smears;
} stills[] = {
    {{"one layer", STILL "1", .size = 1024}, false},
    {{"five layers", STILL "5", .size = 1024}, false},
    {{"smear", STILL "1", .size = 1024}, true},
};
enum { STILLS = sizeof stills / sizeof *stills };

struct still {
    struct experiment x;
    struct recipe r;
    struct plan *plan;
    struct timing timing;
};

static enum status open_still(struct still *s, int index, int64_t size, struct error *e)
{
    const struct workload *w = &stills[index].workload;
    struct words words;
    workload_words(w, size, &words);
    const enum status status = workload_build(w, &words, PHYSICS_PHYSICAL, &s->x, &s->r, e);
    if (status)
        return status;
    s->x.sampling.smears = stills[index].smears;
    return engine_cpu.create(&s->plan, &s->x, &(struct engine_options){.threads = 1}, e);
}

static void report(struct bench *b, const struct still *s, int index, int64_t size)
{
    const struct timing *first = &s->timing, *t = &s[index].timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = cpu_ns / timing_median(first->cpu_ns, first->count);
    record_open(b, "smear");
    record_text(b, "workload", stills[index].workload.name);
    record_real(b, "size", (double)size);
    record_timing(b, t);
    record_text(b, "ratio_to", stills[0].workload.name);
    record_real(b, "ratio", ratio);
    record_close(b);
    printf("| %s | %" PRId64 " | %.1f%s | %.2f |\n", stills[index].workload.name, size,
           cpu_ns * 1e-6, timing_mark(t), ratio);
    (void)fflush(stdout);
}

static enum status run_rounds(struct bench *b, struct still *s, float *image, struct error *e)
{
    enum status status = STATUS_OK;
    for (int64_t round = -1; round < b->o.iterations && !status; round++)
        for (int i = 0; i < STILLS && !status; i++) {
            const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
            status = engine_cpu.run(s[i].plan, &s[i].r, image, NULL, e);
            if (round >= 0)
                timing_add(&s[i].timing, (double)(clock_cpu_ns() - cpu),
                           (double)(clock_ns() - wall));
        }
    return status;
}

enum status bench_smear(struct bench *b, struct error *e)
{
    const int64_t size = b->o.has_sizes ? b->sizes[0] : stills[0].workload.size;
    struct still s[STILLS] = {0};
    float *image = mem_array((size_t)(size * size), sizeof *image);
    enum status status = image ? STATUS_OK : error_memory(e, "the image");
    for (int i = 0; i < STILLS && !status; i++)
        status = open_still(&s[i], i, size, e);
    if (!status)
        status = run_rounds(b, s, image, e);
    printf("\n| 20 domains, 3 x 3 subpixels | size | frame, CPU ms | times one layer |\n"
           "|---|---|---|---|\n");
    for (int i = 0; i < STILLS; i++) {
        if (!status)
            report(b, s, i, size);
        if (s[i].plan)
            engine_cpu.destroy(&s[i].plan);
        recipe_free(&s[i].r);
        experiment_free(&s[i].x);
    }
    mem_free(image);
    return status;
}
