/*
 * Measures the writers: frames with noise of 16 and 32 bits and float32 photons are written to
 * files, and compared with write(2) of the same pixels.  Also measures compression alone, in
 * memory, with every instruction set.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/isa.h"
#include "base/rng.h"
#include "bench.h"
#include "codec/bslz4.h"
#include "io/images/cbf.h"
#include "stages/write/output.h"
#include "workload.h"

enum how { HOW_WRITE, HOW_FILE, HOW_BYTE_OFFSET, HOW_BSLZ4 };

/* A contestant is a line; packers are run for every instruction set. */
static const struct contestant {
    const char *name;  // of files: the suffix
    enum how how;
    enum pixel_type type;
    int64_t edge_max;  // of pictures
} contestants[] = {
    {"write(2)", HOW_WRITE, PIXEL_F32, 0},
    {"raw", HOW_FILE, PIXEL_F32, 0},
    {"write(2)", HOW_WRITE, PIXEL_U16, 0},
    {"img", HOW_FILE, PIXEL_U16, 0},
    {"raw", HOW_FILE, PIXEL_U16, 0},
    {"cbf", HOW_FILE, PIXEL_U16, 0},
    {"cbf", HOW_FILE, PIXEL_I32, 0},
    {"pgm", HOW_FILE, PIXEL_U16, 1024},
    {"png", HOW_FILE, PIXEL_U16, 1024},
    {"png", HOW_FILE, PIXEL_F32, 1024},
    {"byte offset", HOW_BYTE_OFFSET, PIXEL_I32, 0},
    {"byte offset", HOW_BYTE_OFFSET, PIXEL_U16, 0},
    {"bslz4", HOW_BSLZ4, PIXEL_I32, 0},
    {"bslz4", HOW_BSLZ4, PIXEL_U16, 0},
};
enum { CONTESTANTS = sizeof contestants / sizeof *contestants, RUNS_MAX = 3 * CONTESTANTS };

static const char *const types[] = {
    [PIXEL_F32] = "f32", [PIXEL_U16] = "u16", [PIXEL_U32] = "u32", [PIXEL_I32] = "i32"};

/* One line of the table. */
struct run {
    const struct contestant *c;
    enum isa isa;
    struct timing timing;
    double written;  // bytes
    struct output output;
    char path[128];
};

/* What all share. */
struct ground {
    struct frame frames[PIXEL_I32 + 1];  // by type
    const struct experiment *experiment;
    int64_t edge;
    uint8_t *packed;  // room for any packer
};

/* Counts about a mean of 3, and of 3000 in every 100th pixel, as after bragg-noise. */
static enum status fill(struct frame *f, enum pixel_type type, size_t count, struct error *e)
{
    const enum pixel_unit unit = type == PIXEL_F32 ? UNIT_PHOTONS : UNIT_ADU;
    if (!image_reserve(&f->image, type, unit, count))
        return error_memory(e, "a frame");
    for (size_t i = 0; i < count; i++) {
        struct rng r = rng_stream(1, RNG_POISSON, 0, (uint32_t)i);
        const double mean = rng_uniform(&r) < 0.01 ? 3000.0 : 3.0;
        const double value = fmax(0.0, rint(mean + sqrt(mean) * rng_normal(&r)));
        if (type == PIXEL_F32)
            ((float *)f->image.pixels)[i] = (float)value;
        else if (type == PIXEL_U16)
            ((uint16_t *)f->image.pixels)[i] = (uint16_t)value;
        else
            ((int32_t *)f->image.pixels)[i] = (int32_t)value;
    }
    return STATUS_OK;
}

/* --- contestants ----------------------------------------------------------- */

static enum status write_plainly(const char *path, const struct image *image, struct error *e)
{
    const size_t bytes = image->count * pixel_size(image->type);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t done = 0;
    for (ssize_t n = 1; file >= 0 && done < bytes && n > 0; done += (size_t)n)
        n = write(file, (const char *)image->pixels + done, bytes - done);
    if (file < 0 || close(file) || done != bytes)
        return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    return STATUS_OK;
}

static size_t byte_offsets(enum isa isa, const struct image *image, uint8_t *out)
{
    const struct byte_offset_kernels *kernels = byte_offset_kernels(isa);
    return image->type == PIXEL_U16 ? kernels->encode_u16(image->pixels, image->count, 0, out)
                                    : kernels->encode_i32(image->pixels, image->count, 0, out);
}

static enum status run_once(struct run *r, const struct ground *g, struct error *e)
{
    const struct frame *f = &g->frames[r->c->type];
    const struct output_settings settings = {0};
    struct stat info = {0};
    enum status s = STATUS_OK;
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    if (r->c->how == HOW_WRITE)
        s = write_plainly(r->path, &f->image, e);
    else if (r->c->how == HOW_FILE)
        s = output_write(&r->output, &settings, g->experiment, f, r->path, e);
    else if (r->c->how == HOW_BYTE_OFFSET)
        r->written = (double)byte_offsets(r->isa, &f->image, g->packed);
    else
        r->written = (double)bslz4_compress(r->isa, f->image.pixels, f->image.count,
                                            pixel_size(f->image.type), g->packed);
    timing_add(&r->timing, (double)(clock_cpu_ns() - cpu), (double)(clock_ns() - wall));
    if (r->path[0] && stat(r->path, &info) == 0)
        r->written = (double)info.st_size;
    return s;
}

