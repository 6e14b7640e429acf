#include "write_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/target.h"
#include "outputs_names.h"

#define PREVIEW_COLORS "inverted|gray|heat"  // enum picture_colors

#define AT(member) offsetof(struct write_options, member)

const struct opt write_options[] = {
    {"format", "auto|smv|cbf|raw|pgm|png|nxmx", "Format of all templates (auto: by the suffix)",
     OPT_CHOICE, AT(format), .choices = "auto|smv|cbf|raw|pgm|png|nxmx"},
    {"compression", NXMX_COMPRESSIONS, "How NXmx packs images", OPT_CHOICE, AT(compression),
     .choices = NXMX_COMPRESSIONS},
    {"frames-per-file", "N", "Images in a file of NXmx", OPT_INT, AT(frames_per_file), .min = 1,
     .max = 10000, .usual = "100"},
    {"cbf-header", CBF_HEADERS,
     "Headers of CBF: for any detector, or as a maker's, whose size it must have", OPT_CHOICE,
     AT(cbf_header), .choices = CBF_HEADERS},
    {"scale", "X", "Write float32 pixels as whole numbers, X times the photons", OPT_REAL,
     AT(settings.scale), .min = 0, .max = 1e12, .flags = OPT_BYTES | OPT_OPEN_MIN},
    {"preview", "TEMPLATE", "Also write a reduced PNG picture of each frame", OPT_TEXT,
     .offset = AT(preview)},
    {"preview-size", "PX", "Longest edge of a --preview", OPT_INT, AT(preview_size), .min = 16,
     .max = 65536, .needs = "preview", .usual = "1024"},
    {"preview-colors", PREVIEW_COLORS,
     "Colours of a --preview: dark on white, white on black, or by heat", OPT_CHOICE,
     AT(preview_colors), .choices = PREVIEW_COLORS, .needs = "preview"},
    {"preview-truth", NULL, "Circles in a --preview where reflections are predicted", OPT_FLAG,
     .offset = AT(settings.preview.truth), .needs = "preview"},
    {"reflections", "TEMPLATE",
     "Also write the reflections of each frame, or without a number of the run: text (.tsv), DIALS "
     "(.refl) or CrystFEL (.stream)",
     OPT_TEXT, .offset = AT(reflections)},
    {"log", NULL, "Logarithmic scale in pictures", OPT_FLAG, .offset = AT(settings.log)},
    {"index", "FILE", "Index of finished frames (beside the files: 'lyso.img.index')", OPT_TEXT,
     .offset = AT(index)},
    {"overwrite", NULL, "Replace frames of another lineage, and other files", OPT_FLAG,
     .offset = AT(settings.overwrite)},
    {"fsync", NULL, "Wait until each file is on the disk", OPT_FLAG, .offset = AT(settings.fsync)},
    OPT_END(struct write_options, given),
};

static bool ends_in(const char *name, const char *suffix)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, suffix) == 0;
}

/* A preview is PNG, whatever else its name says. */
static enum status add_preview(const struct write_options *o, struct outputs *outputs,
                               struct error *e)
{
    return ends_in(o->preview, ".png")
               ? outputs_add(outputs, o->preview, FORMAT_PNG, o->preview_size, e)
               : error_set(e, STATUS_USAGE, "--preview: '%.80s' must end in .png", o->preview);
}

/* Beside a table of DIALS the experiments that it is of. */
static enum status add_dials(struct write_options *o, struct outputs *outputs, struct error *e)
{
    const size_t stem = strlen(o->reflections) - strlen(".refl");
    if (snprintf(o->expt, sizeof o->expt, "%.*s.expt", (int)stem, o->reflections) >=
        (int)sizeof o->expt)
        return error_set(e, STATUS_USAGE, "--reflections: the name is too long");
    const enum status s = outputs_add(outputs, o->reflections, FORMAT_REFL, 0, e);
    return s ? s : outputs_add(outputs, o->expt, FORMAT_EXPT, 0, e);
}

static enum status add_reflections(struct write_options *o, struct outputs *outputs,
                                   struct error *e)
{
    if (ends_in(o->reflections, ".tsv"))
        return outputs_add(outputs, o->reflections, FORMAT_REFLECTIONS, 0, e);
    if (ends_in(o->reflections, ".stream"))
        return outputs_add(outputs, o->reflections, FORMAT_STREAM, 0, e);
    if (ends_in(o->reflections, ".refl"))
        return add_dials(o, outputs, e);
    return error_set(e, STATUS_USAGE, "--reflections: '%.80s' must end in .tsv, .refl or .stream",
                     o->reflections);
}

/* Options that would do nothing are a mistake. */
static enum status check_unused(const struct write_options *o, const struct outputs *outputs,
                                struct error *e)
{
    const bool cbf = outputs_have(outputs, FORMAT_CBF), nxmx = outputs->series;
    const bool pictures = outputs_have(outputs, FORMAT_PNG) || outputs_have(outputs, FORMAT_PGM);
    const struct {
        const char *option, *of;
        bool used;
    } all[] = {{"compression", "NXmx", nxmx},
               {"frames-per-file", "NXmx", nxmx},
               {"cbf-header", "CBF", cbf},
               {"log", "pictures", pictures}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].used && opt_given(write_options, o, all[i].option))
            return error_set(e, STATUS_USAGE, "--%s is for %s", all[i].option, all[i].of);
    return STATUS_OK;
}

enum status write_options_settle(struct write_options *o, const char *const *templates,
                                 int ntemplates, struct outputs *outputs, struct error *e)
{
    enum status s = STATUS_OK;
    for (int i = 0; i < ntemplates && !s; i++)
        s = outputs_add(outputs, templates[i], (enum format)o->format, 0, e);
    if (s == STATUS_OK && o->preview)
        s = add_preview(o, outputs, e);
    if (s == STATUS_OK && o->reflections)
        s = add_reflections(o, outputs, e);
    if (s == STATUS_OK && outputs->series) {
        struct nxmx_series *series = &outputs->series->series;
        series->compression = (enum nxmx_compression)o->compression;
        series->frames_per_file = (uint64_t)o->frames_per_file;
        series->sync = o->settings.fsync;
    }
    o->settings.preview.colors = (enum picture_colors)o->preview_colors;
    o->settings.cbf_header = (enum cbf_header)o->cbf_header;
    if (s == STATUS_OK)
        s = outputs_check_names(outputs, e);
    if (s == STATUS_OK && o->index)
        s = target_check(o->index, e);
    if (s == STATUS_OK && o->index)
        s = outputs_check_index(outputs, o->index, e);
    return s ? s : check_unused(o, outputs, e);
}
