/* Compares derivatives with those of the reference engine, and measures their time. */
#include <math.h>
#include <string.h>

#include "../unit/engine_table.h"
#include "base/clock.h"
#include "check.h"
#include "engine/derivatives/cpu_slopes.h"
#include "engine/derivatives/derive.h"

enum { EDGE = 32 };
/* 14 planes: orientation, cell, blocks, beam, detector. */
static const char TIMED[] = "rot,cell,ncells,scale,wavelength,distance,beam_x,beam_y";
static const char PART[] = "derivatives";
#define ONE_SIZE "scale,rot,phi0,wavelength,distance,beam_x,beam_y,panel.0.tilt_f,polarization"
#define UNPOLARIZED "scale,rot,ncells,phi0,wavelength,distance,beam_x,beam_y,panel.0.tilt_f"

/* What one engine says. */
struct answer {
    float *planes;
    double product[PARAMETERS_MAX];  // sums of planes
};

static enum status ask(const struct engine *engine, const struct engine_options *options,
                       const struct experiment *x, const struct recipe *r,
                       const struct parameters *set, struct answer *a, struct error *e)
{
    const size_t pixels = (size_t)experiment_pixels(x);
    struct plan *plan = NULL;
    float *ones = mem_array(pixels, sizeof *ones);
    a->planes = mem_array(pixels * set->count, sizeof *a->planes);
    if (!ones || !a->planes) {
        mem_free(ones);
        return error_memory(e, "the planes");
    }
    for (size_t i = 0; i < pixels; i++)
        ones[i] = 1.0f;
    const struct derive_request q = {
        .set = set, .npixels = pixels, .planes = a->planes, .weights = ones, .product = a->product};
    enum status s = engine->create(&plan, x, options, e);
    if (!s)
        s = engine->derive(plan, r, &q, e);
    if (plan)
        engine->destroy(&plan);
    mem_free(ones);
    return s;
}

/* How far plane k is off: root mean square over that of the reference, or its sum over that of
 * absolute values, whichever is more. */
static double off(const struct answer *a, const struct answer *reference, size_t k, size_t pixels)
{
    double wrong = 0.0, square = 0.0, sum = 0.0;
    for (size_t i = k * pixels; i < (k + 1) * pixels; i++) {
        const double want = (double)reference->planes[i], by = (double)a->planes[i] - want;
        wrong += by * by;
        square += want * want;
        sum += fabs(want);
    }
    if (!(sum > 0.0))
        return wrong > 0.0 ? HUGE_VAL : 0.0;
    return worse(sqrt(wrong / square), fabs(a->product[k] - reference->product[k]) / sum);
}

/* Planes are float32.  Phases of many cells lose in single precision: 1.2e-4 at 1000 and 2000. */
static double limit_of(const struct experiment *x, enum engine_precision precision)
{
    const double *N = x->crystals[0].cells;
    if (precision == PRECISION_DOUBLE)
        return 1e-7;
    return fmax(N[0], fmax(N[1], N[2])) <= 100.0 ? 1e-5 : 2e-4;
}

/* The first plane is the image, as it is by `scale`.  Mixed precision ends a spot where it is 5e-20
 * of its largest: a frame of nothing else cannot be compared. */
static void report(struct run *run, const struct experiment *x, const char *name,
                   enum engine_precision how, const struct parameters *set, const struct answer *a,
                   const struct answer *reference)
{
    const size_t pixels = (size_t)experiment_pixels(x);
    double worst = 0.0;
    if (!(reference->product[0] > 1e-9 * (double)pixels)) {
        tell_skip(run, PART, name, "its image is dark");
        return;
    }
    for (size_t k = 0; k < set->count; k++)
        worst = worse(worst, off(a, reference, k, pixels));
    tell_case(run, PART, name, worst, limit_of(x, how));
}