/* --- table ----------------------------------------------------------------- */

static void report(struct bench *b, const struct run *r, int64_t edge)
{
    const struct timing *t = &r->timing;
    const double ms = timing_median(t->cpu_ns, t->count) / 1e6;
    const double bytes = (double)(edge * edge) * (double)pixel_size(r->c->type);
    const char *isa = r->c->how > HOW_FILE ? isa_name(r->isa) : "";
    record_open(b, "output");
    record_text(b, "format", r->c->name);
    record_text(b, "pixels", types[r->c->type]);
    record_text(b, "isa", isa);
    record_real(b, "size", (double)edge);
    record_timing(b, t);
    record_real(b, "bytes_in", bytes);
    record_real(b, "bytes_out", r->written);
    record_close(b);
    printf("| %s %s | %s | %" PRId64 " | %.2f%s | %.2f | %.2f | %.2f |\n", r->c->name,
           types[r->c->type], isa, edge, ms, timing_mark(t),
           timing_median(t->wall_ns, t->count) / 1e6, bytes / ms / 1e6, bytes / r->written);
    (void)fflush(stdout);
}

/* Makes the rows of all contestants, and returns their number. */
static int list_runs(const struct bench *b, struct run runs[RUNS_MAX])
{
    int n = 0;
    for (int i = 0; i < CONTESTANTS; i++) {
        const bool packer = contestants[i].how > HOW_FILE;
        for (enum isa isa = 0; isa < (packer ? ISA_COUNT : 1); isa++) {
            if (packer && !isa_present(isa))
                continue;
            struct run *r = &runs[n];
            *r = (struct run){.c = &contestants[i], .isa = isa};
            if (!packer)
                (void)snprintf(r->path, sizeof r->path, "%s/frame_%d.%s", b->scratch, n,
                               r->c->how == HOW_FILE ? r->c->name : "bin");
            n++;
        }
    }
    return n;
}

static enum status run_all(struct bench *b, const struct ground *g, struct error *e)
{
    struct run runs[RUNS_MAX];
    const int n = list_runs(b, runs);
    enum status s = STATUS_OK;
    for (int i = 0; i < n && !s; i++)
        if (runs[i].c->how == HOW_FILE)
            s = output_parse(&runs[i].output, runs[i].path, FORMAT_AUTO, runs[i].c->edge_max, e);
    for (int64_t round = -1; round < b->o.iterations && !s; round++)
        for (int i = 0; i < n && !s; i++) {
            runs[i].timing.count -= round == 0;  // the first round only warms up
            s = run_once(&runs[i], g, e);
        }
    for (int i = 0; i < n; i++) {
        if (!s)
            report(b, &runs[i], g->edge);
        if (!b->o.keep_artifacts)
            (void)unlink(runs[i].path);
        output_close(&runs[i].output);
    }
    return s;
}

static enum status run_size(struct bench *b, int64_t edge, const struct experiment *x,
                            struct error *e)
{
    struct ground g = {.experiment = x, .edge = edge};
    const size_t count = (size_t)(edge * edge), room = BYTE_OFFSET_WORST * (count + 2);
    enum status s = fill(&g.frames[PIXEL_F32], PIXEL_F32, count, e);
    if (!s)
        s = fill(&g.frames[PIXEL_U16], PIXEL_U16, count, e);
    if (!s)
        s = fill(&g.frames[PIXEL_I32], PIXEL_I32, count, e);
    g.packed = malloc(room);
    if (!s && !g.packed)
        s = error_memory(e, "packed pixels");
    if (!s)
        s = run_all(b, &g, e);
    for (int type = 0; type <= PIXEL_I32; type++)
        frame_free(&g.frames[type]);
    free(g.packed);
    return s;
}

enum status bench_output(struct bench *b, struct error *e)
{
    enum status s = STATUS_OK;
    printf("\n| file or packer | isa | size | CPU ms/frame | wall ms/frame | GB/s of pixels | "
           "smaller by |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = b->o.has_sizes ? 0 : b->nsizes - 1; i < b->nsizes && !s; i++) {
        struct experiment x;
        struct recipe r;
        struct words words;
        workload_words(&workloads[0], b->sizes[i], &words);
        s = workload_build(&workloads[0], &words, PHYSICS_PHYSICAL, &x, &r, e);
        if (!s)
            s = run_size(b, b->sizes[i], &x, e);
        recipe_free(&r);
        experiment_free(&x);
    }
    return s;
}
