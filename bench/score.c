/*
 * Measures bragg-score: how many frames of about 100 spots it scores per second on one core.  The
 * rate comes from the difference between a short and a long result, so the start does not count.
 * Also measures its memory while it follows a result, which must not grow with the result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* The same 100 stills, once and 20 times, as ground truth and as result. */
static const char MAKE[] =
    "bragg-geometry --quiet --detpixels=128 --pixel=0.8 --distance=120 --ncells=20 --oversample=1 |"
    " bragg-orient --quiet --frames=100 --random --seed=3 |"
    " bragg-intensity --quiet --reflections=5 | bragg-tap --quiet --record=some.rec && "
    "bragg-replay --quiet some.rec | bragg-write --quiet --reflections=few.stream few.nxs && "
    "bragg-replay --quiet --loop=20 some.rec |"
    " bragg-write --quiet --reflections=many.stream many.nxs";

enum { FEW, MANY, BEGUN, FOLLOWED, RUNS };
static const struct {
    const char *name, *option, *truth, *result;
} runs[RUNS] = {
    [FEW] = {"of short ground truth", "--angle=1", "few.nxs", "few.stream"},
    [MANY] = {"of long ground truth", "--angle=1", "many.nxs", "many.stream"},
    [BEGUN] = {"of long ground truth, followed", "--follow=0.5", "many.nxs", "few.stream"},
    [FOLLOWED] = {"of long ground truth, followed", "--follow=0.5", "many.nxs", "many.stream"},
};

struct scored {
    struct timing timing;
    double peak_bytes, frames, spots;
};

/* The number behind `name` in the JSON object that the program wrote, from the group on. */
static double figure(const char *folder, const char *group, const char *name)
{
    char path[192], text[4096];
    (void)snprintf(path, sizeof path, "%s/score.json", folder);
    FILE *in = fopen(path, "r");
    const size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
    if (in)
        (void)fclose(in);
    text[n] = 0;
    const char *at = strstr(text, group);
    at = at ? strstr(at, name) : NULL;
    return at ? strtod(at + strlen(name), NULL) : 0.0;
}

static enum status run_once(const char *folder, int run, bool timed, struct scored *x,
                            struct error *e)
{
    struct process_cost cost;
    const char *const argv[] = {"bragg-score",   runs[run].option, "--json=score.json",
                                runs[run].truth, runs[run].result, NULL};
    const enum status s = process_measure(argv, folder, 1, &cost, e);
    if (s)
        return s;
    if (timed)
        timing_add(&x->timing, cost.cpu_ns, cost.wall_ns);
    x->peak_bytes = fmax(x->peak_bytes, cost.peak_bytes);
    x->frames = figure(folder, "{", "\"frames\":");
    x->spots = figure(folder, "\"spots\":", "\"found\":");
    return STATUS_OK;
}

static double cpu_ns(const struct scored *x)
{
    return timing_median(x->timing.cpu_ns, x->timing.count);
}

static void report(struct bench *b, const struct scored x[RUNS])
{
    const double rate =
        (x[MANY].spots - x[FEW].spots) / 100.0 / ((cpu_ns(&x[MANY]) - cpu_ns(&x[FEW])) * 1e-9);
    printf("\n| frames of a result | spots | CPU ms | most memory, MiB |\n|---|---|---|---|\n");
    for (int i = 0; i < RUNS; i++) {
        record_open(b, "score");
        record_text(b, "result", runs[i].name);
        record_real(b, "frames", x[i].frames);
        record_real(b, "spots", x[i].spots);
        record_timing(b, &x[i].timing);
        record_real(b, "peak_bytes", x[i].peak_bytes);
        if (i == MANY)
            record_real(b, "frames_of_100_spots_per_s", rate);
        record_close(b);
        printf("| %.0f %s | %.0f | %.1f%s | %.1f |\n", x[i].frames, runs[i].name, x[i].spots,
               cpu_ns(&x[i]) * 1e-6, timing_mark(&x[i].timing), x[i].peak_bytes / 1048576.0);
    }
    printf("\nbragg-score: %.0f frames of 100 spots a second.\n", rate);
    (void)fflush(stdout);
}

enum status bench_score(struct bench *b, struct error *e)
{
    struct scored x[RUNS] = {0};
    char folder[128];
    double make_cpu_ns, make_wall_ns;
    const char *const argv[] = {"sh", "-c", MAKE, NULL};
    enum status s = folder_make(b, "score", folder, sizeof folder, e);
    if (s)
        return s;
    s = process_run(argv, folder, 1, &make_cpu_ns, &make_wall_ns, e);
    for (int64_t round = -1; round < b->o.iterations && !s; round++)
        for (int i = 0; i < RUNS && !s; i++)
            s = run_once(folder, i, round >= 0, &x[i], e);
    if (!s)
        report(b, x);
    if (!b->o.keep_artifacts)
        folder_remove(folder);
    return s;
}
