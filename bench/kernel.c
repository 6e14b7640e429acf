/*
 * Measures the physics loop: every workload, engine and instruction set, and the peer.
 *
 * Our loop is timed with the CPU time of the process around engine->run.  A peer is a whole
 * process: it is run once with all pixels and once with `-roi 0 0 0 0`, in the same round and in an
 * empty folder.  The difference of the two CPU times is its physics loop, because the start, the
 * reading of the F table and the writing of files of equal size cancel.  Before the first round,
 * the first image of each contestant is compared with that of the reference engine.  Another image
 * ends the run.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "bench.h"
#include "engine/engine.h"
#include "workload.h"

enum { CONTESTANTS_MAX = 8 };

/* A round lasts at least so long: the kernel books the time of other threads by the
 * clock tick. */
#define ROUND_NS 5e7

struct contestant {
    const char *name;
    const struct engine *engine;  // NULL: the peer
    const char *isa;
    int64_t threads;
    struct plan *plan;
    struct timing timing;
    struct agreement agreement;
    uint32_t checksum;
};

/* One workload at one size. */
struct race {
    struct bench *b;
    const struct workload *w;
    int64_t size;
    struct words words;
    struct experiment x;
    struct recipe r;
    size_t count;
    float *image, *believed;
    double steps;
    struct contestant contestants[CONTESTANTS_MAX];
    size_t n;
    char folder[128], table[160];  // of the peer
};

static void add(struct race *race, const char *name, const struct engine *engine, const char *isa,
                int64_t threads)
{
    race->contestants[race->n++] =
        (struct contestant){.name = name, .engine = engine, .isa = isa, .threads = threads};
}

/* The first is what ratios refer to: the peer, or else the reference. */
static void line_up(struct race *race)
{
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    const struct bench_options *o = &race->b->o;
    if (o->peer)
        add(race, "peer", NULL, "", o->threads);
    if (o->engine == ENGINE_REFERENCE || (o->engine == ENGINE_ALL && !o->peer))
        add(race, "reference", &engine_reference, "", o->threads);
    const char *best = NULL;
    for (int i = 0; i < 3 && o->engine != ENGINE_REFERENCE; i++) {
        if (o->isa && o->isa != i + 1)
            continue;
        struct plan *probe;  // not every machine has every instruction set
        if (engine_cpu.create(&probe, &race->x,
                              &(struct engine_options){.threads = 1, .isa = isas[i]}, NULL))
            continue;
        engine_cpu.destroy(&probe);
        add(race, "cpu", &engine_cpu, best = isas[i], 1);
    }
    const int64_t threads = o->has_threads ? o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (best && threads > 1)
        add(race, "cpu", &engine_cpu, best, threads);
}

/* The peer's command line in its folder; `all`: all pixels, else one. */
static enum status peer_run(struct race *race, const struct contestant *c, bool all, double *cpu_ns,
                            double *wall_ns, struct error *e)
{
    const char *argv[WORDS_MAX + 16];
    const char *const files[] = {"-floatfile", "float.bin", "-intfile", "int.img",
                                 "-nonoise",   "-nopgm",    "-hkl",     race->table};
    const char *const roi[] = {"-roi", "0", "0", "0", "0"};
    int argc = 0;
    argv[argc++] = race->b->o.peer;
    for (int i = 1; i < race->words.argc; i++)
        argv[argc++] = race->words.argv[i];
    for (size_t i = 0; i < sizeof files / sizeof *files - (race->w->table ? 0 : 2); i++)
        argv[argc++] = files[i];
    for (size_t i = 0; i < sizeof roi / sizeof *roi && !all; i++)
        argv[argc++] = roi[i];
    argv[argc] = NULL;
    enum status s =
        folder_make(race->b, all ? "peer" : "peer-one", race->folder, sizeof race->folder, e);
    return s ? s : process_run(argv, race->folder, c->threads, cpu_ns, wall_ns, e);
}

/* One round of the peer; its image too, if that is asked for. */
static enum status peer_time(struct race *race, const struct contestant *c, float *image,
                             double *cpu_ns, double *wall_ns, struct error *e)
{
    double cpu_one, wall_one;
    enum status s = peer_run(race, c, true, cpu_ns, wall_ns, e);
    char path[160];
    (void)snprintf(path, sizeof path, "%s/float.bin", race->folder);
    if (!s && image)
        s = floats_read(path, image, race->count, e);
    folder_remove(race->folder);
    if (s)
        return s;
    s = peer_run(race, c, false, &cpu_one, &wall_one, e);
    folder_remove(race->folder);
    *cpu_ns -= cpu_one;
    *wall_ns -= wall_one;
    return s;
}

