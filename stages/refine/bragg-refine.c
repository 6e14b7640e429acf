/*
 * bragg-refine: a sink for images.  It fits the model that made the images: orientations, cells,
 * block sizes, mosaic spread and brightness of each frame, with error bars.
 *
 *   --pass    a stage between others, which turns images into refined recipes
 *   --part    a stage between others, which turns images into fits for --gather
 *   --gather  a sink, which combines the fits of many processes
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/cpu/threads.h"
#include "io/output/output_file.h"
#include "refine.h"
#include "stage/stage.h"
#include "stages/shared/engines.h"

struct state {
    struct refine_options options;
    struct refine refine;
    struct route route;      // route of the experiment
    struct experiment data;  // with --pass and --part: copy of the experiment of the frames
};

#define AT(member) .offset = offsetof(struct state, options.member)

static const struct opt options[] = {
    {.doc = "Parameters:", .type = OPT_GROUP},
    {"parameters", "NAME,NAME", "Parameters that are refined for each frame", OPT_TEXT,
     AT(parameters), .always = true, .flags = OPT_BYTES,
     .usual = "rot,cell,ncells,scale,background", .first = true},
    {"share", "NAME,NAME",
     "Parameters that are the same in all frames, fitted after single frames (none)", OPT_TEXT,
     AT(share), .flags = OPT_BYTES | OPT_WHEN_SET, .first = true},
    {.doc = "Starting model:", .type = OPT_GROUP},
    {"start", "FILE", "Start from a recording of recipes or images (the recipes of the frames)",
     OPT_TEXT, AT(start), .flags = OPT_CONTENT | OPT_INPUT, .first = true},
    {"indexed", "FILE",
     "Start from the lattices that an indexing program found: .expt, .stream, or a folder of .expt "
     "or .stream "
     "files; may be repeated",
     OPT_TEXTS, AT(indexed), .flags = OPT_CONTENT, .first = true},
    {"prior", "NAME:[CENTRE:]SIGMA",
     "Limit how far parameter NAME may be from its start, or from CENTRE, in the unit of the "
     "parameter; may be "
     "repeated",
     OPT_TEXTS, AT(priors), .flags = OPT_BYTES},
    {"background", "PHOTONS", "Start from a flat background (the mean between the spots)", OPT_REAL,
     AT(background), .min = 0, .max = 1e9, .flags = OPT_BYTES, .usual = ""},
    {.doc = "Detector (for files of other programs):", .type = OPT_GROUP},
    {"readout", "PHOTONS", "Standard deviation of the readout noise of a pixel (0)", OPT_REAL,
     AT(readout), .min = 0, .max = 1e9, .always = true, .flags = OPT_BYTES},
    {"gain", "ADU", "Value that one photon adds to a pixel (the value of the frames)", OPT_REAL,
     AT(gain), .min = 0, .max = 1e9, .flags = OPT_BYTES | OPT_OPEN_MIN},
    {"adc-offset", "ADU", "Value of a pixel without photons (the value of the frames)", OPT_REAL,
     AT(adc_offset), .min = -1e9, .max = 1e9, .flags = OPT_BYTES, .usual = ""},
    {"psf", POINT_SPREAD_KINDS, "Point spread of the detector (the point spread of the frames)",
     OPT_CHOICE, AT(psf.kind), .choices = POINT_SPREAD_KINDS, .flags = OPT_BYTES, .usual = ""},
    {"psf-fwhm", "UM", "Full width at half maximum of the point spread", OPT_REAL, AT(psf.fwhm_m),
     .si = SI_UM, .min = 0, .max = 1e6, .always = true, .flags = OPT_BYTES | OPT_OPEN_MIN,
     .needs = "psf=gauss|psf=fiber", .usual = "46"},
    {"psf-radius", "PIXELS", "Reach of the point spread; 0: the program chooses the reach", OPT_INT,
     AT(psf.radius_px), .min = 0, .max = 65535, .always = true, .flags = OPT_BYTES,
     .needs = "psf=gauss|psf=fiber", .usual = "0"},
    {"bias", "V", "Voltage across the sensor; charge spreads more at lower voltages", OPT_REAL,
     AT(psf.bias_V), .min = 1, .max = 1e5, .always = true, .flags = OPT_BYTES,
     .needs = "psf=charge", .usual = "200"},
    {.doc = "Output:", .type = OPT_GROUP},
    {"table", "FILE", "Write a table with one line per frame", OPT_TEXT, AT(table), .first = true},
    {"covariance", "FILE", "Write the covariances of the parameters of each good frame", OPT_TEXT,
     AT(covariance)},
    {"recipes", "FILE", "Record the refined recipes for bragg-replay", OPT_TEXT, AT(recipes),
     .first = true},
    {"expt", "FILE", "Write the crystals of good frames as an experiment list of DIALS", OPT_TEXT,
     AT(expt), .first = true},
    {"overwrite", NULL,
     "Replace files of --table, --covariance, --recipes and --expt that another run wrote",
     OPT_FLAG, AT(overwrite), .first = true},
    {"poor-above", "CHI2", "Call a fit poor if its chi2 per pixel is larger", OPT_REAL,
     AT(chi2_max), .min = 1, .max = 1e9, .always = true, .flags = OPT_BYTES, .usual = "3"},
    {.doc = "Several processes:", .type = OPT_GROUP},
    {"part", NULL,
     "Fit frames as one of many processes, for a bragg-refine --gather that is the next stage",
     OPT_FLAG, AT(part), .flags = OPT_BYTES | OPT_WHEN_SET,
     .excludes = "pass gather table covariance recipes expt overwrite"},
    {"gather", NULL, "Combine the results of processes with --part, instead of images", OPT_FLAG,
     AT(gather),
     .excludes = "pass parameters share start indexed prior background readout gain adc-offset psf "
                 "psf-fwhm psf-radius bias poor-above engine threads"},
    {"hold", NULL,
     "With --part: keep the parameters of --share at their start values, from the recipes of a "
     "previous "
     "--gather, while frames are fitted",
     OPT_FLAG, AT(hold), .flags = OPT_BYTES | OPT_WHEN_SET, .needs = "part share"},
    {"pass", NULL, "Send the refined recipe of each frame to the next stage; write no files",
     OPT_FLAG, AT(pass), .excludes = "share table covariance recipes expt overwrite"},
    {.doc = "Computation:", .type = OPT_GROUP},
    {"engine", "reference|cpu|cuda", "Engine that computes images and derivatives", OPT_TEXT,
     AT(engine), .always = true, .flags = OPT_BYTES, .usual = "cpu", .first = true},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores)", OPT_INT,
     AT(threads), .min = 1, .max = 1024, .first = true},
    OPT_END(struct state, options.given),
};

/* Checks the types of the input files, which are read only after the experiment has arrived.
 * STATUS_INPUT: a file has the wrong type. */
