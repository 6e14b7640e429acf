/*
 * bragg-intensity: computes the photons per pixel with one of the engines (engine/engine.h), and
 * what goes with the image: reflection tables, labels and derivative images.  With --fuse it also
 * does the work of the next stages (fuse.h).
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/program.h"
#include "engine/cpu/threads.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "engine/engine.h"
#include "engine/reference/recipe_check.h"
#include "engine/reflections/photons.h"
#include "fuse.h"
#include "gpu/gpu.h"
#include "model/frame.h"
#include "physics/detector/smear.h"
#include "stage/stage.h"
#include "stages/shared/beam_plan.h"
#include "stages/shared/engines.h"

struct derivatives {
    struct parameters set;  // parameters of --derivatives
    size_t pixels;          // number of pixels of a frame
    double least;           // --near-spots: fewest photons of a pixel; 0: all pixels
    float *values;          // owned: [set.count x pixels], derivatives of the current frame
    int64_t *near;          // owned: [pixels], numbers of the pixels near spots; NULL: all pixels
};

/* --- derivative images (planes) --------------------------------------------- */

_Static_assert((int)PLANES_MAX == (int)PARAMETERS_MAX, "every parameter can have an image");
_Static_assert((int)PLANE_NAME_SIZE == (int)PARAMETER_NAME_SIZE,
               "images have the names of parameters");

/* Returns true if F is among the names. Derivatives by F are not images: they are stored in the
 * reflection table (model/reflections.h). Copies all other names to `rest`, which must have as
 * much room as `names`. */
static bool derivatives_by_F(const char *names, char *rest)
{
    bool found = false;
    *rest = '\0';
    for (const char *word = names; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        const size_t length = strcspn(word, ",");
        if (length == 1 && *word == 'F' && !found) {
            found = true;
            continue;
        }
        if (*rest)
            strcat(rest, ",");
        strncat(rest, word, length);
    }
    return found;
}

/* Checks that this experiment has derivatives by F.  STATUS_INPUT: it does not. */
static enum status derivatives_check_F(const struct experiment *x, struct error *e)
{
    if (x->b_factors_vary)
        return error_set(e, STATUS_INPUT,
                         "--derivatives=F does not support lattices with B factors of their own. "
                         "Remove bragg-orient --vary of b-factor or resolution");
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "--derivatives=F needs bragg-geometry --physics=physical");
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].interpolate)
            return error_set(e, STATUS_INPUT,
                             "--derivatives=F does not work with interpolated structure factors. "
                             "Give bragg-geometry --interpolate=off");
    return STATUS_OK;
}

/* Parses names that are separated by commas, see engine/derivatives/parameter.h.  Before the call
 * *d is 0, except for `least`.  The caller calls derivatives_free, also after an error.
 * STATUS_USAGE: a name does not exist.
 * STATUS_INPUT: the experiment does not have the parameter. */
static enum status derivatives_begin(struct derivatives *d, const char *names,
                                     const struct experiment *x, struct error *e)
{
    struct error cause = {0};
    const enum status s = parameters_parse(names, x, &d->set, &cause);
    if (s)
        return error_set(e, s, "--derivatives: %s", cause.text);
    d->pixels = (size_t)experiment_pixels(x);
    d->values = mem_array(d->set.count, d->pixels * sizeof *d->values);
    if (d->least > 0.0)
        d->near = mem_array(d->pixels + 1, sizeof *d->near);
    return STATUS_OK;
}

/* Stores the numbers of the pixels near spots in d->near. Returns how many pixels that are. */
static size_t list_near(struct derivatives *d, const float *photons)
{
    size_t count = 0;
    for (size_t i = 0; i < d->pixels; i++)
        if ((double)photons[i] >= d->least)
            d->near[count++] = (int64_t)i;
    return count;
}

/* Copies the first `count` numbers of d->near to the list of pixels of the frame. */
static void take_pixels(const struct derivatives *d, struct planes_pixels *p, size_t count)
{
    if (!d->near)
        return;
    *p = (struct planes_pixels){true, count, mem_array(count, sizeof *p->numbers)};
    for (size_t i = 0; i < count; i++)
        p->numbers[i] = (uint32_t)d->near[i];
}

/* Copies values[count], the derivatives by one parameter, into a derivative image. The values
 * belong to all pixels, or to the pixels near spots. STATUS_INPUT: a value is not finite. */