/* `first`: the image is wanted, not the time. */
static enum status one_round(struct race *race, struct contestant *c, bool first, double *cpu_ns,
                             double *wall_ns, struct error *e)
{
    if (!c->engine)
        return peer_time(race, c, first ? race->image : NULL, cpu_ns, wall_ns, e);
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    enum status s;
    int runs = 0;
    do {
        s = c->engine->run(c->plan, &race->r, race->image, NULL, e);
        runs++;
        *wall_ns = (double)(clock_ns() - wall);
    } while (!s && !first && *wall_ns < ROUND_NS);
    *cpu_ns = (double)(clock_cpu_ns() - cpu) / runs;
    *wall_ns /= runs;
    return s;
}

/* The image of the reference engine, by all processors. */
static enum status believe(struct race *race, enum physics physics, float *image, struct error *e)
{
    struct experiment x;
    struct recipe r;
    struct plan *plan = NULL;
    const struct engine_options options = {.threads = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    enum status s = workload_build(race->w, &race->words, physics, &x, &r, e);
    if (!s)
        s = engine_reference.create(&plan, &x, &options, e);
    if (!s)
        s = engine_reference.run(plan, &r, image, NULL, e);
    if (plan)
        engine_reference.destroy(&plan);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

static enum status keep(const struct race *race, const struct contestant *c, struct error *e)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%.16s-%" PRId64 "-%s-%s.raw", race->b->scratch,
                   race->w->name, race->size, c->name, c->isa);
    for (char *p = path + strlen(race->b->scratch) + 1; *p; p++)
        *p = *p == ' ' || *p == ',' ? '_' : *p;
    FILE *out = fopen(path, "wb");
    const bool written = out && fwrite(race->image, sizeof(float), race->count, out) == race->count;
    if (!out || fclose(out) != 0 || !written)
        return error_errno(e, STATUS_FAILED, "%s", path);
    return STATUS_OK;
}

/* First images: compared, and the output buffer and plans warm. */
static enum status qualify(struct race *race, struct error *e)
{
    enum status s = believe(race, PHYSICS_PHYSICAL, race->believed, e);
    float *faithful = NULL;
    if (!s && race->b->o.peer && race->w->quirks) {
        faithful = mem_array(race->count, sizeof *faithful);
        s = believe(race, PHYSICS_FAITHFUL, faithful, e);
    }
    for (size_t i = 0; i < race->n && !s; i++) {
        struct contestant *c = &race->contestants[i];
        double cpu_ns, wall_ns;
        const struct engine_options options = {.threads = (int)c->threads,
                                               .isa = *c->isa ? c->isa : NULL,
                                               .precision =
                                                   (enum engine_precision)race->b->o.precision};
        if ((c->engine && (s = c->engine->create(&c->plan, &race->x, &options, e))) ||
            (s = one_round(race, c, true, &cpu_ns, &wall_ns, e)))
            break;
        c->agreement = image_compare(
            race->image, !c->engine && faithful ? faithful : race->believed, race->count);
        c->checksum = crc32c(0, race->image, race->count * sizeof *race->image);
        s = image_believe(&c->agreement, c->engine ? c->name : race->b->o.peer, e);
        if (!s && race->b->o.keep_artifacts)
            s = keep(race, c, e);
    }
    mem_free(faithful);
    return s;
}

/* How much sooner than with one thread a contestant is ready, by the clock; 1 where there is no
 * such row just before its own. */
static double speed_up(const struct race *race, const struct contestant *c)
{
    const struct contestant *one = c - 1;
    if (c->threads == 1 || c == race->contestants || one->engine != c->engine || one->threads != 1)
        return 1.0;
    return timing_median(one->timing.wall_ns, one->timing.count) /
           timing_median(c->timing.wall_ns, c->timing.count);
}

