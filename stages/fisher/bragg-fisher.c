/*
 * bragg-fisher: a last stage for recipes that says how well their images tell parameters:
 * Cramer-Rao bounds from derivatives, without any data.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/files.h"
#include "base/program.h"
#include "engine/cpu/threads.h"
#include "fisher.h"
#include "io/output/replace.h"
#include "page/document.h"
#include "stage/stage.h"

struct state {
    struct fisher_options options;
    struct fisher fisher;
};

#define AT(member) .offset = offsetof(struct state, options.member)

static const struct opt options[] = {
    {"parameters", "NAME,NAME", "What every frame has of its own, see bragg-fisher(1)", OPT_TEXT,
     AT(parameters), .usual = "rot,cell,ncells,scale,background"},
    {"share", "NAME,NAME", "What all frames have in common", OPT_TEXT, AT(share)},
    {"prior", "NAME:SIGMA", "What is known before, in the parameter's unit; may be repeated",
     OPT_TEXTS, AT(priors)},
    {"background", "PHOTONS", "Mean of the background in a pixel", OPT_REAL, AT(background),
     .min = 0, .max = 1e9, .usual = "1"},
    {"readout", "PHOTONS", "Standard deviation of the readout in a pixel", OPT_REAL, AT(readout),
     .min = 0, .max = 1e9},
    {"distances", "MM,MM", "Detector distances to compare (that of bragg-geometry)", OPT_TEXT,
     AT(distances)},
    {"table", "FILE", "Write the error bars of every frame", OPT_TEXT, AT(table)},
    {"report", "FILE.html", "Write a page, with plots over the distances", OPT_TEXT, AT(report)},
    {"overwrite", NULL, "Replace another file in the place of --table", OPT_FLAG, AT(overwrite),
     .needs = "table"},
    {"engine", "reference|cpu|cuda", "Which engine computes derivatives", OPT_TEXT, AT(engine),
     .usual = "cpu"},
    {"threads", "N", "Threads of this process (as many as processors)", OPT_INT, AT(threads),
     .min = 1, .max = 1024},
    {0},
};

static enum status open_fisher(void *state, const char **operands, int noperands, struct error *e)
{
    struct state *t = state;
    (void)operands;
    (void)noperands;
    t->fisher.options = &t->options;
    enum status s = t->options.table ? target_check(t->options.table, e) : STATUS_OK;
    if (!s && t->options.report)
        s = document_check(t->options.report, e);
    return s ? s : threads_start(&t->options.threads, e);
}

static enum status begin(void *state, struct experiment *x, struct error *e)
{
    struct state *t = state;
    return fisher_begin(&t->fisher, x, e);
}

static enum status frame(void *state, struct frame *f, struct error *e)
{
    struct state *t = state;
    return fisher_take(&t->fisher, &f->recipe, e);
}

static enum status write_file(const struct fisher *f, const char *path, bool guarded,
                              void (*write)(const struct fisher *, FILE *), struct error *e)
{
    struct replace file;
    if (!path)
        return STATUS_OK;
    const enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.guarded = guarded;
    write(f, file.stream);
    return replace_commit(&file, e);
}

static enum status end(void *state, struct error *e)
{
    struct state *t = state;
    const struct fisher_options *o = &t->options;
    enum status s = fisher_solve(&t->fisher, e);
    s = s ? s : write_file(&t->fisher, o->table, !o->overwrite, fisher_write_table, e);
    s = s ? s : write_file(&t->fisher, o->report, false, fisher_write_page, e);
    if (s)
        return s;
    fisher_print(&t->fisher, stdout);
    return fflush(stdout) || ferror(stdout) ? error_errno(e, STATUS_FAILED, "stdout: cannot write")
                                            : STATUS_OK;
}

static void close_fisher(void *state)
{
    struct state *t = state;
    fisher_close(&t->fisher);
}

static const struct stage stage = {
    .role = {.name = "bragg-fisher", .wants = KIND_RECIPE, .gives = KIND_NONE, .in_memory = true},
    .summary = "Say how well images of these recipes tell parameters, before there are data.",
    .examples = "bragg-geometry --ncells=20 | bragg-orient --random --frames=20 | bragg-fisher\n"
                "... | bragg-fisher --share=distance,beam_x,beam_y --distances=100,200,400",
    .options = options,
    .speaks = true,
    .state_size = sizeof(struct state),
    .open = open_fisher,
    .begin = begin,
    .frame = frame,
    .end = end,
    .close = close_fisher,
};

int main(int argc, char **argv)
{
    program_sleeps(argv);
    return stage_main(&stage, argc, argv);
}