static enum status take_plane(struct plane *p, const struct parameter *of, const float *values,
                              size_t count, uint64_t id, struct error *e)
{
    (void)snprintf(p->name, sizeof p->name, "%s", of->name);
    (void)snprintf(p->unit, sizeof p->unit, "%s", of->unit);
    if (!photons_are_finite(values, count))
        return error_set(e, STATUS_INPUT,
                         "--derivatives: frame %" PRIu64 ": the derivative by %s is not finite", id,
                         of->name);
    p->count = count;
    p->values = mem_copy(values, count, sizeof *values);
    return STATUS_OK;
}

/* Computes d->values for `count` pixels. All derivatives of a frame without lattices are 0, also
 * those by parameters of lattices. */
static enum status compute_values(struct derivatives *d, struct harmonic_image *harmonic,
                                  const struct engine *engine, struct plan *plan,
                                  const struct recipe *recipe, size_t count, struct error *e)
{
    const struct derive_request request = {
        .set = &d->set, .listed = d->near, .npixels = count, .planes = d->values};
    struct error cause = {0};
    if (!recipe->nlattices) {
        memset(d->values, 0, d->set.count * count * sizeof *d->values);
        return STATUS_OK;
    }
    const enum status s = harmonic_image_derive(harmonic, engine, plan, recipe, &request, &cause);
    return s ? error_set(e, s, "--derivatives: frame %" PRIu64 ": %s", recipe->id, cause.text)
             : STATUS_OK;
}

/* Computes the derivative images of the recipe of a frame, with the plan of the beam and the
 * plan of the third harmonic, and stores them in frame->planes, which must be empty. If d->least
 * is above 0, photons[d->pixels] is the image of the recipe, and only pixels with at least
 * d->least photons get derivatives. STATUS_INPUT: the recipe does not have a parameter, or a
 * derivative is not finite. */
static enum status derivatives_make(struct derivatives *d, struct harmonic_image *harmonic,
                                    const struct engine *engine, struct plan *plan,
                                    const float *photons, struct frame *frame, struct error *e)
{
    const size_t count = d->near ? list_near(d, photons) : d->pixels;
    enum status s = compute_values(d, harmonic, engine, plan, &frame->recipe, count, e);
    if (!s && !planes_reserve(&frame->planes, d->set.count))
        s = error_memory(e, "the derivative images");
    if (!s)
        take_pixels(d, &frame->planes.pixels, count);
    for (size_t i = 0; i < d->set.count && !s; i++)
        s = take_plane(&frame->planes.items[i], &d->set.items[i], d->values + i * count, count,
                       frame->recipe.id, e);
    return s;
}

static void derivatives_free(struct derivatives *d)
{
    mem_free(d->values);
    mem_free(d->near);
    *d = (struct derivatives){0};
}

struct intensity {
    /* options */
    const char *engine_name;       // value of --engine
    const char *derivative_names;  // value of --derivatives; NULL: none
    char *plane_names;             // owned: these names without F; NULL: no derivative images
    int isa;                       // enum isa; -1: the best of this CPU
    int precision;                 // enum engine_precision
    double faint;                  // photons that a pixel may lose
    int64_t threads;
    int64_t device;          // number of the GPU; -1: chosen automatically
    int64_t trace_pixel[2];  // fast, slow; -1: none
    bool lists_gpus;
    struct reflections_wanted wanted;
    struct opt_marks given;
    struct opt_texts fuse_texts;
    /* state */
    const struct engine *engine;
    struct experiment experiment;  // copy for the engine, with the tables of structure factors
    struct plan *plan;             // data that the engine prepared for this experiment
    struct harmonic_image harmonic;
    struct fuse fuse;  // stages of --fuse
    struct derivatives derivatives;
    float *photons;  // owned: image without background, for --near-spots with --fuse; NULL: the
                     // image of the frame is used
    atomic_uint_fast64_t rows;  // finished rows of the current frame
    uint64_t setups;            // number of plans that were made; one plan is enough for all frames
    char figures[720];          // statistics for --stats, as members of a JSON object
};

#define AT(member) .offset = offsetof(struct intensity, member)
#define LATER (OPT_BYTES | OPT_WHEN_SET)
#define ISA_CHOICES "baseline|avx2|avx512"
#define PRECISION_CHOICES "mixed|double"  // in the order of enum engine_precision