/* One row of the table and one record. */
static void report(struct race *race, struct contestant *c)
{
    struct bench *b = race->b;
    const struct timing *base = &race->contestants[0].timing, *t = &c->timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = timing_median(base->cpu_ns, base->count) / cpu_ns;
    const double ns_step = cpu_ns / race->steps;
    const double flops = race->w->flops / ns_step * 1e9;
    const double bytes =
        (4.0 * (double)race->count + (race->w->table ? 4.0 * race->steps : 0.0)) / cpu_ns * 1e9;
    char checksum[16];
    (void)snprintf(checksum, sizeof checksum, "%08" PRIx32, c->checksum);
    record_open(b, "kernel");
    record_text(b, "workload", race->w->name);
    record_real(b, "size", (double)race->size);
    record_text(b, "engine", c->name);
    record_text(b, "isa", c->isa);
    record_text(b, "precision", b->o.precision || c->engine != &engine_cpu ? "double" : "mixed");
    record_real(b, "threads", (double)c->threads);
    record_timing(b, t);
    record_real(b, "ns_per_step", ns_step);
    record_text(b, "ratio_to", race->contestants[0].name);
    record_real(b, "ratio", ratio);
    record_real(b, "speed_up", speed_up(race, c));
    record_real(b, "steps_per_s", 1e9 / ns_step);
    record_real(b, "flops_per_step", race->w->flops);
    record_real(b, "bytes_per_step", bytes / flops * race->w->flops);
    record_real(b, "share_of_peak_flops", flops / b->peak.flops);
    record_real(b, "share_of_peak_bytes", bytes / b->peak.bytes);
    record_text(b, "crc32c", checksum);
    record_real(b, "worst", c->agreement.worst);
    record_real(b, "jumps", c->agreement.jumps);
    record_real(b, "sum_error", c->agreement.sum_error);
    record_close(b);
    printf("| %s | %" PRId64 " | %s %s | %" PRId64
           " | %.2f%s | %.2f | %.2f | %.1f | %.1f | %.0f %% | %.1e |\n",
           race->w->name, race->size, c->name, c->isa, c->threads, ns_step, timing_mark(t),
           timing_median(t->wall_ns, t->count) / race->steps, speed_up(race, c),
           100.0 * timing_variation(t->cpu_ns, t->count), ratio, 100.0 * flops / b->peak.flops,
           c->agreement.worst);
    (void)fflush(stdout);
}

static enum status run_rounds(struct race *race, struct error *e)
{
    enum status s = qualify(race, e);
    for (int64_t round = 0; round < race->b->o.iterations && !s; round++)
        for (size_t i = 0; i < race->n && !s; i++) {
            double cpu_ns, wall_ns;
            s = one_round(race, &race->contestants[i], false, &cpu_ns, &wall_ns, e);
            timing_add(&race->contestants[i].timing, cpu_ns, wall_ns);
        }
    for (size_t i = 0; i < race->n; i++) {
        if (!s)
            report(race, &race->contestants[i]);
        if (race->contestants[i].plan)
            race->contestants[i].engine->destroy(&race->contestants[i].plan);
    }
    return s;
}

static enum status run_workload(struct bench *b, const struct workload *w, int64_t size,
                                struct error *e)
{
    struct race race = {.b = b, .w = w, .size = size};
    workload_words(w, size, &race.words);
    enum status s = workload_build(w, &race.words, PHYSICS_PHYSICAL, &race.x, &race.r, e);
    race.count = (size_t)(size * size);
    race.steps = s ? 0.0 : workload_steps(&race.x, &race.r);
    race.image = mem_array(race.count, sizeof *race.image);
    race.believed = mem_array(race.count, sizeof *race.believed);
    (void)snprintf(race.table, sizeof race.table, "%s/factors.hkl", b->scratch);
    if (!s && !(race.image && race.believed))
        s = error_memory(e, "the images");
    if (!s) {
        line_up(&race);
        s = race.n ? run_rounds(&race, e)
                   : error_set(e, STATUS_USAGE, "this CPU does not have the instructions of --isa");
    }
    mem_free(race.image);
    mem_free(race.believed);
    recipe_free(&race.r);
    experiment_free(&race.x);
    return s;
}

enum status bench_kernel(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    char table[160];
    (void)snprintf(table, sizeof table, "%s/factors.hkl", b->scratch);
    if (b->o.peer && (s = workload_write_table(table, e)))
        return s;
    printf("\n| workload | size | engine | threads | CPU ns/step | wall ns/step | speed-up | "
           "variation %% | ratio | of peak flops | worst error |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < nworkloads && !s; i++) {
        const struct workload *w = &workloads[i];
        if (!bench_wants(b, w->name))
            continue;
        if (!w->sweep && !b->o.has_sizes)
            s = run_workload(b, w, w->size, e);
        else
            for (size_t j = 0; j < b->nsizes && !s; j++)
                s = run_workload(b, w, b->sizes[j], e);
    }
    printf(
        "\nOf peak flops: what a loop over all steps needs against the measured peak of one core; "
        "steps that\nan engine can leave out count as done.  The cuda engine is not here:\n"
        "`make gpu-check` times it.\n");
    return s;
}
