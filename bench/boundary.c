/*
 * Measures what the boundary between processes costs.  The same pipeline runs as processes that
 * share memory, and as processes that send pixels in messages, in turn.  The times are those of a
 * further frame when all processes run, as in the part `pipeline`.
 *
 * Computing is the CPU time of the callbacks of the stages, with the checksums of pixels that they
 * compute.  All other CPU time of the processes is the cost of the pipeline.  The fastest possible
 * pipeline is as fast as its slowest stage on a CPU core of its own.  With fewer cores than busy
 * stages, the limit is the computing time of all stages divided by the number of cores.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "chain.h"

enum { FEW = 10, SMALL_EDGE = 1024, SMALL_FACTOR = 20 };

/* How the stages are put together. */
enum how { SHARED, INLINE, HOWS };
static const char *const how_names[HOWS] = {"shared memory", "messages"};

static const struct mix {
    const char *name, *orient;
} MIXES[] = {
    {"one step", ""},
    {"25 domains", "--mosaic=0.5 --mosaic-domains=25"},
};
enum { NMIXES = sizeof MIXES / sizeof *MIXES };

struct boundary {
    struct bench *b;
    const struct mix *mix;
    int64_t edge, more;  // frames beyond the first FEW
    struct timing whole[HOWS], computing[HOWS];
    double slowest_ns[HOWS][ROUNDS_MAX];
};

static void make_command(const struct boundary *x, enum how how, int64_t frames, char *command)
{
    const char *inlined = how == INLINE ? " --transport=inline" : "";
    chain_still(x->b, command, x->edge, frames, x->mix->orient);
    (void)strncat(command, inlined, COMMAND_MAX - strlen(command) - 1);
    chain_rest(x->b, command, "7.5", "cbf", inlined);
}

static enum status run(const struct boundary *x, enum how how, int64_t frames, int64_t round,
                       struct run *r, struct error *e)
{
    char command[COMMAND_MAX], name[64];
    make_command(x, how, frames, command);
    (void)snprintf(name, sizeof name, "boundary-%d-%" PRId64 "-%" PRId64 "-%" PRId64, (int)how,
                   x->edge, frames, round);
    return chain_run(x->b, name, command, r, e);
}

static enum status run_how(struct boundary *x, enum how how, int64_t round, struct error *e)
{
    struct run few, many;
    enum status s = run(x, how, FEW, round, &few, e);
    if (s || (s = run(x, how, FEW + x->more, round, &many, e)))
        return s;
    const double frames = (double)x->more;
    double sum_ns = 0.0, slowest_ns = 0.0;
    for (size_t i = 0; i < many.ncosts; i++) {
        const struct cost *before = chain_find(&few, many.costs[i].stage);
        const double ns = 1e9 * (many.costs[i].compute_cpu_s - before->compute_cpu_s) / frames;
        sum_ns += ns;
        slowest_ns = fmax(slowest_ns, ns);
    }
    x->slowest_ns[how][x->whole[how].count] = slowest_ns;
    timing_add(&x->whole[how], (many.cpu_ns - few.cpu_ns) / frames,
               (many.wall_ns - few.wall_ns) / frames);
    timing_add(&x->computing[how], sum_ns, sum_ns);
    return STATUS_OK;
}

static void report(const struct boundary *x, enum how how)
{
    struct bench *b = x->b;
    const struct timing *t = &x->whole[how];
    const double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double wall_ns = timing_median(t->wall_ns, t->count);
    const double computing_ns = timing_median(x->computing[how].cpu_ns, t->count);
    const double slowest_ns = timing_median(x->slowest_ns[how], t->count);
    const double best_ns = fmax(slowest_ns, computing_ns / processors);
    record_open(b, "boundary");
    record_text(b, "pipeline", x->mix->name);
    record_text(b, "stages", how_names[how]);
    record_real(b, "size", (double)x->edge);
    record_timing(b, t);
    record_real(b, "frames_per_s", 1e9 / wall_ns);
    record_real(b, "computing_ms", computing_ns / 1e6);
    record_real(b, "slowest_stage_ms", slowest_ns / 1e6);
    record_real(b, "outside_computing", 1 - computing_ns / cpu_ns);
    record_real(b, "of_slowest_stage", slowest_ns / wall_ns);
    record_real(b, "of_possible", best_ns / wall_ns);
    record_close(b);
    printf("| %s | %" PRId64
           " | %s | %.2f | %.2f%s | %.2f | %.1f %% | %.2f | %.0f %% | %.0f %% |\n",
           x->mix->name, x->edge, how_names[how], 1e9 / wall_ns, cpu_ns / 1e6, timing_mark(t),
           computing_ns / 1e6, 100 * (1 - computing_ns / cpu_ns), slowest_ns / 1e6,
           100 * slowest_ns / wall_ns, 100 * best_ns / wall_ns);
    (void)fflush(stdout);
}

static enum status run_size(struct bench *b, const struct mix *mix, int64_t edge, struct error *e)
{
    struct boundary x = {.b = b, .mix = mix, .edge = edge};
    x.more = b->o.frames * (edge <= SMALL_EDGE ? SMALL_FACTOR : 1);
    enum status s = STATUS_OK;
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (int how = 0; how < HOWS && !s; how++)
            s = run_how(&x, (enum how)how, round, e);
    for (int how = 0; how < HOWS && !s; how++)
        report(&x, (enum how)how);
    return s;
}

enum status bench_boundary(struct bench *b, struct error *e)
{
    static const int64_t edges[] = {512, 4096};
    const int64_t *sizes = b->o.has_sizes ? b->sizes : edges;
    const size_t nsizes = b->o.has_sizes ? b->nsizes : sizeof edges / sizeof *edges;
    enum status s = STATUS_OK;
    printf("\n| pipeline | size | stages | frames/s | CPU ms/frame | computing | outside | slowest "
           "stage | of its rate | of what the processors allow |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < NMIXES; m++)
        for (size_t i = 0; i < nsizes && !s; i++)
            s = run_size(b, &MIXES[m], sizes[i], e);
    return s;
}