/* The option table.  The order of rows with OPT_BYTES is that of the lineage: do not change it. */
static const struct opt options[] = {
    {.doc = "Engine:", .type = OPT_GROUP},
    {"engine", "reference|cpu|cuda",
     "Engine: reference (plain and slow, defines the results), cpu (fast), or cuda, an NVIDIA GPU",
     OPT_TEXT, AT(engine_name), .flags = OPT_BYTES, .always = true, .usual = "cpu", .first = true},
    {"precision", PRECISION_CHOICES,
     "Precision of cpu and cuda: mixed is fast, double is within 1e-9 of the reference", OPT_CHOICE,
     AT(precision), .choices = PRECISION_CHOICES, .flags = OPT_BYTES, .always = true,
     .first = true},
    {"isa", ISA_CHOICES, "Instruction set of the cpu engine (best of this CPU)", OPT_CHOICE,
     AT(isa), .choices = ISA_CHOICES, .usual = ""},
    {"faint", "PHOTONS",
     "Photons that a pixel may lose, 0 to 1, so that the cpu engine need not compute faint terms",
     OPT_REAL, AT(faint), .max = 1, .flags = LATER, .always = true, .usual = "0"},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024, .first = true},
    ENGINE_DEVICE(offsetof(struct intensity, device)),
    {"gpus", NULL, "Print the GPUs that --engine=cuda can use, and compute nothing", OPT_FLAG,
     AT(lists_gpus)},
    {.doc = "Other stages:", .type = OPT_GROUP},
    {"fuse", "'STAGE OPTIONS'",
     "Also do the work of background or noise in this process. Can be repeated: background, then "
     "noise",
     OPT_TEXTS, AT(fuse_texts)},
    {.doc = "Ground truth:", .type = OPT_GROUP},
    {"reflections", "PHOTONS",
     "Add a table of the reflections with more than PHOTONS photons to each frame", OPT_REAL,
     AT(wanted.least_photons), .min = 0, .max = 1e30, .flags = OPT_CONTENT | OPT_BARE, .usual = "1",
     .first = true},
    {"labels", NULL, "Add to each pixel the number of the reflection that gives most photons",
     OPT_FLAG, AT(wanted.labels), .flags = OPT_CONTENT, .needs = "reflections", .first = true},
    {"derivatives", "NAME,...",
     "Add a derivative image for each parameter NAME, such as rot,cell; derivatives by F go to the "
     "reflection table",
     OPT_TEXT, AT(derivative_names), .flags = OPT_CONTENT, .first = true},
    {"near-spots", "PHOTONS",
     "Compute derivative images only in pixels with at least PHOTONS photons; all other pixels "
     "are 0",
     OPT_REAL, AT(derivatives.least), .min = 0, .max = 1e30, .flags = OPT_CONTENT | OPT_OPEN_MIN,
     .needs = "derivatives"},
    {.doc = "Measurements:", .type = OPT_GROUP},
    {"trace-pixel", "FAST,SLOW", "Print all intermediate values of one pixel in frame 0", OPT_INTS,
     AT(trace_pixel), .min = 0, .max = 65535, .count = 2, .usual = ""},
    OPT_END(struct intensity, given),
};

