/*
 * Measures the programs of stages as a user runs them, found on PATH, and a peer that is compatible
 * with nanoBragg and makes the same kind of frame in one process.
 *
 * Cold: the time from the start of the processes to one frame on the disk.  The statistics of the
 * stages divide this time.  `start` ends when the sink is connected.  `load` is the time in which
 * bragg-geometry works.  `compute` is the time in which bragg-intensity works.  In the rest of the
 * time, stages connect and pass messages.
 *
 * Warm: the time of each further frame of the same processes.
 */
#include <inttypes.h>
#include <math.h>
#include <omp.h>

#include "chain.h"
#include "workload.h"

/* --- cold and warm -------------------------------------------------------- */

enum { TOTAL, START, LOAD, COMPUTE, REST, WARM, PARTS };
static const char *const part_names[PARTS] = {"total", "start", "load", "compute", "rest", "warm"};

static void split(const struct run *one, const struct run *more, int64_t frames,
                  struct timing t[PARTS])
{
    double longest_s = 0.0;
    for (size_t i = 0; i < one->ncosts; i++)
        longest_s = fmax(longest_s, one->costs[i].wall_s);
    const double load = 1e9 * chain_find(one, "bragg-geometry")->compute_s;
    const double compute = 1e9 * chain_find(one, "bragg-intensity")->compute_s;
    const double start = fmax(0.0, one->wall_ns - 1e9 * longest_s);
    const double ns[PARTS] = {one->wall_ns,
                              start,
                              load,
                              compute,
                              one->wall_ns - start - load - compute,
                              (more->wall_ns - one->wall_ns) / (double)(frames - 1)};
    for (int i = 0; i < PARTS; i++)
        timing_add(&t[i], ns[i], ns[i]);
}

/* The peer as one process for one frame; `more` are further options, ended by NULL. */
static enum status time_peer(const struct bench *b, int64_t edge, const char *const *more,
                             int64_t threads, struct timing *t, struct error *e)
{
    struct words words;
    char folder[128];
    double cpu_ns, wall_ns;
    workload_words(&workloads[0], edge, &words);
    words.argv[0] = b->o.peer;
    while (*more)
        words.argv[words.argc++] = *more++;
    words.argv[words.argc] = NULL;
    enum status s = folder_make(b, "peer", folder, sizeof folder, e);
    if (s)
        return s;
    s = process_run(words.argv, folder, threads, &cpu_ns, &wall_ns, e);
    folder_remove(folder);
    if (!s)
        timing_add(t, cpu_ns, wall_ns);
    return s;
}

static enum status run_photons(const struct bench *b, int64_t edge, int64_t frames, int64_t round,
                               struct run *r, struct error *e)
{
    char command[COMMAND_MAX], name[64];
    chain_still(b, command, edge, frames, "");
    chain_stage(b, command, "bragg-write", "frame_%d.raw");
    (void)snprintf(name, sizeof name, "photons-%" PRId64 "-%" PRId64 "-%" PRId64, edge, frames,
                   round);
    return chain_run(b, name, command, r, e);
}

/* One frame, and more of them; adds frames and set-ups of the longer run. */
static enum status cold_round(struct bench *b, int64_t edge, int64_t round, struct timing t[PARTS],
                              struct timing *peer, struct cost *sum, struct error *e)
{
    struct run one, more;
    enum status s = run_photons(b, edge, 1, round, &one, e);
    if (s || (s = run_photons(b, edge, b->o.frames, round, &more, e)))
        return s;
    split(&one, &more, b->o.frames, t);
    const struct cost *intensity = chain_find(&more, "bragg-intensity");
    sum->frames += intensity->frames;
    sum->setups += intensity->setups;
    if (!b->o.peer)
        return STATUS_OK;
    return time_peer(b, edge, (const char *const[]){"-nonoise", "-nopgm", NULL}, b->o.threads, peer,
                     e);
}

