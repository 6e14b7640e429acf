/*
 * Measures how much time the closed form saves, for a still of 25 mosaic domains x 50 wavelengths
 * and 20 cells.  The contestants are the loop over pixels (square), reflections one by one for each
 * domain and wavelength (gauss), and the mean over all domains in closed form (closed), in turn, on
 * one thread.  The closed form has another image, which tests/unit/closed.c tests.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stills.h"
#include "workload.h"

#define SPECTRUM "-N 20 -oversample 1 -dispersion 0.2 -dispsteps 50 "
#define DOMAINS SPECTRUM "-mosaic 0.1 -mosaic_domains 25"

/* A cap of the half-width D has an rms of 0.496 D about each axis. */
static const double RMS_OF_CAP = 0.496;

static const struct workload stills[] = {
    {"square", DOMAINS, .table = true, .size = 2048},
    {"gauss", "-gauss_xtal " DOMAINS, .table = true, .size = 2048},
    {"closed", "-gauss_xtal " SPECTRUM, .table = true, .size = 2048},
};
enum { STILLS = sizeof stills / sizeof *stills };

static enum status open_still(struct still *s, const struct workload *w, int64_t size,
                              struct error *e)
{
    struct words words;
    workload_words(w, size, &words);
    enum status status = workload_build(w, &words, PHYSICS_PHYSICAL, &s->x, &s->r, e);
    if (status)
        return status;
    struct crystal *c = s->x.crystals;
    c->has_ensemble = strcmp(w->name, "closed") == 0;
    for (int k = 0; k < 3; k++)
        c->mosaic_rms_rad[k] = c->has_ensemble ? RMS_OF_CAP * deg_to_rad(0.1) : 0.0;
    return still_open(s, e);
}

static void report(struct bench *b, const struct still *s, int index, int64_t size)
{
    const struct timing *first = &s->timing, *t = &s[index].timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = timing_median(first->cpu_ns, first->count) / cpu_ns;
    record_open(b, "closed");
    record_text(b, "workload", stills[index].name);
    record_real(b, "size", (double)size);
    record_timing(b, t);
    record_text(b, "ratio_to", stills[0].name);
    record_real(b, "ratio", ratio);
    record_close(b);
    printf("| %s | %" PRId64 " | %.1f%s | %.0f |\n", stills[index].name, size, cpu_ns * 1e-6,
           timing_mark(t), ratio);
    (void)fflush(stdout);
}

enum status bench_closed(struct bench *b, struct error *e)
{
    const int64_t size = b->o.has_sizes ? b->sizes[0] : stills[0].size;
    struct still s[STILLS] = {0};
    float *image = mem_array((size_t)(size * size), sizeof *image);
    enum status status = STATUS_OK;
    for (int i = 0; i < STILLS && !status; i++)
        status = open_still(&s[i], &stills[i], size, e);
    if (!status)
        status = stills_run(b, s, STILLS, image, e);
    printf("\n| 25 domains x 50 wavelengths | size | frame, CPU ms | times faster |\n"
           "|---|---|---|---|\n");
    for (int i = 0; i < STILLS && !status; i++)
        report(b, s, i, size);
    stills_close(s, STILLS);
    mem_free(image);
    return status;
}