static enum status unknown_engine(const char *name, struct error *e)
{
    char names[128] = "";
    for (size_t i = 0, n = 0; engines[i] && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", engines[i]->name);
    return error_set(e, STATUS_USAGE, "--engine: '%.60s' is unknown; expected one of %s", name,
                     names);
}

/* Splits the names of --derivatives: the derivative by F belongs to the reflection table, all
 * other derivatives are images. */
static void take_names(struct intensity *o)
{
    const char *names = o->derivative_names;
    if (!names)
        return;
    o->plane_names = mem_array(strlen(names) + 2, 1);
    o->wanted.slopes = derivatives_by_F(names, o->plane_names);
    if (o->wanted.slopes && !opt_given(options, o, "reflections"))
        o->wanted.least_photons = 1.0;
    if (o->wanted.slopes && !*o->plane_names) {
        mem_free(o->plane_names);
        o->plane_names = NULL;
    }
}

static enum status open_intensity(void *state, const char **operands, int noperands,
                                  struct error *e)
{
    struct intensity *o = state;
    (void)operands;
    (void)noperands;
    if (o->lists_gpus)
        return error_set(e, STATUS_USAGE,
                         "--gpus prints a list instead of computing images; remove the other "
                         "options");
    o->engine = engine_find(o->engine_name);
    if (!o->engine)
        return unknown_engine(o->engine_name, e);
    take_names(o);
    o->fuse.reflections =
        opt_given(options, o, "reflections") || o->wanted.slopes ? &o->wanted : NULL;
    const enum status s = threads_start(&o->threads, e);
    return s ? s : fuse_open(&o->fuse, &o->fuse_texts, o->threads, e);
}

/* Returns true for the process that prints warnings for all processes of this stage. */
static bool is_first_worker(void)
{
    const char *worker = getenv("BRAGG_WORKER");
    return !worker || strcmp(worker, "0") == 0;
}

static enum status intensity_begin(void *state, struct experiment *x, struct error *e)
{
    struct intensity *o = state;
    const struct panel *p = &x->panels[0];
    if (o->trace_pixel[0] >= p->fast_pixels || o->trace_pixel[1] >= p->slow_pixels)
        return error_set(e, STATUS_USAGE,
                         "--trace-pixel=%" PRId64 ",%" PRId64
                         " is outside the detector; expected a pixel of %" PRId64 " x %" PRId64,
                         o->trace_pixel[0], o->trace_pixel[1], p->fast_pixels, p->slow_pixels);
    experiment_copy(&o->experiment, x);
    experiment_take_true(&o->experiment);
    experiment_drop_tables(x);  // the next stages do not need the tables of structure factors
    const bool harmonic = x->beam.harmonic_share > 0;
    struct engine_options how = {.threads = (int)o->threads,
                                 .isa = o->isa >= 0 ? isa_name((enum isa)o->isa) : NULL,
                                 .precision = (enum engine_precision)o->precision,
                                 .faint = o->faint,
                                 .sums = !o->fuse.n && !harmonic,
                                 .reflections = o->fuse.reflections};
    enum status s = engine_choose_device(o->device, &how, e);
    if (!s)
        s = o->engine->create(&o->plan, &o->experiment, &how, e);
    if (!s)
        s = harmonic_image_open(&o->harmonic, o->engine, &o->experiment, &how, e);
    if (s)
        return s;
    o->fuse.harmonic = harmonic ? &o->harmonic : NULL;
    o->setups++;
    if (o->wanted.slopes)
        s = derivatives_check_F(&o->experiment, e);
    if (!s && o->plane_names)
        s = derivatives_begin(&o->derivatives, o->plane_names, &o->experiment, e);
    if (s)
        return s;
    if (o->plane_names && o->derivatives.least > 0 && o->fuse.n)
        o->photons = mem_array(o->derivatives.pixels, sizeof *o->photons);
    o->fuse.looked = !is_first_worker();
    log_line(LOG_INFO, "engine %s: %s", o->engine->name, o->engine->describe(o->plan));
    s = fuse_begin(&o->fuse, o->engine, o->plan, x, e);
    if (o->plane_names)
        o->fuse.card = NULL;  // derivative images may need the image on the CPU
    return s;
}

static const struct card *intensity_card(void *state)
{
    return ((const struct intensity *)state)->fuse.card;
}

/* Callback of a trace: prints a line per quantity, for people. */
static void print_value(void *context, const char *name, int count, const double *values,
                        const char *unit)
{
    (void)context;
    fprintf(stderr, "%s%s: trace: %s", log_aside(), log_program(), name);
    for (int i = 0; i < count; i++)
        fprintf(stderr, " %.17g", values[i]);
    fprintf(stderr, "%s%s\n", *unit ? " " : "", unit);
}

static enum status trace(const struct intensity *o, const struct frame *f, struct error *e)
{
    const struct pixel_trace trace = {
        .fast = o->trace_pixel[0], .slow = o->trace_pixel[1], .value = print_value};
    if (o->trace_pixel[0] < 0 || f->recipe.id != 0)
        return STATUS_OK;
    if (o->experiment.sampling.smears && smear_has_layers(&o->experiment))
        fprintf(stderr, "%s%s: trace: the layers of the sensor; in the image it is smeared\n",
                log_aside(), log_program());
    return o->engine->trace(o->plan, &f->recipe, &trace, e);
}

/* Computes the photons of the crystals, without background and noise, into o->photons. */
static enum status lone_photons(struct intensity *o, const struct recipe *r, struct error *e)
{
    double all;
    const enum status s = o->engine->run(o->plan, r, o->photons, NULL, e);
    return s ? s : harmonic_image_photons(&o->harmonic, r, o->photons, &all, NULL, NULL, e);
}

static enum status add_planes(struct intensity *o, const float *photons, struct frame *f,
                              struct error *e)
{
    return derivatives_make(&o->derivatives, &o->harmonic, o->engine, o->plan, photons, f, e);
}

static void intensity_announce(void *state, const struct recipe *next)
{
    const struct intensity *o = state;
    o->engine->announce(o->plan, next);
}

/* Frames are announced if the engine can begin them early, and if each frame is one call of the
 * engine: with derivative images it may be several. */
static enum status settle_intensity(void *state, const struct start *start, struct stage *self,
                                    struct error *e)
{
    const struct intensity *o = state;
    (void)start;
    (void)e;
    if (o->engine->announce && !o->plane_names)
        self->announce = intensity_announce;
    return STATUS_OK;
}

static enum status intensity_frame(void *state, struct frame *f, struct error *e)
{
    struct intensity *o = state;
    const size_t pixels = (size_t)experiment_pixels(&o->experiment);
    atomic_store(&o->rows, 0);
    const bool later =
        o->derivatives.least > 0 && !o->photons;  // the image has to be computed first
    enum status s = faithful_check(&o->experiment, &f->recipe, o->engine->name, e);
    if (!s && o->photons)
        s = lone_photons(o, &f->recipe, e);
    if (!s && o->plane_names && !later)
        s = add_planes(o, o->photons, f, e);
    if (!s)
        s = fuse_frame(&o->fuse, f, pixels, &o->rows, e);
    if (!s && o->plane_names && later)
        s = add_planes(o, f->image.pixels, f, e);
    return s ? s : trace(o, f, e);
}

static const char *intensity_report(void *state)
{
    struct intensity *o = state;
    int at = snprintf(o->figures, sizeof o->figures, "\"setups\":%" PRIu64, o->setups);
    at += engine_figures(o->engine, o->plan, o->figures + at, sizeof o->figures - (size_t)at);
    if (o->engine && o->engine->run_parts && o->fuse.n)
        (void)snprintf(o->figures + at, sizeof o->figures - (size_t)at,
                       ",\"frames_joined\":%" PRIu64, o->fuse.joined);
    if (o->engine && o->engine->card)
        (void)snprintf(o->figures + at, sizeof o->figures - (size_t)at,
                       ",\"gpu_images_given\":%" PRIu64, o->fuse.given);
    if (o->plan && o->engine->unpin)
        o->engine->unpin(o->plan);
    return o->figures;
}

static void close_intensity(void *state)
{
    struct intensity *o = state;
    if (o->plan)
        o->engine->destroy(&o->plan);
    harmonic_image_close(&o->harmonic);
    fuse_close(&o->fuse);
    derivatives_free(&o->derivatives);
    mem_free(o->plane_names);
    mem_free(o->photons);
    experiment_free(&o->experiment);
}

static const char *identity(void *state)
{
    const struct intensity *o = state;
    return o->plan ? o->engine->identity(o->plan) : "any";
}

static size_t fused_stages(void *state, const struct fused_stage **fused)
{
    const struct intensity *o = state;
    *fused = o->fuse.guest;
    return o->fuse.n;
}

static atomic_uint_fast64_t *progress(void *state)
{
    return &((struct intensity *)state)->rows;
}

/* Returns the number of rows that `progress` counts in a frame. 0: not known, because derivative
 * images take time after the last row. */
static uint64_t all_rows(void *state)
{
    const struct intensity *o = state;
    const uint64_t passes = o->fuse.harmonic ? 2 : 1;
    return o->plane_names ? 0 : passes * (uint64_t)experiment_rows(&o->experiment);
}

static const struct stage stage = {
    .role = {.name = "bragg-intensity", .wants = KIND_RECIPE, .gives = KIND_IMAGE},
    .summary = "Compute the photons that the crystals scatter into every pixel.",
    .examples = "... | bragg-orient --random | bragg-intensity --threads=4 | ...\n"
                "... | bragg-intensity --engine=reference --trace-pixel=512,300 | ...",
    .options = options,
    .state_size = sizeof(struct intensity),
    .open = open_intensity,
    .settle = settle_intensity,
    .begin = intensity_begin,
    .card = intensity_card,
    .frame = intensity_frame,
    .report = intensity_report,
    .close = close_intensity,
    .identity = identity,
    .fused = fused_stages,
    .progress = progress,
    .rows = all_rows,
};

/* Prints a line about each GPU.  bragg-run reads the lines, or the error, before it chooses the
 * engine. */
static int list_gpus(void)
{
    struct error e = {0};
    char text[GPU_DESCRIPTION];
    int count = 1;
    enum status s = STATUS_OK;
    program_open(stage.role.name);
    for (int i = 0; i < count && !s; i++) {
        s = gpu_describe(i, &count, text, &e);
        if (!s)
            printf("%s\n", text);
    }
    if (!s && fflush(stdout) != 0)
        s = error_errno(&e, STATUS_FAILED, "cannot write to stdout");
    return s ? log_fail(&e) : STATUS_OK;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--gpus") == 0)
        return list_gpus();
    return stage_main(&stage, argc, argv);
}
