/*
 * Measures fits of many frames by bragg-refine --part, in one process and in two, and the time in
 * which bragg-refine --gather combines the fits, for one parameter that all frames share.
 */
#include <inttypes.h>

#include "chain.h"

enum { FRAMES_EACH = 25, PROCESSES_MAX = 2 };  // frames for each of --frames

/* Every process of bragg-refine as a line of statistics; wall_s is that of the run. */
static const char COMMAND[] =
    "bragg-geometry --quiet --detpixels=100 --pixel=0.6 --distance=70 --oversample=2 "
    "--default-F=100 --cell=70,80,90,90,90,90 --ncells=8 --fluence=6e26 2>/dev/null | "
    "bragg-orient --quiet --frames=%" PRId64 " --random 2>/dev/null | "
    "bragg-intensity --quiet --threads=1 | bragg-noise --quiet --threads=1 --readout=1 | "
    "bragg-tap --quiet --overwrite --record=noisy.rec && "
    "printf '%%s\n' 'stages:' '- {name: replay, args: [noisy.rec]}' "
    "'- {name: refine, count: %d, args: [--part, --threads=1, --readout=1, --background=0, "
    "\"--parameters=rot,cell,scale\", --share=distance]}' "
    "'- {name: gather, program: bragg-refine, args: [--gather, --overwrite, --table=fits.tsv]}' "
    ">run.yaml && begin=$(date +%%s.%%N) && bragg-run --quiet --stats run.yaml >told 2>&1 && "
    "awk -v wall=$(echo $(date +%%s.%%N) $begin | awk '{ print $1 - $2 }') "
    "'/^(refine|gather)/ { printf \"{\\\"stage\\\":\\\"%%s\\\",\\\"cpu_s\\\":%%s,"
    "\\\"wall_s\\\":%%s}\\n\", $1, $3, wall }' told >stats";

/* Fits, all processes together, and the gathering. */
struct taken {
    struct timing fits, gather;
};

static enum status run_once(struct bench *b, int64_t frames, int processes, struct taken *t,
                            struct error *e)
{
    char command[COMMAND_MAX];
    struct run r = {0};
    double cpu_s = 0.0;
    (void)snprintf(command, sizeof command, COMMAND, frames, processes);
    const enum status s = chain_run(b, "gather", command, &r, e);
    if (s)
        return s;
    if (r.ncosts != (size_t)processes + 1)
        return error_set(e, STATUS_FAILED,
                         "bragg-refine: %zu processes reported their time; expected %d", r.ncosts,
                         processes + 1);
    for (int i = 0; i < processes; i++)
        cpu_s += r.costs[i].cpu_s;
    const struct cost *last = &r.costs[processes];
    timing_add(&t->fits, 1e9 * cpu_s, 1e9 * last->wall_s);
    timing_add(&t->gather, 1e9 * last->cpu_s, 1e9 * last->wall_s);
    return STATUS_OK;
}

static void report(struct bench *b, int64_t frames, int processes, const char *what,
                   const struct timing *t)
{
    const double cpu_ms = 1e-6 * timing_median(t->cpu_ns, t->count);
    record_open(b, "gather");
    record_text(b, "contestant", what);
    record_real(b, "frames", (double)frames);
    record_real(b, "processes", processes);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %d | %.1f%s | %.1f | %.3f |\n", what, processes, cpu_ms, timing_mark(t),
           1e-6 * timing_median(t->wall_ns, t->count), cpu_ms / (double)frames);
}

enum status bench_gather(struct bench *b, struct error *e)
{
    const int64_t frames = FRAMES_EACH * b->o.frames;
    struct taken taken[PROCESSES_MAX] = {0};
    enum status s = STATUS_OK;
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (int i = 0; i < PROCESSES_MAX && !s; i++)
            s = run_once(b, frames, i + 1, &taken[i], e);
    if (s)
        return s;
    printf("\n%" PRId64
           " frames\n\n| what | processes that fit | CPU ms | wall ms of the run | CPU ms/frame |\n"
           "|---|---|---|---|---|\n",
           frames);
    for (int i = 0; i < PROCESSES_MAX; i++) {
        report(b, frames, i + 1, "fits", &taken[i].fits);
        report(b, frames, i + 1, "gathering", &taken[i].gather);
    }
    return STATUS_OK;
}
