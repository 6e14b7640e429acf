/* The writers: a noisy frame of 16 bits, or float32 photons, into files. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../stages/output.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "bench.h"
#include "workload.h"

static const struct {
    const char *suffix;
    enum pixel_type type;
    int64_t edge_max;  // of pictures
} files[] = {
    {"raw", PIXEL_F32, 0},
    {"img", PIXEL_U16, 0},
    {"pgm", PIXEL_U16, 1024},
    {"png", PIXEL_U16, 1024},
};
enum { NFILES = sizeof files / sizeof *files };

/* Counts about a mean of 3 with a few bright pixels, as compressors meet them. */
static bool fill(struct frame *f, enum pixel_type type, size_t count)
{
    const enum pixel_unit unit = type == PIXEL_F32 ? UNIT_PHOTONS : UNIT_ADU;
    if (!image_reserve(&f->image, type, unit, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct rng r = rng_stream(1, RNG_POISSON, 0, (uint32_t)i);
        const double u = rng_uniform(&r);
        const double value = 40.0 + (u < 0.01 ? 3000.0 * u * 100.0 : 6.0 * u);
        if (type == PIXEL_F32)
            ((float *)f->image.pixels)[i] = (float)value;
        else
            ((uint16_t *)f->image.pixels)[i] = (uint16_t)value;
    }
    return true;
}

static void report(struct bench *b, int file, int64_t edge, const struct timing *t, double written)
{
    const double ms = timing_median(t->cpu_ns, t->count) / 1e6;
    const double bytes = (double)(edge * edge) * (double)pixel_size(files[file].type);
    record_open(b, "output");
    record_text(b, "format", files[file].suffix);
    record_real(b, "size", (double)edge);
    record_timing(b, t);
    record_real(b, "bytes_in", bytes);
    record_real(b, "bytes_out", written);
    record_close(b);
    printf("| %s | %" PRId64 " | %.2f%s | %.2f | %.2f | %.2f |\n", files[file].suffix, edge, ms,
           timing_mark(t), timing_median(t->wall_ns, t->count) / 1e6, bytes / ms / 1e6,
           bytes / written);
    (void)fflush(stdout);
}

static enum status run_file(struct bench *b, int file, int64_t edge, const struct experiment *x,
                            struct error *e)
{
    struct frame f = {0};
    struct output o;
    struct timing t = {0};
    struct stat info = {0};
    char path[128];
    const struct output_settings settings = {0};
    (void)snprintf(path, sizeof path, "%s/frame_0.%s", b->scratch, files[file].suffix);
    enum status s = output_parse(&o, path, FORMAT_AUTO, files[file].edge_max, e);
    if (!s && !fill(&f, files[file].type, (size_t)(edge * edge)))
        s = error_memory(e, "a frame");
    for (int64_t round = -1; round < b->o.iterations && !s; round++) {
        t.count -= round == 0;  // the first round only warms up
        const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
        s = output_write(&o, &settings, x, &f, path, e);
        timing_add(&t, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    }
    if (!s && stat(path, &info) == 0)
        report(b, file, edge, &t, (double)info.st_size);
    if (!b->o.keep_artifacts)
        (void)unlink(path);
    frame_free(&f);
    return s;
}

enum status bench_output(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| file | size | CPU ms/frame | wall ms/frame | GB/s of pixels | smaller by |\n"
           "|---|---|---|---|---|---|\n");
    for (size_t i = b->o.has_sizes ? 0 : b->nsizes - 1; i < b->nsizes && !s; i++) {
        struct experiment x;
        struct recipe r;
        struct words words;
        workload_words(&workloads[0], b->sizes[i], &words);
        s = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &x, &r, e);
        for (int file = 0; file < NFILES && !s; file++)
            s = run_file(b, file, b->sizes[i], &x, e);
        recipe_free(&r);
        experiment_free(&x);
    }
    return s;
}
