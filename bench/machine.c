/* Describes the machine, the build and the peak performance. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "bench.h"
#include "engine/cpu/cpu.h"
#include "peak.h"

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { STREAM_ITEMS = 1 << 24, TRIES = 5 };

static void cpu_model(char *model, size_t size)
{
    char line[256];
    FILE *in = fopen("/proc/cpuinfo", "r");
    (void)snprintf(model, size, "unknown");
    while (in && fgets(line, sizeof line, in)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        (void)snprintf(model, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (in)
        (void)fclose(in);
}

/* The best of a few tries, since others can only slow it down. */
static double flops(const char *isa)
{
    double (*kernel)(long, float *) = strcmp(isa, "avx512") == 0 ? peak_flops_avx512
                                      : strcmp(isa, "avx2") == 0 ? peak_flops_avx2
                                                                 : peak_flops_baseline;
    static volatile float keep;
    double best = 0.0;
    for (int i = 0; i < TRIES; i++) {
        float sink = 0.0f;
        const uint64_t start = clock_cpu_ns();
        const double done = kernel(2000000, &sink);
        const double rate = done / (double)(clock_cpu_ns() - start) * 1e9;
        keep = sink;
        best = rate > best ? rate : best;
    }
    (void)keep;
    return best;
}

/* a = b + s c over three arrays of 64 MiB: 12 bytes an item. */
static double stream(void)
{
    float *a = mem_array(STREAM_ITEMS, sizeof *a), *b = mem_array(STREAM_ITEMS, sizeof *b),
          *c = mem_array(STREAM_ITEMS, sizeof *c);
    double best = 0.0;
    for (int i = 0; a && b && c && i < TRIES; i++) {
        const uint64_t start = clock_cpu_ns();
        for (size_t j = 0; j < STREAM_ITEMS; j++)
            a[j] = b[j] + 3.0f * c[j];
        const double rate = 12.0 * STREAM_ITEMS / (double)(clock_cpu_ns() - start) * 1e9;
        best = i && rate > best ? rate : best;  // the first one touches the pages
        b[i] = a[i + 1] + 1.0f;
    }
    mem_free(a);
    mem_free(b);
    mem_free(c);
    return best;
}

enum status bench_machine(struct bench *b, struct error *e)
{
    const struct cpu_kernels *best = cpu_kernels_choose(NULL, PRECISION_MIXED, e);
    char model[128], date[32];
    const time_t now = time(NULL);
    struct tm utc;
    cpu_model(model, sizeof model);
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    b->peak = (struct peak){flops(best->name), stream()};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double load[1] = {0.0};
    (void)getloadavg(load, 1);
    record_open(b, "machine");
    record_text(b, "cpu", model);
    record_real(b, "cores", (double)cores);
    record_text(b, "isa", best->name);
    record_text(b, "compiler", COMPILER);
    record_text(b, "flags", BENCH_FLAGS);
    record_text(b, "commit", b->o.commit ? b->o.commit : "unknown");
    record_text(b, "date", date);
    if (b->o.note)
        record_text(b, "note", b->o.note);
    record_real(b, "load", load[0]);
    record_real(b, "peak_flops", b->peak.flops);
    record_real(b, "peak_bytes_per_s", b->peak.bytes);
    record_close(b);
    printf("%s, %ld cores, %s; %s, %s; commit %s, %s\n", model, cores, best->name, COMPILER,
           BENCH_FLAGS, b->o.commit ? b->o.commit : "unknown", date);
    printf("load %.2f at the start; one core at best %.0f Gflop/s, %.1f GB/s\n", load[0],
           b->peak.flops / 1e9, b->peak.bytes / 1e9);
    if (b->o.note)
        printf("Note: %s\n", b->o.note);
    return STATUS_OK;
}