/* Where the engine has no derivatives it says why. */
static enum status refused(struct run *run, const struct engine_options *options,
                           const struct experiment *x, const struct recipe *r, const char *name,
                           struct error *e)
{
    struct parameters set;
    struct answer a = {0};
    struct error why = {0};
    enum status s = parameters_parse("scale", x, &set, &why);
    if (!s)
        s = ask(run->engine, options, x, r, &set, &a, &why);
    if (s == STATUS_INPUT)
        tell_skip(run, PART, name, why.text);
    mem_free(a.planes);
    return s == STATUS_INPUT
               ? STATUS_OK
               : error_set(e, STATUS_FAILED, "%s: derivatives were not refused", name);
}

/* Lattices with B factors have no derivatives: their parameters are refused, by all engines. */
static enum status check_refusal(struct run *run, const struct experiment *x, const char *name,
                                 struct error *e)
{
    struct parameters set;
    struct error why = {0};
    if (!parameters_parse(ONE_SIZE, x, &set, &why))
        return error_set(e, STATUS_FAILED, "%s: parameters were not refused", name);
    tell_skip(run, PART, name, why.text);
    return STATUS_OK;
}

/* One case in one precision. */
static enum status compare(struct run *run, const struct engine_case *c,
                           enum engine_precision precision, struct error *e)
{
    struct experiment x = {0};
    struct recipe r = {0};
    struct parameters set;
    struct answer a = {0}, reference = {0};
    struct engine_options options = run->options;
    char name[80];
    options.precision = precision;
    (void)snprintf(name, sizeof name, "%s: %s", c->name,
                   precision == PRECISION_MIXED ? "mixed" : "double");
    enum status s = case_build(c, &x, &r, e);
    if (!s && !cpu_slopes_can(&x, precision)) {
        s = refused(run, &options, &x, &r, name, e);
    } else if (!s && x.b_factors_vary) {
        s = check_refusal(run, &x, name, e);
    } else if (!s) {
        const char *names = x.sizes_vary             ? ONE_SIZE
                            : x.beam.no_polarization ? UNPOLARIZED
                                                     : UNPOLARIZED ",polarization";
        s = parameters_parse(names, &x, &set, e);
        if (!s)
            s = ask(&engine_reference, &options, &x, &r, &set, &reference, e);
        if (!s)
            s = ask(run->engine, &options, &x, &r, &set, &a, e);
        if (!s)
            report(run, &x, name, precision, &set, &a, &reference);
    }
    mem_free(a.planes);
    mem_free(reference.planes);
    recipe_free(&r);
    experiment_free(&x);
    return s;
}

/* The second workload with its planes. */
static enum status take_time(struct run *run, int64_t size, struct error *e)
{
    struct timed t;
    struct parameters set = {0};
    struct rounds rounds = {0};
    enum status s = timed_open(&t, &workloads[1], size, e);
    if (!s)
        s = parameters_parse(TIMED, &t.x, &set, e);
    float *planes = mem_array((size_t)(size * size) * set.count + 1, sizeof *planes);
    if (!s && !planes)
        s = error_memory(e, "the planes");
    if (!s)
        s = run->engine->create(&t.plan, &t.x, &run->options, e);
    const struct derive_request q = {
        .set = &set, .npixels = (size_t)(size * size), .planes = planes};
    while (!s && rounds_go_on(&rounds)) {
        const uint64_t start = clock_ns();
        s = run->engine->derive(t.plan, &t.r, &q, e);
        rounds_add(&rounds, 1e-6 * (double)(clock_ns() - start));
    }
    if (!s)
        timed_tell(run, "25 domains x 5 wavelengths, 14 planes", "planes", size, &rounds);
    timed_close(run, &t);
    mem_free(planes);
    return s;
}

enum status check_derive(struct run *run, const int64_t *numbers, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < 2 * NCASES && !s; i++) {
        struct engine_case c = cases[i / 2];
        /* the same detector in coarser pixels */
        c.pixel_mm = (c.pixels ? c.pixels : 128) * (c.pixel_mm > 0.0 ? c.pixel_mm : 0.8) / EDGE;
        c.pixels = EDGE;
        s = compare(run, &c, i % 2 ? PRECISION_DOUBLE : PRECISION_MIXED, e);
    }
    return s ? s : take_time(run, numbers[0], e);
}
