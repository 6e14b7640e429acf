/*
 * Stage programs as a user runs them, found on PATH, and a nanoBragg-compatible peer
 * that makes the same kind of frame in one process.
 *
 * Cold: new processes to one frame on the disk.  The parts come from the statistics of
 * the stages: start is what passes before the last stage is connected, load the
 * geometry stage's work, compute that of the intensity stage, and the rest is meeting
 * and handing on.  Warm: what each further frame of the same processes costs.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "chain.h"
#include "workload.h"

/* --- cold and warm -------------------------------------------------------- */

enum { TOTAL, START, LOAD, COMPUTE, REST, WARM, PARTS };
static const char *const part_names[PARTS] = {"total", "start", "load", "compute", "rest", "warm"};

static void split(const struct cost *costs, size_t n, double total_ns, int64_t frames,
                  double warm_ns, struct timing t[PARTS])
{
    double longest_s = 0.0;
    for (size_t i = 0; i < n; i++)
        longest_s = fmax(longest_s, costs[i].wall_s);
    const double load = 1e9 * chain_find(costs, n, "bragg-geometry")->compute_s;
    const double compute = 1e9 * chain_find(costs, n, "bragg-intensity")->compute_s;
    const double start = fmax(0.0, total_ns - 1e9 * longest_s);
    const double ns[PARTS] = {total_ns,
                              start,
                              load,
                              compute,
                              total_ns - start - load - compute,
                              (warm_ns - total_ns) / (double)(frames - 1)};
    for (int i = 0; i < PARTS; i++)
        timing_add(&t[i], ns[i], ns[i]);
}

static enum status cold_round(struct bench *b, int64_t edge, int64_t round, struct timing t[PARTS],
                              struct timing *peer, struct error *e)
{
    char command[COMMAND_MAX], name[48], folder[128];
    struct cost costs[STAGES_MAX], more[STAGES_MAX];
    size_t n = 0, nmore;
    double cpu_ns, wall_ns, warm_ns;
    chain_still(b, command, edge, 1, "");
    chain_stage(b, command, "bragg-write", "frame_%d.raw");
    (void)snprintf(name, sizeof name, "cold-%" PRId64 "-%" PRId64, edge, round);
    enum status s = chain_run(b, name, command, &cpu_ns, &wall_ns, costs, &n, e);
    chain_still(b, command, edge, b->o.frames, "");
    chain_stage(b, command, "bragg-write", "frame_%d.raw");
    (void)snprintf(name, sizeof name, "warm-%" PRId64 "-%" PRId64, edge, round);
    if (s || (s = chain_run(b, name, command, &cpu_ns, &warm_ns, more, &nmore, e)))
        return s;
    split(costs, n, wall_ns, b->o.frames, warm_ns, t);
    if (!b->o.peer)
        return STATUS_OK;
    struct words words;
    workload_words(&workloads[0], edge, &words);
    words.argv[0] = b->o.peer;
    for (const char *const *word = (const char *const[]){"-nonoise", "-nopgm", NULL}; *word; word++)
        words.argv[words.argc++] = *word;
    words.argv[words.argc] = NULL;
    if ((s = folder_make(b, "peer", folder, sizeof folder, e)))
        return s;
    s = process_run(words.argv, folder, b->o.threads, &cpu_ns, &wall_ns, e);
    folder_remove(folder);
    timing_add(peer, cpu_ns, wall_ns);
    return s;
}

static enum status cold_size(struct bench *b, int64_t edge, struct error *e)
{
    struct timing t[PARTS] = {{0}}, peer = {0};
    enum status s = STATUS_OK;
    for (int64_t round = 0; round < b->o.processes && !s; round++)
        s = cold_round(b, edge, round, t, &peer, e);
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
    record_real(b, "peer_ms", peer_ms);
    record_close(b);
    printf(peer.count ? " | %.1f |\n" : " | |\n", peer_ms);
    (void)fflush(stdout);
    return STATUS_OK;
}

enum status bench_cold(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf(
        "\nWall ms of new processes to the first frame on the disk, and of each further frame\n\n"
        "| size | cold | start | load | compute | meeting, handing on | warm | peer, whole process "
        "|\n|---|---|---|---|---|---|---|---|\n");
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
} KINDS[] = {
    {"background of 3 photons, compressed", "7.5", "cbf"},
    {"background of 40 photons, SMV", "100", "img"},
};
enum { NKINDS = sizeof KINDS / sizeof *KINDS };

struct chain {
    struct bench *b;
    const struct kind *kind;
    int64_t edge;
    struct timing warm, cold, peer;  // warm: of one frame; cold: of the whole long run
    struct cost few[STAGES_MAX], many[STAGES_MAX];
    size_t nfew, nmany;
};

static void chain_command(const struct chain *c, char *command, int64_t frames)
{
    char options[64];
    chain_still(c->b, command, c->edge, frames, "");
    (void)snprintf(options, sizeof options, "--threads=1 --water=%s", c->kind->water_um);
    chain_stage(c->b, command, "bragg-background", options);
    chain_stage(c->b, command, "bragg-noise", "--threads=1");
    (void)snprintf(options, sizeof options, "frame_%%04d.%s", c->kind->suffix);
    chain_stage(c->b, command, "bragg-write", options);
}

static enum status chain_peer(struct chain *c, struct error *e)
{
    struct words words;
    char folder[128];
    double cpu_ns, wall_ns;
    workload_words(&workloads[0], c->edge, &words);
    words.argv[0] = c->b->o.peer;
    for (const char *const *w = (const char *const[]){"-water", c->kind->water_um, "-nopgm", NULL};
         *w; w++)
        words.argv[words.argc++] = *w;
    words.argv[words.argc] = NULL;
    enum status s = folder_make(c->b, "peer", folder, sizeof folder, e);
    if (s)
        return s;
    s = process_run(words.argv, folder, 1, &cpu_ns, &wall_ns, e);
    folder_remove(folder);
    timing_add(&c->peer, cpu_ns, wall_ns);
    return s;
}

static enum status chain_round(struct chain *c, int64_t round, struct error *e)
{
    const struct bench *b = c->b;
    const double more = (double)(b->o.frames - FEW);
    char command[COMMAND_MAX], name[48];
    double cpu[2], wall[2];
    chain_command(c, command, FEW);
    (void)snprintf(name, sizeof name, "pipeline-few-%s-%" PRId64, c->kind->suffix, round);
    enum status s = chain_run(b, name, command, &cpu[0], &wall[0], c->few, &c->nfew, e);
    chain_command(c, command, b->o.frames);
    (void)snprintf(name, sizeof name, "pipeline-%s-%" PRId64, c->kind->suffix, round);
    if (s || (s = chain_run(b, name, command, &cpu[1], &wall[1], c->many, &c->nmany, e)))
        return s;
    timing_add(&c->warm, (cpu[1] - cpu[0]) / more, (wall[1] - wall[0]) / more);
    timing_add(&c->cold, cpu[1], wall[1]);
    return b->o.peer ? chain_peer(c, e) : STATUS_OK;
}

/* Compute, codec and waits are wall time of the stage, so on a busy machine they may
 * exceed its CPU time. */
static void report_stage(const struct chain *c, const struct cost *many)
{
    static const char *const names[] = {"cpu_ms",   "compute_cpu_ms", "compute_ms",
                                        "codec_ms", "wait_in_ms",     "wait_out_ms"};
    const struct cost *few = chain_find(c->few, c->nfew, many->stage);
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
        for (size_t i = 0; i < chains[k].nmany; i++)
            report_stage(&chains[k], &chains[k].many[i]);
    }
    return s;
}
