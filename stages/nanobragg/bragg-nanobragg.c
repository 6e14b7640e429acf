/*
 * bragg-nanobragg: the command line and the files of nanoBragg, in one process.  Set-up, engines,
 * noise and writing are the code that the stages use.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/program.h"
#include "engine/cpu/threads.h"
#include "engine/reference/recipe_check.h"
#include "io/images/smv.h"
#include "io/output/output_file.h"
#include "io/structure_factors/hkl.h"
#include "legacy.h"
#include "nanobragg_options.h"
#include "physics/crystal/cell.h"
#include "stages/shared/engines.h"

struct options {
    int engine;  // index into ENGINE_NAMES
    int64_t threads;
    int physics;  // index into PHYSICS_CHOICES
    int64_t trace_pixel[2];
};

#define PHYSICS_CHOICES "physical|faithful"  // in the order of enum physics
#define ENGINE_CHOICES "reference|cpu|cuda"

static const char *const ENGINE_NAMES[] = {"reference", "cpu", "cuda"};

static const struct opt OPTIONS[] = {
    {.doc = "Computation:", .type = OPT_GROUP},
    {"engine", ENGINE_CHOICES, "Engine that computes the pixels", OPT_CHOICE,
     offsetof(struct options, engine), .choices = ENGINE_CHOICES},
    {"threads", "N", "Threads of the engine; the faithful reference always uses 1", OPT_INT,
     offsetof(struct options, threads), .min = 1, .max = 1024, .usual = "1"},
    {"physics", PHYSICS_CHOICES, "Repeat (faithful) or repair (physical) the quirks of nanoBragg",
     OPT_CHOICE, offsetof(struct options, physics), .choices = PHYSICS_CHOICES,
     .usual = "faithful"},
    {"trace-pixel", "FAST,SLOW", "Print all intermediate values of one pixel", OPT_INTS,
     offsetof(struct options, trace_pixel), .max = 65535, .count = 2, .usual = ""},
    {0},
};

static const struct opt_program PROGRAM = {
    .name = "bragg-nanobragg",
    .summary = "Simulate one image with nanoBragg's command line and files.",
    .examples =
        "bragg-nanobragg -cell 100 -N 5 -default_F 100 -distance 100 -detpixels 512\n"
        "bragg-nanobragg --physics=physical --engine=cpu -cell 70 80 90 75 85 95 -hkl P1.hkl",
    .operands = "[-FLAG [VALUE...]]...",
    .details = "Flags are nanoBragg's, one dash and values as separate arguments; see "
               "bragg-nanobragg(1).  Values of the options above follow an equals sign.",
};

/* The state of a run. */
struct run {
    struct options options;
    struct nanobragg flags;
    struct experiment experiment;
    struct recipe recipe;
    struct source *sources;
    float *pixels;
};

static const char *dump_path(const struct nanobragg *n)
{
    return n->dump_file ? n->dump_file : "Fdump.bin";
}

/* Writes the dump of structure factors. In faithful mode, every run with -hkl writes a dump. In
 * physical mode, a dump is written only if its name is given. */
static enum status write_dump(const struct run *r, struct error *e)
{
    const struct nanobragg *n = &r->flags;
    const struct hkl_table *t = &r->experiment.crystals[0].table;
    if (!n->hkl_file || !t->count[0] ||
        (r->experiment.physics == PHYSICS_PHYSICAL && !n->dump_file))
        return STATUS_OK;
    struct replace file;
    enum status s = replace_open(&file, dump_path(n), e);
    if (s)
        return s;
    if ((s = hkl_write_dump(file.stream, t, dump_path(n), e))) {
        replace_abort(&file);
        return s;
    }
    return replace_commit(&file, e);
}

/* Prints one line for each quantity of a traced pixel. */
static void print_value(void *context, const char *name, int count, const double *values,
                        const char *unit)
{
    (void)context;
    printf("trace: %s", name);
    for (int i = 0; i < count; i++)
        printf(" %.17g", values[i]);
    printf("%s%s\n", *unit ? " " : "", unit);
}

/* Prints the trace of the pixel of --trace-pixel or -printout_pixel, if one of them is given. */
static enum status trace(const struct engine *engine, struct plan *plan, const struct run *r,
                         struct error *e)
{
    struct pixel_trace t = {r->flags.trace_fast, r->flags.trace_slow, print_value, NULL};
    if (r->options.trace_pixel[0] >= 0) {
        t.fast = r->options.trace_pixel[0];
        t.slow = r->options.trace_pixel[1];
    }
    if (t.fast < 0)
        return STATUS_OK;
    return engine->trace(plan, &r->recipe, &t, e);
}

