/*
 * Measures the transport of images between processes that compute nothing (bench-hop.c), in
 * messages and in shared memory, and compares it with a pair of plain sockets.  Times are those of
 * one process without its first frames, so that the start does not count.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench.h"

enum { WARM_FRAMES = 10, LONG_FACTOR = 20, MESSAGES_FACTOR = 4 };

/* A pipeline, and the process whose CPU time and memory count. */
static const struct contestant {
    const char *name, *script, *role;
    int factor;  // frames beyond WARM_FRAMES, in units of --frames
} CONTESTANTS[] = {
    {"PUSH/PULL", "bench-hop pull $P --endpoint=ipc://s | bench-hop push $P --endpoint=ipc://s",
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

static enum status run_once(struct bench *b, const struct contestant *who, int64_t edge,
                            struct hop_cost *c, struct error *e)
{
    char folder[192], script[640];
    double cpu_ns, wall_ns;
    enum status s = folder_make(b, "hop", folder, sizeof folder, e);
    if (s)
        return s;
    (void)snprintf(script, sizeof script,
                   "P='--report=report --pixels=%" PRId64 " --frames=%" PRId64 "'; %s", edge,
                   WARM_FRAMES + b->o.frames * who->factor, who->script);
    const char *const argv[] = {"sh", "-c", script, NULL};
    s = process_run(argv, folder, 1, &cpu_ns, &wall_ns, e);
    if (!s && !hop_report(folder, who->role, c))
        s = error_set(e, STATUS_FAILED, "%s: a process reported nothing", who->name);
    folder_remove(folder);
    return s;
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
            struct hop_cost c = {0};
            const enum status s = run_once(b, &CONTESTANTS[i], edge, &c, e);
            if (s)
                return s;
            timing_add(&times[i], c.cpu_ns, c.wall_ns);
            resident[i] = fmax(resident[i], c.resident);
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
