/*
 * How close a pipeline comes to the speed of its slowest stage.  A stage and the sinks after it
 * sleep instead of computing, so that many sinks fit on few cores.
 */
#include <inttypes.h>

#include "bench.h"

/* `FEW` frames fill the pipeline; the others are in units of --frames. */
enum { SLEEP_MS = 10, FEW = 50, EACH = 50 };

static const int64_t SINKS[] = {1, 4, 8};
enum { NSINKS = sizeof SINKS / sizeof *SINKS };

/* The slowest stage is the one before the sinks, or the sinks. */
static const struct kind {
    const char *slowest;
    int stage_ms, sinks_ms;  // sleep for a frame; of the sinks: all of them together
} KINDS[] = {{"stage", SLEEP_MS, SLEEP_MS * 7 / 10}, {"sinks", SLEEP_MS * 7 / 10, SLEEP_MS}};
enum { NKINDS = sizeof KINDS / sizeof *KINDS };

struct pace_case {
    const struct kind *kind;
    int64_t edge, sinks;
};

static enum status run_frames(const struct bench *b, const struct pace_case *c, int64_t frames,
                              double *cpu_ns, double *wall_ns, struct error *e)
{
    char folder[192], script[1024];
    enum status s = folder_make(b, "pace", folder, sizeof folder, e);
    if (s)
        return s;
    (void)snprintf(script, sizeof script,
                   "d=ipc://$PWD/data; bench-hop first --pixels=%" PRId64
                   " | bench-hop source --quiet --frames=%" PRId64
                   " | bench-hop make --sleep=%d --out=@$d & for i in $(seq %" PRId64 "); do "
                   "bench-hop sink --quiet --group=sinks --sleep=%" PRId64 " --in=$d & done; wait",
                   c->edge, frames, c->kind->stage_ms, c->sinks, c->kind->sinks_ms * c->sinks);
    const char *const argv[] = {"sh", "-c", script, NULL};
    s = process_run(argv, folder, 1, cpu_ns, wall_ns, e);
    folder_remove(folder);
    return s;
}

/* `FEW` frames, and more of them: the difference is what a frame costs once the pipeline is full.
 */
static enum status run_round(const struct bench *b, const struct pace_case *c, struct timing *t,
                             struct error *e)
{
    const int64_t more = EACH * b->o.frames;
    double cpu_ns[2], wall_ns[2];
    enum status s = run_frames(b, c, FEW, &cpu_ns[0], &wall_ns[0], e);
    if (s == STATUS_OK)
        s = run_frames(b, c, FEW + more, &cpu_ns[1], &wall_ns[1], e);
    if (s == STATUS_OK && wall_ns[1] < 1e6 * SLEEP_MS * (double)more)
        s = error_set(e, STATUS_FAILED,
                      "pace: %lld frames took %.3g ms; expected at least %d ms each. Put bench-hop "
                      "and the programs of braggpipe on PATH, as `make bench` does",
                      (long long)more, 1e-6 * wall_ns[1], SLEEP_MS);
    if (s == STATUS_OK)
        timing_add(t, (cpu_ns[1] - cpu_ns[0]) / (double)more,
                   (wall_ns[1] - wall_ns[0]) / (double)more);
    return s;
}

static enum status run_case(struct bench *b, const struct pace_case *c, struct error *e)
{
    struct timing t = {0};
    enum status s = STATUS_OK;
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        s = run_round(b, c, &t, e);
    if (s)
        return s;
    const double ms = timing_median(t.wall_ns, t.count) / 1e6, percent = 100 * SLEEP_MS / ms;
    record_open(b, "pace");
    record_text(b, "slowest", c->kind->slowest);
    record_real(b, "size", (double)c->edge);
    record_real(b, "sinks", (double)c->sinks);
    record_real(b, "percent", percent);
    record_timing(b, &t);
    record_close(b);
    printf("| %s | %" PRId64 " | %" PRId64 " | %.2f%s | %.1f |\n", c->kind->slowest, c->edge,
           c->sinks, ms, timing_mark(&t), percent);
    (void)fflush(stdout);
    return STATUS_OK;
}

enum status bench_pace(struct bench *b, struct error *e)
{
    static const int64_t edges[] = {64, 1024};
    const int64_t *sizes = b->o.has_sizes ? b->sizes : edges;
    const size_t nsizes = b->o.has_sizes ? b->nsizes : sizeof edges / sizeof *edges;
    enum status s = STATUS_OK;
    printf("\nA pipeline whose slowest stage sleeps %d ms per frame\n\n"
           "| slowest | size | sinks | ms/frame | %% of its speed |\n|---|---|---|---|---|\n",
           SLEEP_MS);
    for (size_t i = 0; i < nsizes && !s; i++)
        for (size_t k = 0; k < NSINKS && !s; k++)
            for (size_t kind = 0; kind < NKINDS && !s; kind++)
                s = run_case(b, &(struct pace_case){&KINDS[kind], sizes[i], SINKS[k]}, e);
    return s;
}