static enum status cold_size(struct bench *b, int64_t edge, struct error *e)
{
    struct timing t[PARTS] = {{0}}, peer = {0};
    struct cost sum = {0};
    enum status s = STATUS_OK;
    for (int64_t round = 0; round < b->o.processes && !s; round++)
        s = cold_round(b, edge, round, t, &peer, &sum, e);
    if (s)
        return s;
    record_open(b, "cold");
    record_real(b, "size", (double)edge);
    record_timing(b, &t[TOTAL]);
    printf("| %" PRId64, edge);
    for (int i = 0; i < PARTS; i++) {
        char key[32];
        const double ms = timing_median(t[i].wall_ns, t[i].count) / 1e6;
        (void)snprintf(key, sizeof key, "%s_ms", part_names[i]);
        record_real(b, key, ms);
        printf(" | %.1f%s", ms, i == TOTAL ? timing_mark(&t[i]) : "");
    }
    const double peer_ms = peer.count ? timing_median(peer.wall_ns, peer.count) / 1e6 : NAN;
    const double ready = sum.frames - sum.setups;  // frames that found the engine set up
    record_real(b, "setups", sum.setups);
    record_real(b, "setup_hits", ready);
    record_real(b, "peer_ms", peer_ms);
    record_close(b);
    printf(" | %.0f, %.0f", sum.setups, ready);
    printf(peer.count ? " | %.1f |\n" : " | |\n", peer_ms);
    (void)fflush(stdout);
    return STATUS_OK;
}

enum status bench_cold(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf(
        "\nWall ms of new processes to the first frame on the disk, and of each further frame\n\n"
        "| size | cold | start | load | compute | meeting, handing on | warm | set-ups, frames "
        "that found one "
        "| peer, whole process |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < b->nsizes && !s; i++)
        s = cold_size(b, b->sizes[i], e);
    return s;
}

/* --- the whole chain ------------------------------------------------------ */

/* A few frames, and more of them: the difference is what a frame costs once all runs. */
enum { FEW = 2 };

/* What is between the crystal and the disk. */
static const struct kind {
    const char *name, *water_um, *suffix;
    bool fused;  // background and noise are in the program of bragg-intensity
} KINDS[] = {
    {"background of 3 photons, compressed", "7.5", "cbf", false},
    {"background of 3 photons, compressed, --fuse", "7.5", "cbf", true},
    {"background of 40 photons, SMV", "100", "img", false},
};
enum { NKINDS = sizeof KINDS / sizeof *KINDS };

struct chain {
    struct bench *b;
    const struct kind *kind;
    int64_t edge;
    struct timing warm, cold, peer;  // warm: of one frame; cold: of the whole long run
    struct run few, many;            // the last ones
};

static enum status run_frames(const struct chain *c, int64_t frames, int64_t round, struct run *r,
                              struct error *e)
{
    const struct kind *kind = c->kind;
    char command[COMMAND_MAX], name[64], options[96];
    if (kind->fused) {
        chain_recipes(c->b, command, c->edge, frames, "");
        /* A program for all stages needs a thread for each CPU core, as users have by default. */
        const int threads = omp_get_num_procs();
        (void)snprintf(options, sizeof options,
                       "--threads=%d --fuse='background --water=%s' --fuse=noise", threads,
                       kind->water_um);
        chain_stage(c->b, command, "bragg-intensity", options);
        (void)snprintf(options, sizeof options, "--threads=%d frame_%%04d.%s", threads,
                       kind->suffix);
        chain_stage(c->b, command, "bragg-write", options);
    } else {
        chain_still(c->b, command, c->edge, frames, "");
        chain_rest(c->b, command, kind->water_um, kind->suffix, "");
    }
    (void)snprintf(name, sizeof name, "pipeline-%s%s-%" PRId64 "-%" PRId64, kind->suffix,
                   kind->fused ? "-fused" : "", frames, round);
    return chain_run(c->b, name, command, r, e);
}

static enum status chain_round(struct chain *c, int64_t round, struct error *e)
{
    const struct bench *b = c->b;
    const double more = (double)(b->o.frames - FEW);
    enum status s = run_frames(c, FEW, round, &c->few, e);
    if (s || (s = run_frames(c, b->o.frames, round, &c->many, e)))
        return s;
    timing_add(&c->warm, (c->many.cpu_ns - c->few.cpu_ns) / more,
               (c->many.wall_ns - c->few.wall_ns) / more);
    timing_add(&c->cold, c->many.cpu_ns, c->many.wall_ns);
    if (!b->o.peer)
        return STATUS_OK;
    return time_peer(b, c->edge, (const char *const[]){"-water", c->kind->water_um, "-nopgm", NULL},
                     1, &c->peer, e);
}

/* Compute, codec and waits are wall time of the stage, so on a busy machine they may
 * exceed its CPU time. */
static void report_stage(const struct chain *c, const struct cost *many)
{
    static const char *const names[] = {"cpu_ms",   "compute_cpu_ms", "compute_ms",
                                        "codec_ms", "wait_in_ms",     "wait_out_ms"};
    const struct cost *few = chain_find(&c->few, many->stage);
    const double unit = 1e3 / (double)(c->b->o.frames - FEW);
    const double s[] = {many->cpu_s - few->cpu_s,         many->compute_cpu_s - few->compute_cpu_s,
                        many->compute_s - few->compute_s, many->codec_s - few->codec_s,
                        many->wait_in_s - few->wait_in_s, many->wait_out_s - few->wait_out_s};
    record_open(c->b, "pipeline-stage");
    record_text(c->b, "stage", many->stage);
    record_text(c->b, "kind", c->kind->name);
    record_real(c->b, "size", (double)c->edge);
    printf("| %s", many->stage);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        record_real(c->b, names[i], s[i] * unit);
        printf(" | %.1f", s[i] * unit);
    }
    record_close(c->b);
    printf(" |\n");
}

