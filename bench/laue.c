/*
 * Measures the time of a Laue pattern.  A crystal of 5 cells is in a beam whose wavelengths reach
 * from two thirds to four thirds of the central wavelength.  The crystal has no mosaicity, or
 * mosaic domains within 0.1 degrees.  One contestant adds terms: one for each wavelength and
 * domain.  The other contestant is the closed form.  They run in turn, on one thread.
 *
 * The image of the closed form must have as many photons as the image of added terms.  Without
 * mosaicity its pixels must be nearly the same.  A timed image must have the bytes of the first
 * one.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "stills.h"
#include "workload.h"

#define CRYSTAL "-gauss_xtal -N 5 -default_F 100 -oversample 1 -dispersion 66.6667 -dispsteps "
#define DOMAINS " -mosaic 0.1 -mosaic_domains 25"

static const struct {
    struct workload workload;
    bool closed;
    double mosaic_deg;  // half-width of the cap of the domains
    int sum;            // index of the contestant that adds the terms of the same image
} works[] = {
    {{"sum, 401 wavelengths", CRYSTAL "401", .size = 256}, .sum = 0},
    {{"closed form, 401 wavelengths", CRYSTAL "401", .size = 256}, .closed = true, .sum = 0},
    {{"closed form, 6401 wavelengths", CRYSTAL "6401", .size = 256}, .closed = true, .sum = 0},
    {{"sum, 401 x 25 domains", CRYSTAL "401" DOMAINS, .size = 256}, .mosaic_deg = 0.1, .sum = 3},
    {{"closed form, mosaic", CRYSTAL "401", .size = 256},
     .closed = true,
     .mosaic_deg = 0.1,
     .sum = 3},
};
enum { WORKS = sizeof works / sizeof *works };

/* A cap of the half-width D has an rms of 0.496 D about each axis. */
static const double RMS_OF_CAP = 0.496;

/* Largest errors of an image of the closed form: of the sum over its pixels, and the rms error of
 * the pixels relative to their rms.  Most of the second error is that of the added terms, because
 * 401 wavelengths stand for all. */
static const double SUM_MAX = 0.01, PIXELS_MAX = 0.03;

struct laue {
    struct still stills[WORKS];
    float *first[WORKS];  // images of the first round
    float *image;
    size_t count;
};

static enum status open_work(struct still *s, int index, int64_t size, struct error *e)
{
    struct words words;
    const struct workload *w = &works[index].workload;
    workload_words(w, size, &words);
    const enum status status = workload_build(w, &words, PHYSICS_PHYSICAL, &s->x, &s->r, e);
    if (status)
        return status;
    struct crystal *c = s->x.crystals;
    c->has_ensemble = works[index].closed;
    for (int k = 0; k < 3 && c->has_ensemble; k++)
        c->mosaic_rms_rad[k] = RMS_OF_CAP * deg_to_rad(works[index].mosaic_deg);
    return still_open(s, e);
}

/* Compares the first image of a contestant with that of added terms. */
static enum status believe_first(const struct laue *l, int index, struct error *e)
{
    const float *sum_of = l->first[works[index].sum];
    const double most = works[index].mosaic_deg > 0.0 ? INFINITY : PIXELS_MAX;
    double sum = 0.0, expected = 0.0, squares = 0.0, off = 0.0;
    for (size_t i = 0; i < l->count; i++) {
        const double is = (double)l->first[index][i], was = (double)sum_of[i];
        sum += is;
        expected += was;
        squares += was * was;
        off += (is - was) * (is - was);
    }
    if (expected > 0.0 && fabs(sum / expected - 1.0) <= SUM_MAX && sqrt(off / squares) <= most)
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "the image of '%s' is not that of the sum over wavelengths: its sum differs by "
        "%.3g (allowed %g), its pixels by %.3g (allowed %g); its time means nothing",
        works[index].workload.name, sum / expected - 1.0, SUM_MAX, sqrt(off / squares), PIXELS_MAX);
}

static enum status run_once(struct laue *l, int index, bool timed, struct error *e)
{
    struct still *s = &l->stills[index];
    const uint64_t cpu = clock_cpu_ns(), wall = clock_ns();
    const enum status status = engine_cpu.run(s->plan, &s->r, l->image, NULL, e);
    const double cpu_ns = (double)(clock_cpu_ns() - cpu), wall_ns = (double)(clock_ns() - wall);
    if (status)
        return status;
    if (!timed) {
        memcpy(l->first[index], l->image, l->count * sizeof *l->image);
        return believe_first(l, index, e);
    }
    timing_add(&s->timing, cpu_ns, wall_ns);
    return memcmp(l->first[index], l->image, l->count * sizeof *l->image) == 0
               ? STATUS_OK
               : error_set(e, STATUS_FAILED, "a timed image of '%s' is another one",
                           works[index].workload.name);
}

static void report(struct bench *b, const struct laue *l, int index, int64_t size)
{
    const struct timing *first = &l->stills[works[index].sum].timing, *t = &l->stills[index].timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = timing_median(first->cpu_ns, first->count) / cpu_ns;
    record_open(b, "laue");
    record_text(b, "workload", works[index].workload.name);
    record_real(b, "size", (double)size);
    record_timing(b, t);
    record_text(b, "ratio_to", works[works[index].sum].workload.name);
    record_real(b, "ratio", ratio);
    record_close(b);
    printf("| %s | %" PRId64 " | %.1f%s | %.1f |\n", works[index].workload.name, size,
           cpu_ns * 1e-6, timing_mark(t), ratio);
    (void)fflush(stdout);
}

enum status bench_laue(struct bench *b, struct error *e)
{
    const int64_t size = b->o.has_sizes ? b->sizes[0] : works[0].workload.size;
    struct laue l = {.count = (size_t)(size * size)};
    enum status s = STATUS_OK;
    l.image = mem_array(l.count, sizeof *l.image);
    for (int i = 0; i < WORKS && !s; i++) {
        l.first[i] = mem_array(l.count, sizeof **l.first);
        s = open_work(&l.stills[i], i, size, e);
    }
    for (int64_t round = -1; round < b->o.iterations && !s; round++)
        for (int i = 0; i < WORKS && !s; i++)
            s = run_once(&l, i, round >= 0, e);
    printf("\n| Laue pattern | size | frame, CPU ms | times faster |\n|---|---|---|---|\n");
    for (int i = 0; i < WORKS && !s; i++)
        report(b, &l, i, size);
    stills_close(l.stills, WORKS);
    for (int i = 0; i < WORKS; i++)
        mem_free(l.first[i]);
    mem_free(l.image);
    return s;
}
