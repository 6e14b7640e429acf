/*
 * Measures how much time a thick sensor takes.  One still of 20 mosaic domains and 3 x 3 subpixels
 * is computed by the loop over all terms with one layer, with five layers, and with --sensor=smear,
 * without and with --faint, in turn, on one thread.  Then a still of one domain is
 * computed with one layer, with twelve layers and with --sensor=smear, for a detector at 30 mm.
 * There rays are oblique, and spots need 11 x 11 subpixels.  The images differ, so this
 * part does not compare them.  tests/unit/smear.c and tests/unit/faint.c prove that the images are
 * right.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "stills.h"
#include "workload.h"

#define STILL                                                                          \
    "-N 20 -fluence 1e25 -default_F 100 -oversample 3 -mosaic 0.3 -mosaic_domains 20 " \
    "-detector_abs 235 "                                                               \
    "-detector_thick 450 -detector_thicksteps "
#define NEAR                                                          \
    "-N 20 -fluence 1e25 -default_F 100 -oversample 11 -distance 30 " \
    "-detector_abs 235 -detector_thick 450 -detector_thicksteps "

static const struct {
    struct workload workload;
    bool smears;
    double faint;
    int unit;  // index of the still to which its time is compared
} stills[] = {
    {{"one layer", STILL "1", .size = 1024}, false, 0.0, 0},
    {{"five layers", STILL "5", .size = 1024}, false, 0.0, 0},
    {{"smear", STILL "1", .size = 1024}, true, 0.0, 0},
    {{"smear, faint 1e-4", STILL "1", .size = 1024}, true, 1e-4, 0},
    {{"smear, gauss", STILL "1 -gauss_xtal", .size = 1024}, true, 0.0, 0},
    {{"smear, gauss, faint 1e-4", STILL "1 -gauss_xtal", .size = 1024}, true, 1e-4, 0},
    {{"near, one layer", NEAR "1", .size = 1024}, false, 0.0, 6},
    {{"near, twelve layers", NEAR "12", .size = 1024}, false, 0.0, 6},
    {{"near, smear", NEAR "1", .size = 1024}, true, 0.0, 6},
};
enum { STILLS = sizeof stills / sizeof *stills };

static enum status open_still(struct still *s, int index, int64_t size, struct error *e)
{
    const struct workload *w = &stills[index].workload;
    struct words words;
    workload_words(w, size, &words);
    const enum status status = workload_build(w, &words, PHYSICS_PHYSICAL, &s->x, &s->r, e);
    if (status)
        return status;
    s->x.sampling.smears = stills[index].smears;
    s->faint = stills[index].faint;
    return still_open(s, e);
}

static void report(struct bench *b, const struct still *s, int index, int64_t size)
{
    const int unit = stills[index].unit;
    const struct timing *first = &s[unit].timing, *t = &s[index].timing;
    const double cpu_ns = timing_median(t->cpu_ns, t->count);
    const double ratio = cpu_ns / timing_median(first->cpu_ns, first->count);
    record_open(b, "smear");
    record_text(b, "workload", stills[index].workload.name);
    record_real(b, "size", (double)size);
    record_timing(b, t);
    record_text(b, "ratio_to", stills[unit].workload.name);
    record_real(b, "ratio", ratio);
    record_close(b);
    printf("| %s | %" PRId64 " | %.1f%s | %.2f |\n", stills[index].workload.name, size,
           cpu_ns * 1e-6, timing_mark(t), ratio);
    (void)fflush(stdout);
}

enum status bench_smear(struct bench *b, struct error *e)
{
    const int64_t size = b->o.has_sizes ? b->sizes[0] : stills[0].workload.size;
    struct still s[STILLS] = {0};
    float *image = mem_array((size_t)(size * size), sizeof *image);
    enum status status = STATUS_OK;
    for (int i = 0; i < STILLS && !status; i++)
        status = open_still(&s[i], i, size, e);
    if (!status)
        status = stills_run(b, s, STILLS, image, e);
    printf("\n| thick sensors | size | frame, CPU ms | times one layer |\n"
           "|---|---|---|---|\n");
    for (int i = 0; i < STILLS && !status; i++)
        report(b, s, i, size);
    stills_close(s, STILLS);
    mem_free(image);
    return status;
}