static enum status check_inputs(const struct refine_options *o, struct error *e)
{
    enum status s = o->start ? filetype_check_file(o->start, FILETYPE_RECORDING, e) : STATUS_OK;
    for (size_t i = 0; i < o->indexed.count && !s; i++)
        s = filetype_check_file(o->indexed.text[i], FILETYPE_INDEXED, e);
    return s;
}

static enum status open_refine(void *state, const char **operands, int noperands, struct error *e)
{
    struct state *t = state;
    struct refine_options *o = &t->options;
    (void)operands;
    (void)noperands;
    t->refine.options = o;
    t->refine.engine = engine_find(o->engine);
    if (!t->refine.engine)
        return error_set(e, STATUS_USAGE,
                         "--engine: '%.60s' is unknown; expected one of reference, cpu, cuda",
                         o->engine);
    for (size_t i = 0; i < o->indexed.count; i++)
        if (!(o->indexed.text[i] = input_path(o->indexed.text[i])))
            return error_memory(e, "the names of files");
    enum status s = check_inputs(o, e);
    if (!s && o->table)
        s = target_check(o->table, e);
    if (!s && o->covariance)
        s = target_check(o->covariance, e);
    if (!s && o->expt)
        s = target_check(o->expt, e);
    if (!s && o->recipes)
        s = recorder_check(o->recipes, o->overwrite ? RECORDER_REPLACE : RECORDER_NEW, e);
    return s ? s : threads_start(&t->options.threads, e);
}

static enum status message(void *state, const struct route *r, const struct message *m,
                           struct error *e)
{
    struct state *t = state;
    (void)m;
    (void)e;
    if (r->type == MESSAGE_EXPERIMENT)
        t->route = *r;
    return STATUS_OK;
}

static enum status begin_refinement(void *state, struct experiment *x, struct error *e)
{
    return refine_begin(&((struct state *)state)->refine, x, e);
}

static enum status refine_one(void *state, struct frame *f, struct error *e)
{
    const enum status s = refine_take(&((struct state *)state)->refine, f, e);
    return s || image_is_intact(&f->image)
               ? s
               : error_set(
                     e, STATUS_FAILED,
                     "the previous stage reused the memory of a frame while it was being refined");
}

/* Writes the file `path` with the function `write`.  If `path` is NULL, does nothing. */
static enum status write_file(const struct refine *f, const char *path,
                              enum status (*write)(const struct refine *f, FILE *out,
                                                   struct error *e),
                              struct error *e)
{
    struct replace file;
    if (!path)
        return STATUS_OK;
    enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.guarded = !f->options->overwrite;
    s = write(f, file.stream, e);
    if (!s)
        return replace_commit(&file, e);
    replace_abort(&file);
    return s;
}