/* Checks that all output files can be written, before the image is computed. */
static enum status check_files(const struct nanobragg *n, struct error *e)
{
    const char *paths[] = {n->float_file, n->int_file, n->no_pgm ? NULL : n->pgm_file,
                           n->no_noise ? NULL : n->noise_file, n->hkl_file ? dump_path(n) : NULL};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct replace file;
        const enum status s = paths[i] ? replace_open(&file, paths[i], e) : STATUS_OK;
        if (s)
            return s;
        if (paths[i])
            replace_abort(&file);
    }
    return STATUS_OK;
}

/* Computes the image into r->pixels. */
static enum status compute_image(struct run *r, struct error *e)
{
    const struct engine *engine = engine_find(ENGINE_NAMES[r->options.engine]);
    enum status s = STATUS_OK;
    if (!engine)
        return error_set(e, STATUS_USAGE, "--engine: this build has no %s engine",
                         ENGINE_NAMES[r->options.engine]);
    if ((s = faithful_check(&r->experiment, &r->recipe, engine->name, e)))
        return s;
    r->pixels = mem_array((size_t)experiment_pixels(&r->experiment), sizeof *r->pixels);
    if ((s = threads_start(&r->options.threads, e)))
        return s;
    const struct engine_options options = {.threads = (int)r->options.threads};
    struct plan *plan;
    if ((s = engine->create(&plan, &r->experiment, &options, e)))
        return s;
    if (!(s = trace(engine, plan, r, e)))
        s = engine->run(plan, &r->recipe, r->pixels, NULL, e);
    engine->destroy(&plan);
    return s;
}

/* Draws the random numbers of the misset and of the mosaic domains from *random again. nanoBragg
 * has one random generator for everything, and a negative noise seed on the command line does
 * not restart this generator: the noise then continues after these numbers. */
static void repeat_draws(const struct run *r, struct ran1 *random)
{
    const struct orientation_request *o = &r->flags.orientation;
    const size_t count = r->recipe.lattices[0].ndomains;
    double misset[3];
    double *domains = mem_array(count, 9 * sizeof *domains);
    if (o->random_misset)
        misset_random(random, o->misset_seed, misset);
    mosaic_domains(random, o->mosaic_seed, o->mosaic_rad, count, domains);
    mem_free(domains);
}

/* Returns the requested length of the slow edge of the detector, in m. The length need not be a
 * whole number of pixels. */
static double slow_size_m(const struct detector_request *d)
{
    return d->pixels[1] ? d->pixel_m * (double)d->pixels[1] : d->size_m[1];
}

/* Prints the statistics and writes the four files. */
static enum status write_files(const struct run *r, struct error *e)
{
    const struct nanobragg *n = &r->flags;
    const struct panel *p = &r->experiment.panels[0];
    const struct legacy_files files = nanobragg_files(n);
    static struct header_text header;  // too large for a stack
    smv_header_nanobragg(&header, p, slow_size_m(&n->request.detector),
                         r->experiment.beam.wavelength_m, n->orientation.phi_rad,
                         nanobragg_osc_rad(&n->orientation));
    struct ran1 random = {0};
    repeat_draws(r, &random);
    enum status s = write_dump(r, e);
    return s ? s : legacy_files_write(&files, p, r->pixels, &header, &random, e);
}

/* Parses the flags, computes the image and writes the files. The options with two dashes must be
 * parsed before. */
static enum status run_nanobragg(struct run *r, int argc, char **argv, struct error *e)
{
    nanobragg_defaults(&r->flags, (enum physics)r->options.physics);
    enum status s = nanobragg_parse(&r->flags, argc, argv, e);
    if (s)
        mem_free(r->flags.request.detector.mask);
    if (s || (s = nanobragg_prepare(&r->flags, &r->experiment, &r->recipe, &r->sources, e)) ||
        (s = check_files(&r->flags, e)) || (s = compute_image(r, e)))
        return s;
    return write_files(r, e);
}

/* Parses the options with two dashes. */
static enum status parse_gnu(struct options *o, int argc, char **argv, struct error *e)
{
    char **gnu = mem_array((size_t)argc + 1, sizeof *gnu);
    const int count = legacy_split(argc, argv, gnu);
    int noperands;
    enum status s = opt_parse(&PROGRAM, OPTIONS, o, NULL, NULL, count, gnu, NULL, &noperands, e);
    mem_free(gnu);
    return s;
}

int main(int argc, char **argv)
{
    struct error e = {0};
    struct run r;
    memset(&r, 0, sizeof r);
    program_open(PROGRAM.name);
    enum status s = parse_gnu(&r.options, argc, argv, &e);
    if (!s)
        s = run_nanobragg(&r, argc, argv, &e);
    mem_free(r.pixels);
    mem_free(r.sources);
    recipe_free(&r.recipe);
    experiment_free(&r.experiment);
    return s ? log_fail(&e) : STATUS_OK;
}
