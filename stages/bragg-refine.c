/*
 * bragg-refine: a last stage for images that fits what made them: orientations, cells, sizes of
 * blocks, mosaic spread and brightness, frame by frame, with error bars.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/target.h"
#include "engine/threads.h"
#include "engines.h"
#include "io/replace.h"
#include "refine.h"
#include "stage/stage.h"

struct state {
    struct refine_options options;
    struct refine refine;
    struct route route;  // of the experiment
};

#define AT(member) .offset = offsetof(struct state, options.member)

static const struct opt options[] = {
    {"parameters", "NAME,NAME", "What is refined in every frame, see bragg-refine(1)", OPT_TEXT,
     AT(parameters), .usual = "rot,cell,ncells,scale,background"},
    {"share", "NAME,NAME", "What all frames have in common, refined after that", OPT_TEXT,
     AT(share)},
    {"start", "FILE", "Recording of recipes to start from (those that come with the frames)",
     OPT_TEXT, AT(start)},
    {"indexed", "FILE",
     "What an indexing program found (.expt, .stream, or a folder of them), to start from its "
     "lattices; may be repeated",
     OPT_TEXTS, AT(indexed)},
    {"prior", "NAME:SIGMA",
     "How far a parameter may be from its start, in its unit; may be repeated", OPT_TEXTS,
     AT(priors)},
    {"background", "PHOTONS", "A flat background to start from (means between the spots)", OPT_REAL,
     AT(background), .min = 0, .max = 1e9, .given = offsetof(struct state, options.has_background)},
    {"readout", "PHOTONS", "Standard deviation of the readout in a pixel", OPT_REAL, AT(readout),
     .min = 0, .max = 1e9},
    {"gain", "ADU", "What one photon adds to a pixel (what the frames tell)", OPT_REAL, AT(gain),
     .min = 0, .max = 1e9, .flags = OPT_OPEN_MIN,
     .given = offsetof(struct state, options.has_gain)},
    {"adc-offset", "ADU", "Value of a pixel without photons (what the frames tell)", OPT_REAL,
     AT(adc_offset), .min = -1e9, .max = 1e9,
     .given = offsetof(struct state, options.has_adc_offset)},
    {"poor-above", "CHI2", "A fit with more chi2 a pixel is poor", OPT_REAL, AT(chi2_max), .min = 1,
     .max = 1e9, .usual = "3"},
    {"table", "FILE", "Write a line for each frame", OPT_TEXT, AT(table)},
    {"recipes", "FILE", "Record the refined recipes, for bragg-replay", OPT_TEXT, AT(recipes)},
    {"overwrite", NULL, "Replace files in the place of --table and --recipes", OPT_FLAG,
     AT(overwrite)},
    {"engine", "reference|cpu", "Which engine computes", OPT_TEXT, AT(engine), .usual = "cpu"},
    {"threads", "N", "Threads of this process (as many as processors)", OPT_INT, AT(threads),
     .min = 1, .max = 1024},
    {0},
};

static enum status open_refine(void *state, const char **operands, int noperands, struct error *e)
{
    struct state *t = state;
    const struct refine_options *o = &t->options;
    (void)operands;
    (void)noperands;
    t->refine.options = o;
    t->refine.engine = engine_find(o->engine);
    if (!t->refine.engine || !t->refine.engine->derive)
        return error_set(e, STATUS_USAGE,
                         "--engine: '%.60s' has no derivatives, must be one of reference, cpu",
                         o->engine);
    enum status s = o->table ? target_check(o->table, e) : STATUS_OK;
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

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    return refine_begin(&((struct state *)state)->refine, x, e);
}

static enum status frame(void *state, struct frame *f, struct error *e)
{
    const enum status s = refine_take(&((struct state *)state)->refine, f, e);
    return s || image_is_intact(&f->image)
               ? s
               : error_set(e, STATUS_FAILED, "a frame was replaced while it was refined");
}

static enum status write_table(const struct refine *f, struct error *e)
{
    struct replace file;
    if (!f->options->table)
        return STATUS_OK;
    const enum status s = replace_open(&file, f->options->table, e);
    if (s)
        return s;
    file.guarded = !f->options->overwrite;
    refine_write_table(f, file.stream);
    return replace_commit(&file, e);
}

static enum status end(void *state, struct error *e)
{
    struct state *t = state;
    refine_sort(&t->refine);
    enum status s = refine_share(&t->refine, e);
    s = s ? s : write_table(&t->refine, e);
    if (!s && t->options.recipes && t->refine.nresults)
        s = refine_write_recipes(&t->refine, &t->route, e);
    if (s)
        return s;
    refine_print(&t->refine, stdout);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "stdout: cannot write");
    return refine_check(&t->refine, e);
}

static void close_refine(void *state)
{
    refine_close(&((struct state *)state)->refine);
}

static const struct stage stage = {
    .name = "bragg-refine",
    .summary = "Fit orientations, cells and more to frames, with error bars.",
    .examples = "bragg-replay noisy.rec | bragg-refine --start=start.rec --table=refined.tsv\n"
                "... | bragg-noise | bragg-refine --parameters=rot,cell,scale,background",
    .options = options,
    .wants = KIND_IMAGE,
    .gives = KIND_NONE,
    .reads_only = true,
    .speaks = true,
    .in_memory = true,
    .state_size = sizeof(struct state),
    .open = open_refine,
    .message = message,
    .begin = begin,
    .frame = frame,
    .end = end,
    .close = close_refine,
};

int main(int argc, char **argv)
{
    return stage_main(&stage, argc, argv);
}
