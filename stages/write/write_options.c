/* The option table of bragg-write, and the outputs that the options ask for. */
#include "write_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "outputs_names.h"

#define PREVIEW_COLORS "inverted|gray|heat"  // enum picture_colors

#define AT(member) offsetof(struct write_options, member)

const struct opt write_options[] = {
    {.doc = "File formats:", .type = OPT_GROUP},
    {"format", "auto|smv|cbf|raw|pgm|png|nxmx", "Format of all templates (auto: use the suffix)",
     OPT_CHOICE, AT(format), .choices = "auto|smv|cbf|raw|pgm|png|nxmx"},
    {"scale", "X",
     "Write float32 photons as integers: X times the photons, without noise; up to 1e12", OPT_REAL,
     AT(settings.scale), .min = 0, .max = 1e12, .flags = OPT_BYTES | OPT_OPEN_MIN},
    {"cbf-header", CBF_HEADERS,
     "Detector named in CBF headers; pilatus and eiger need the size of a commercial model",
     OPT_CHOICE, AT(cbf_header), .choices = CBF_HEADERS},
    {"frames-per-file", "N", "Images per NXmx data file, 1 to 10000", OPT_INT, AT(frames_per_file),
     .min = 1, .max = 10000, .usual = "100"},
    {"compression", NXMX_COMPRESSIONS, "Compression of NXmx images; gzip needs no plugin",
     OPT_CHOICE, AT(compression), .choices = NXMX_COMPRESSIONS},
    {.doc = "Ground truth:", .type = OPT_GROUP},
    {"reflections", "TEMPLATE",
     "Also write the true reflections: text (.tsv), DIALS (.refl) or CrystFEL (.stream). With a "
     "number: one file per frame; without: one table of the run",
     OPT_TEXT, .offset = AT(reflections)},
    {.doc = "Pictures:", .type = OPT_GROUP},
    {"preview", "TEMPLATE", "Also write a small PNG picture of each frame", OPT_TEXT,
     .offset = AT(preview)},
    {"preview-size", "PX", "Longest edge of a preview, 16 to 65536 pixels", OPT_INT,
     AT(preview_size), .min = 16, .max = 65536, .needs = "preview", .usual = "1024"},
    {"preview-colors", PREVIEW_COLORS, "Preview colours: dark on white, light on black, or heat",
     OPT_CHOICE, AT(preview_colors), .choices = PREVIEW_COLORS, .needs = "preview"},
    {"preview-truth", NULL, "Circle the predicted reflections in the preview", OPT_FLAG,
     .offset = AT(settings.preview.truth), .needs = "preview"},
    {"log", NULL, "Use a logarithmic grey scale in all pictures", OPT_FLAG,
     .offset = AT(settings.log)},
    {.doc = "Existing files (see --resume, too):", .type = OPT_GROUP},
    {"overwrite", NULL,
     "Replace frames of another lineage (other options), and any other file in the way", OPT_FLAG,
     .offset = AT(settings.overwrite)},
    {"index", "FILE",
     "List of finished frames (template without its number, such as lyso.img.index)", OPT_TEXT,
     .offset = AT(index)},
    {"fsync", NULL, "Wait until each file is on the disk", OPT_FLAG, .offset = AT(settings.fsync)},
    OPT_END(struct write_options, given),
};

static bool ends_in(const char *name, const char *suffix)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, suffix) == 0;
}

/* Adds the output of --preview.  Its format is PNG, also if --format is another one. */
static enum status add_preview(const struct write_options *o, struct outputs *outputs,
                               struct error *e)
{
    return ends_in(o->preview, ".png")
               ? outputs_add(outputs, o->preview, FORMAT_PNG, o->preview_size, e)
               : error_set(e, STATUS_USAGE,
                           "--preview=%.80s: unknown format; expected a name that ends in .png",
                           o->preview);
}

/* Adds the reflection table of DIALS, and the experiment list of the same name. */
static enum status add_dials(struct write_options *o, struct outputs *outputs, struct error *e)
{
    const size_t stem = strlen(o->reflections) - strlen(".refl");
    if (snprintf(o->expt, sizeof o->expt, "%.*s.expt", (int)stem, o->reflections) >=
        (int)sizeof o->expt)
        return error_set(e, STATUS_USAGE,
                         "--reflections: the name is too long; expected at most %d bytes",
                         TEMPLATE_PATH_MAX - 1);
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
    return error_set(
        e, STATUS_USAGE,
        "--reflections=%.80s: unknown format; expected a name that ends in .tsv, .refl or "
        ".stream",
        o->reflections);
}

/* Refuses options that have no effect on any output. */
static enum status check_unused(const struct write_options *o, const struct outputs *outputs,
                                struct error *e)
{
    const bool cbf = outputs_have(outputs, FORMAT_CBF), nxmx = outputs->series;
    const bool pictures = outputs_have(outputs, FORMAT_PNG) || outputs_have(outputs, FORMAT_PGM);
    const struct {
        const char *option, *of, *such_as;
        bool used;
    } all[] = {{"compression", "NXmx", "run.nxs", nxmx},
               {"frames-per-file", "NXmx", "run.nxs", nxmx},
               {"cbf-header", "CBF", "lyso_%04d.cbf", cbf},
               {"log", "picture", "lyso_%04d.png", pictures}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].used && opt_given(write_options, o, all[i].option))
            return error_set(e, STATUS_USAGE,
                             "--%s has no effect: there is no %s output. Remove the option or add "
                             "a template such as %s",
                             all[i].option, all[i].of, all[i].such_as);
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
