/*
 * Measures frames that vary from one to the next (bragg-orient --vary) and powder rings
 * (bragg-background --powder), as pipelines of programs: the CPU time of each further frame,
 * relative to frames that have another orientation only.  A varied frame must be that of the
 * engine "reference".  A powder must have its brightest ring where Bragg's law says.  Timed
 * frames must have the bytes of the first ones.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "chain.h"

/* A few frames, and more of them: the difference is what a frame costs once all runs. */
enum { FEW = 2 };

static const struct kind {
    const char *name, *orient;
    const char *background;  // NULL: none
    bool rings;
} KINDS[] = {
    {"orientation", "", NULL, false},
    {"distance", "--vary=distance=uniform:95,105", NULL, false},
    {"size and cell", "--vary=size=uniform:20,30 --vary=a=normal:70,0.5", NULL, false},
    {"energy", "--vary=energy=normal:12398,50", NULL, false},
    {"water", "--vary=water=uniform:5,10", "--water=7.5", false},
    {"powder of CeO2", "--hit-rate=0", "--powder=ceo2 --powder-thickness=10", true},
};
enum { NKINDS = sizeof KINDS / sizeof *KINDS };

/* Distance of the detector and size of its edges, as chain_recipes has them; the wavelength, and
 * the spacing of the brightest reflection of CeO2, 1 1 1. */
static const double DISTANCE_MM = 100.0, EDGE_MM = 102.4, WAVELENGTH_A = 1.0, SPACING_A = 3.1243;

struct varied {
    struct bench *b;
    const struct kind *kind;
    int64_t edge;
    size_t count;
    float *image, *expected;  // the last frame: of a timed run, and of the first run
    struct timing timing;
};

/* Makes `frames` frames with an engine, and reads the last one into `last`. */
static enum status run_frames(const struct varied *v, const char *engine, int64_t frames,
                              float *last, struct run *r, struct error *e)
{
    char command[COMMAND_MAX], options[160], path[128];
    (void)snprintf(path, sizeof path, "%s/varied", v->b->scratch);
    chain_recipes(v->b, command, v->edge, frames, v->kind->orient);
    (void)snprintf(options, sizeof options, "--threads=1 --engine=%s", engine);
    chain_stage(v->b, command, "bragg-intensity", options);
    if (v->kind->background) {
        (void)snprintf(options, sizeof options, "--threads=1 %s", v->kind->background);
        chain_stage(v->b, command, "bragg-background", options);
    }
    (void)snprintf(options, sizeof options, "%s_%%d.raw --overwrite", path);
    chain_stage(v->b, command, "bragg-write", options);
    const enum status s = chain_run(v->b, "varied-run", command, r, e);
    if (s)
        return s;
    (void)snprintf(path, sizeof path, "%s/varied_%" PRId64 ".raw", v->b->scratch, frames - 1);
    return floats_read(path, last, v->count, e);
}

/* Compares the radius at which pixels are brightest with that of the ring 1 1 1. */
static enum status believe_ring(const struct varied *v, struct error *e)
{
    const double pixel_mm = EDGE_MM / (double)v->edge, middle = 0.5 * (double)v->edge;
    const double angle = 2.0 * asin(0.5 * WAVELENGTH_A / SPACING_A);
    const double expected = DISTANCE_MM * tan(angle) / pixel_mm;
    const int64_t room = v->edge;
    double *sums = mem_array((size_t)room, 2 * sizeof *sums), *pixels = sums + room;
    for (size_t i = 0; i < v->count; i++) {
        const double x = (double)((int64_t)i % v->edge) + 0.5 - middle;
        const double y = (double)((int64_t)i / v->edge) + 0.5 - middle;
        const int64_t at = (int64_t)hypot(x, y);
        sums[at] += (double)v->expected[i];
        pixels[at] += 1.0;
    }
    int64_t brightest = 1;
    for (int64_t i = 1; i < v->edge / 2; i++)
        if (sums[i] * pixels[brightest] > sums[brightest] * pixels[i])
            brightest = i;
    mem_free(sums);
    const double off = (double)brightest + 0.5 - expected;
    return fabs(off) <= 1.5
               ? STATUS_OK
               : error_set(e, STATUS_FAILED,
                           "the brightest ring of '%s' is %.3g pixels from the ring 1 1 1; its "
                           "time means nothing",
                           v->kind->name, off);
}

/* Makes the frame that timed frames must be, and tests it. */
static enum status expect(const struct varied *v, struct error *e)
{
    struct run r;
    enum status s = run_frames(v, "cpu", v->b->o.frames, v->expected, &r, e);
    if (s || v->kind->rings)
        return s ? s : believe_ring(v, e);
    if ((s = run_frames(v, "reference", v->b->o.frames, v->image, &r, e)))
        return s;
    const struct agreement a = image_compare(v->expected, v->image, v->count);
    return image_believe(&a, v->kind->name, e);
}

static enum status time_once(struct varied *v, struct error *e)
{
    struct run few, many;
    const double more = (double)(v->b->o.frames - FEW);
    enum status s = run_frames(v, "cpu", FEW, v->image, &few, e);
    if (s || (s = run_frames(v, "cpu", v->b->o.frames, v->image, &many, e)))
        return s;
    if (memcmp(v->image, v->expected, v->count * sizeof *v->image) != 0)
        return error_set(e, STATUS_FAILED, "a timed frame of '%s' is another one", v->kind->name);
    timing_add(&v->timing, (many.cpu_ns - few.cpu_ns) / more, (many.wall_ns - few.wall_ns) / more);
    return STATUS_OK;
}

static void report(const struct varied *all, const struct varied *v)
{
    const struct timing *t = &v->timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = cpu_ns / timing_median(all->timing.cpu_ns, all->timing.count);
    record_open(v->b, "varied");
    record_text(v->b, "varies", v->kind->name);
    record_real(v->b, "size", (double)v->edge);
    record_timing(v->b, t);
    record_text(v->b, "ratio_to", KINDS[0].name);
    record_real(v->b, "ratio", ratio);
    record_close(v->b);
    printf("| %s | %.2f%s | %.2f |\n", v->kind->name, cpu_ns * 1e-6, timing_mark(t), ratio);
    (void)fflush(stdout);
}

enum status bench_varied(struct bench *b, struct error *e)
{
    enum { EDGE = 512 };
    const int64_t edge = b->o.has_sizes ? b->sizes[0] : EDGE;
    struct varied all[NKINDS];
    enum status s = STATUS_OK;
    if (b->o.frames <= FEW)
        return error_set(e, STATUS_USAGE, "--frames=%" PRId64 ": expected more than %d",
                         b->o.frames, FEW);
    for (int i = 0; i < NKINDS; i++) {
        all[i] = (struct varied){.b = b, .kind = &KINDS[i], .edge = edge};
        all[i].count = (size_t)(edge * edge);
        all[i].image = mem_array(all[i].count, sizeof(float));
        all[i].expected = mem_array(all[i].count, sizeof(float));
    }
    for (int i = 0; i < NKINDS && !s; i++)
        s = expect(&all[i], e);
    for (int64_t round = 0; round < b->o.iterations && !s; round++)
        for (int i = 0; i < NKINDS && !s; i++)
            s = time_once(&all[i], e);
    printf("\n%" PRId64 " x %" PRId64 " pixels\n\n| varies | CPU ms of a frame | times |\n"
           "|---|---|---|\n",
           edge, edge);
    for (int i = 0; i < NKINDS; i++) {
        if (!s)
            report(all, &all[i]);
        mem_free(all[i].image);
        mem_free(all[i].expected);
    }
    return s;
}
