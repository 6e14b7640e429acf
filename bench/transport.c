/*
 * The transport: images between processes that compute nothing (bench-hop.c), in
 * messages and in shared memory, beside a bare pair of sockets.  Each figure is the
 * difference of a long and a short run over that of their frames: starting costs nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench.h"

enum { SHORT_FRAMES = 10, LONG_FACTOR = 20, MESSAGES_FACTOR = 4 };

/* A pipeline: who takes part, and the process whose CPU time and memory count. */
static const struct contestant {
    const char *name, *script, *role;
    int factor;  // frames of the long run, beyond SHORT_FRAMES, in units of --frames
} CONTESTANTS[] = {
    {"PUSH/PULL", "bench-hop push $P --endpoint=ipc://s & bench-hop pull $P --endpoint=ipc://s",
     "pull", MESSAGES_FACTOR},
    {"one hop in messages",
     "bench-hop first $P | bench-hop source $P | bench-hop make $P --transport=inline | "
     "bench-hop sink $P",
     "sink", MESSAGES_FACTOR},
    {"one hop in shared memory",
     "bench-hop first $P | bench-hop source $P | bench-hop make $P | bench-hop sink $P", "sink",
     LONG_FACTOR},
    {"a stage between, messages",
     "bench-hop first $P | bench-hop source $P | bench-hop make $P --transport=inline | "
     "bench-hop null $P --transport=inline | bench-hop sink $P",
     "null", MESSAGES_FACTOR},
    {"a stage between, shared memory",
     "bench-hop first $P | bench-hop source $P | bench-hop make $P | bench-hop null $P | "
     "bench-hop sink $P",
     "null", LONG_FACTOR},
    {"the same, copies, window 2",
     "bench-hop first $P | bench-hop source $P --window=2 | bench-hop make $P --touch | "
     "bench-hop null $P --touch | bench-hop sink $P",
     "null", MESSAGES_FACTOR},
};
enum { NCONTESTANTS = sizeof CONTESTANTS / sizeof *CONTESTANTS };

struct cost {
    double cpu_s, wall_s, resident;  // the last in bytes
};

static bool read_report(const char *folder, const char *role, struct cost *c)
{
    char path[256], name[32];
    double cpu_s, kib;
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/report", folder);
    FILE *in = fopen(path, "r");
    while (in && fscanf(in, "%31s %lf %lf", name, &cpu_s, &kib) == 3)
        if (strcmp(name, role) == 0) {
            *c = (struct cost){.cpu_s = cpu_s, .wall_s = c->wall_s, .resident = kib * 1024};
            found = true;
        }
    if (in)
        (void)fclose(in);
    return found;
}

static enum status run_once(struct bench *b, const struct contestant *who, int64_t edge,
                            int64_t frames, struct cost *c, struct error *e)
{
    char folder[192], script[640];
    double cpu_ns, wall_ns;
    enum status s = folder_make(b, "hop", folder, sizeof folder, e);
    if (s)
        return s;
    (void)snprintf(script, sizeof script,
                   "P='--report=report --pixels=%" PRId64 " --frames=%" PRId64 "'; %s; wait", edge,
                   frames, who->script);
    const char *const argv[] = {"sh", "-c", script, NULL};
    s = process_run(argv, folder, 1, &cpu_ns, &wall_ns, e);
    c->wall_s = wall_ns * 1e-9;
    if (!s && !read_report(folder, who->role, c))
        s = error_set(e, STATUS_FAILED, "%s: a process reported nothing", who->name);
    folder_remove(folder);
    return s;
}

/* One long and one short run; the costs of a frame. */
static enum status run_both(struct bench *b, const struct contestant *who, int64_t edge,
                            struct timing *t, double *resident, struct error *e)
{
    struct cost less, more;
    const int64_t extra = b->o.frames * who->factor;
    enum status s = run_once(b, who, edge, SHORT_FRAMES, &less, e);
    if (!s)
        s = run_once(b, who, edge, SHORT_FRAMES + extra, &more, e);
    if (s)
        return s;
    timing_add(t, 1e9 * (more.cpu_s - less.cpu_s) / (double)extra,
               1e9 * (more.wall_s - less.wall_s) / (double)extra);
    *resident = fmax(*resident, more.resident);
    return STATUS_OK;
}

static void report(struct bench *b, const struct contestant *who, int64_t edge,
                   const struct timing *t, double resident, double bare_ns)
{
    const double bytes = 4.0 * (double)(edge * edge);
    const double wall_ns = timing_median(t->wall_ns, t->count);
    record_open(b, "transport");
    record_text(b, "contestant", who->name);
    record_text(b, "process", who->role);
    record_real(b, "bytes", bytes);
    record_real(b, "resident_frames", resident / bytes);
    record_real(b, "throughput_of_push_pull", bare_ns / wall_ns);
    record_timing(b, t);
    record_close(b);
    printf("| %s | %s | %.2f | %.3f%s | %.2f | %.2f | %.1f |\n", who->name, who->role,
           bytes / 0x1p20, timing_median(t->cpu_ns, t->count) / 1e6, timing_mark(t), wall_ns / 1e6,
           bare_ns / wall_ns, resident / bytes);
}

static enum status run_size(struct bench *b, int64_t edge, struct error *e)
{
    struct timing times[NCONTESTANTS] = {{0}};
    double resident[NCONTESTANTS] = {0};
    for (int64_t round = 0; round < b->o.iterations; round++)
        for (int i = 0; i < NCONTESTANTS; i++) {
            const enum status s = run_both(b, &CONTESTANTS[i], edge, &times[i], &resident[i], e);
            if (s)
                return s;
        }
    const double bare_ns = timing_median(times[0].wall_ns, times[0].count);
    for (int i = 0; i < NCONTESTANTS; i++)
        report(b, &CONTESTANTS[i], edge, &times[i], resident[i], bare_ns);
    return STATUS_OK;
}

enum status bench_transport(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| transport | process | MiB | its CPU ms/frame | wall ms/frame | of PUSH/PULL | "
           "resident frames |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < b->nsizes && !s; i++)
        s = run_size(b, b->sizes[i], e);
    return s;
}