static void report_chain(const struct chain *c)
{
    struct bench *b = c->b;
    const double wall_ms = timing_median(c->warm.wall_ns, c->warm.count) / 1e6;
    const double cpu_ms = timing_median(c->warm.cpu_ns, c->warm.count) / 1e6;
    const double whole_s = timing_median(c->cold.wall_ns, c->cold.count) / 1e9;
    const double peer_ms = c->peer.count ? timing_median(c->peer.cpu_ns, c->peer.count) / 1e6 : NAN;
    record_open(b, "pipeline");
    record_text(b, "kind", c->kind->name);
    record_real(b, "size", (double)c->edge);
    record_real(b, "frames", (double)b->o.frames);
    record_timing(b, &c->warm);
    record_real(b, "frames_per_s", 1e3 / wall_ms);
    record_real(b, "frames_per_s_with_start", (double)b->o.frames / whole_s);
    record_real(b, "peer_cpu_ms_per_frame", peer_ms);
    record_real(b, "ratio", peer_ms / cpu_ms);
    record_close(b);
    printf("\n%" PRId64 " x %" PRId64 ", one step, %s, Poisson, all processors: "
           "%.2f frames/s (%.2f with the start of %" PRId64 " frames),\n%.0f ms of CPU a frame%s",
           c->edge, c->edge, c->kind->name, 1e3 / wall_ms, (double)b->o.frames / whole_s,
           b->o.frames, cpu_ms, timing_mark(&c->warm));
    if (c->peer.count)
        printf("; the peer as one process a frame: %.0f ms of CPU, ratio %.1f", peer_ms,
               peer_ms / cpu_ms);
    printf(".  Of each further frame, in ms:\n\n| stage | CPU | in its callback | wall: compute | "
           "codec, "
           "checksum | wait in | wait out |\n|---|---|---|---|---|---|---|\n");
}

enum status bench_pipeline(struct bench *b, struct error *e)
{
    struct chain chains[NKINDS] = {{0}};
    enum status s = STATUS_OK;
    for (int k = 0; k < NKINDS; k++)
        chains[k] = (struct chain){.b = b, .kind = &KINDS[k], .edge = b->sizes[b->nsizes - 1]};
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (int k = 0; k < NKINDS && !s; k++)
            s = chain_round(&chains[k], round, e);
    for (int k = 0; k < NKINDS && !s; k++) {
        report_chain(&chains[k]);
        for (size_t i = 0; i < chains[k].many.ncosts; i++)
            report_stage(&chains[k], &chains[k].many.costs[i]);
    }
    return s;
}