static enum status end_refinement(void *state, struct error *e)
{
    struct state *t = state;
    refine_sort(&t->refine);
    enum status s =
        t->options.gather ? refine_gather_share(&t->refine, e) : refine_share(&t->refine, e);
    s = s ? s : write_file(&t->refine, t->options.table, refine_write_table, e);
    s = s ? s : write_file(&t->refine, t->options.covariance, refine_write_covariance, e);
    s = s ? s : write_file(&t->refine, t->options.expt, refine_write_expt, e);
    if (!s && t->options.recipes && t->refine.nresults)
        s = refine_write_recipes(&t->refine, &t->route, e);
    if (s)
        return s;
    refine_print(&t->refine, stdout);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "stdout: cannot write");
    return refine_check(&t->refine, e);
}

/* ---- a stage between others: --pass and --part --------------------------------------------- */

/* Prepares the fits.  Then replaces the experiment *x, which the following stages get, by the
 * model. */
static enum status begin_passing(void *state, struct experiment *x, struct error *e)
{
    struct state *t = state;
    struct experiment model;
    experiment_copy(&t->data, x);
    experiment_drop_true(&t->data);  // the model that follows has places of its own
    const enum status s = refine_begin(&t->refine, &t->data, e);
    if (s)
        return s;
    if (t->options.part)
        experiment_copy(&model, &t->refine.model);
    else
        refine_copy_model(&t->refine, &model);
    const struct indexed_lattices *found = &t->refine.indexed;
    uint64_t hash = hash_text(hash_text(HASH_START, x->lineage), model.lineage);
    hash = hash_bytes(hash, found->lattices, found->count * sizeof *found->lattices);
    (void)snprintf(model.lineage, sizeof model.lineage, "%016" PRIx64, hash_finish(hash));
    memcpy(model.history, x->history, sizeof model.history);
    experiment_free(x);
    *x = model;
    return STATUS_OK;
}

static const char *identity(void *state)
{
    const struct refine *f = &((struct state *)state)->refine;
    return beam_plan_identity(f->plan);
}

static enum status pass(void *state, struct frame *f, struct error *e)
{
    const enum status s = refine_one(state, f, e);
    if (s)
        return s;
    struct state *t = state;
    if (t->options.part)
        refine_send(&t->refine, f);
    else
        refine_give(&t->refine, &f->recipe);
    image_free(&f->image);
    reflection_table_free(&f->reflections);
    planes_free(&f->planes);
    return STATUS_OK;
}

static enum status end_passing(void *state, struct error *e)
{
    char line[256];
    (void)e;
    const bool all_good = refine_count(&((struct state *)state)->refine, line, sizeof line);
    log_line(all_good ? LOG_INFO : LOG_WARNING, "%s", line);
    return STATUS_OK;
}

static void close_refine(void *state)
{
    struct state *t = state;
    refine_close(&t->refine);
    experiment_free(&t->data);
}

static const struct stage passing = {
    .role = {.name = "bragg-refine", .wants = KIND_IMAGE, .gives = KIND_RECIPE},
    .summary = "Fit orientations, cells and more to frames, and pass their recipes on.",
    .options = options,
    .reads_only = true,
    .state_size = sizeof(struct state),
    .open = open_refine,
    .begin = begin_passing,
    .identity = identity,
    .frame = pass,
    .end = end_passing,
    .close = close_refine,
};

/* ---- a sink for fits: --gather --------------------------------------------------------------- */

static enum status begin_gathering(void *state, struct experiment *x, struct error *e)
{
    return refine_gather_begin(&((struct state *)state)->refine, x, e);
}

static enum status gather(void *state, struct frame *f, struct error *e)
{
    return refine_gather_take(&((struct state *)state)->refine, f, e);
}

static const struct stage gathering = {
    .role = {.name = "bragg-refine", .wants = KIND_RECIPE, .gives = KIND_NONE, .in_memory = true},
    .summary = "Put together what many processes have fitted to frames.",
    .options = options,
    .takes_fits = true,
    .speaks = true,
    .state_size = sizeof(struct state),
    .open = open_refine,
    .message = message,
    .begin = begin_gathering,
    .frame = gather,
    .end = end_refinement,
    .close = close_refine,
};

/* ---- a sink for images --------------------------------------------------------------------- */

static const struct stage stage = {
    .role = {.name = "bragg-refine", .wants = KIND_IMAGE, .gives = KIND_NONE, .in_memory = true},
    .summary = "Fit orientations, cells and more to frames, with error bars.",
    .examples = "bragg-replay noisy.rec | bragg-refine --start=start.rec --table=refined.tsv\n"
                "... | bragg-refine --part --share=distance | bragg-refine --gather",
    .options = options,
    .reads_only = true,
    .speaks = true,
    .state_size = sizeof(struct state),
    .open = open_refine,
    .message = message,
    .begin = begin_refinement,
    .frame = refine_one,
    .end = end_refinement,
    .close = close_refine,
};

int main(int argc, char **argv)
{
    const struct stage *is = &stage;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--pass") == 0 || strcmp(argv[i], "--part") == 0)
            is = &passing;
        else if (strcmp(argv[i], "--gather") == 0)
            is = &gathering;
    return stage_main(is, argc, argv);
}
