/*
 * Measures how many workers one source can serve: a source of small frames and minimal workers
 * (bench-workers.c) run as fast as possible.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* A domain has 72 bytes, so a frame has 4 KiB. FACTOR: frames per unit of --frames. */
enum { DOMAINS = 51, FACTOR = 1000, WINDOW_EACH = 8 };

static const int64_t COUNTS[] = {1, 10, 100, 200, 400, 1000};
enum { NCOUNTS = sizeof COUNTS / sizeof *COUNTS };

static enum status run_once(struct bench *b, int64_t count, struct hop_cost *source,
                            struct hop_cost *workers, struct error *e)
{
    char folder[192], script[1024];
    double cpu_ns, wall_ns;
    enum status s = folder_make(b, "workers", folder, sizeof folder, e);
    if (s)
        return s;
    (void)snprintf(script, sizeof script,
                   "d=ipc://$PWD/data c=ipc://$PWD/control; bench-hop first --pixels=1 | "
                   "bench-hop source --quiet --frames=%" PRId64 " --domains=%d --window=%" PRId64
                   " --report=report --out=@$d --control=$c & "
                   "until [ -e data ] && [ -e control ]; do sleep 0.01; done; "
                   "bench-workers %" PRId64 " $d $c report && wait",
                   b->o.frames * FACTOR, DOMAINS,
                   count * WINDOW_EACH < 32 ? 32 : count * WINDOW_EACH, count);
    const char *const argv[] = {"sh", "-c", script, NULL};
    s = process_run(argv, folder, 1, &cpu_ns, &wall_ns, e);
    if (!s && !(hop_report(folder, "source", source) && hop_report(folder, "workers", workers)))
        s = error_set(e, STATUS_FAILED, "a source or its workers reported nothing");
    folder_remove(folder);
    return s;
}

static enum status run_count(struct bench *b, int64_t count, struct error *e)
{
    struct timing source = {0}, workers = {0};
    double resident = 0;
    for (int64_t round = 0; round < b->o.iterations; round++) {
        struct hop_cost one = {0}, many = {0};
        const enum status s = run_once(b, count, &one, &many, e);
        if (s)
            return s;
        timing_add(&source, one.cpu_ns, many.wall_ns);
        timing_add(&workers, many.cpu_ns, many.wall_ns);
        resident = fmax(resident, one.resident);
    }
    const double per_s = 1e9 / timing_median(source.wall_ns, source.count);
    const double workers_us = timing_median(workers.cpu_ns, workers.count) / 1e3;
    record_open(b, "workers");
    record_real(b, "workers", (double)count);
    record_real(b, "frames_per_s", per_s);
    record_real(b, "workers_cpu_us", workers_us);
    record_real(b, "source_resident_mb", resident / 1e6);
    record_timing(b, &source);
    record_close(b);
    printf("| %" PRId64 " | %.0f | %.1f%s | %.1f | %.0f |\n", count, per_s,
           timing_median(source.cpu_ns, source.count) / 1e3, timing_mark(&source), workers_us,
           resident / 1e6);
    (void)fflush(stdout);
    return STATUS_OK;
}

enum status bench_workers(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\nOne source, frames of 4 KiB, workers that compute nothing\n\n"
           "| workers | frames/s | source, CPU us/frame | workers, CPU us/frame | source, MB |\n"
           "|---|---|---|---|---|\n");
    for (size_t i = 0; i < NCOUNTS && !s; i++)
        s = run_count(b, COUNTS[i], e);
    return s;
}
