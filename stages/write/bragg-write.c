/*
 * bragg-write: the sink that stores frames as files.
 *
 * Each frame makes one file per output.  The file is written under a temporary name, renamed when
 * it is complete, and listed in the index after that.  NXmx and tables of a run are exceptions:
 * one file has many frames (io/nxmx/nxmx_series.h, output.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/history.h"
#include "base/log.h"
#include "base/opt.h"
#include "engine/cpu/threads.h"
#include "io/output/frame_index.h"
#include "io/output/output_file.h"
#include "outputs.h"
#include "stage/stage.h"

struct write_options {
    int format;                    // enum format of all templates; FORMAT_AUTO: by their suffix
    const char *preview;           // template of the previews; NULL: none
    const char *reflections;       // template, or name of the table of a run; NULL: none
    const char *powder_sum;        // name of the sum of all frames; NULL: none
    char expt[TEMPLATE_PATH_MAX];  // name of the experiment list, if reflections is for DIALS
    int64_t preview_size;          // longest edge of a preview, in pixels
    const char *rings;             // d spacings of the rings of previews; NULL: round values
    const char *index;             // path of the index; NULL: next to the first file
    double visible_z;              // z above which a reflection is visible
    struct output_settings settings;
    int compression;          // enum nxmx_compression
    int cbf_header;           // enum cbf_header
    int preview_colors;       // enum picture_colors
    int64_t frames_per_file;  // images in a data file of NXmx
    int64_t threads;
    struct opt_marks given;
};

/* The option table of bragg-write, and the outputs that the options ask for. */

#define PREVIEW_COLORS "inverted|gray|heat"  // enum picture_colors

#define AT(member) offsetof(struct write_options, member)

/* The option table.  The options struct of the program begins with a struct write_options. */
static const struct opt write_options[] = {
    {.doc = "File formats:", .type = OPT_GROUP},
    {"format", "auto|smv|cbf|raw|pgm|png|nxmx", "Format of all templates (auto: use the suffix)",
     OPT_CHOICE, AT(format), .choices = "auto|smv|cbf|raw|pgm|png|nxmx", .first = true},
    {"scale", "X",
     "Write float32 photons as integers: X times the photons, without noise; up to 1e12", OPT_REAL,
     AT(settings.scale), .min = 0, .max = 1e12, .flags = OPT_BYTES | OPT_OPEN_MIN, .first = true},
    {"cbf-header", CBF_HEADERS,
     "Detector named in CBF headers; pilatus and eiger need the size of a commercial model",
     OPT_CHOICE, AT(cbf_header), .choices = CBF_HEADERS},
    {"frames-per-file", "N", "Images per NXmx data file, 1 to 10000", OPT_INT, AT(frames_per_file),
     .min = 1, .max = 10000, .usual = "100", .first = true},
    {"compression", NXMX_COMPRESSIONS, "Compression of NXmx images; gzip needs no plugin",
     OPT_CHOICE, AT(compression), .choices = NXMX_COMPRESSIONS, .first = true},
    {"threads", "N", "Threads of this process, 1 to 1024 (number of CPU cores, at most 16)",
     OPT_INT, AT(threads), .min = 1, .max = 1024},
    {.doc = "Sum of all frames:", .type = OPT_GROUP},
    {"powder-sum", "FILE",
     "Also write the sum of all frames as one image: .cbf, .nxs, .h5, .cxi, .raw, .pgm or .png. "
     "Templates may then be omitted",
     OPT_TEXT, .offset = AT(powder_sum), .first = true},
    {.doc = "Ground truth:", .type = OPT_GROUP},
    {"reflections", "TEMPLATE",
     "Also write the true reflections: text (.tsv), DIALS (.refl) or CrystFEL (.stream). With a "
     "number: one file per frame; without: one table of the run",
     OPT_TEXT, .offset = AT(reflections), .first = true},
    {"visible", "Z",
     "Only visible reflections are peaks of .cxi and .stream files, are strong in .refl files and "
     "have circles of --preview-truth: their photons exceed Z times the noise of their sum (all "
     "reflections)",
     OPT_REAL, AT(visible_z), .min = 0, .max = 1e6, .flags = OPT_OPEN_MIN | OPT_BARE, .usual = "5"},
    {.doc = "Pictures:", .type = OPT_GROUP},
    {"preview", "TEMPLATE", "Also write a small PNG picture of each frame", OPT_TEXT,
     .offset = AT(preview), .first = true},
    {"preview-size", "PX", "Longest edge of the pictures of --preview, 16 to 65536 pixels", OPT_INT,
     AT(preview_size), .min = 16, .max = 65536, .needs = "preview", .usual = "1024"},
    {"preview-colors", PREVIEW_COLORS,
     "Colours of --preview: dark on white, light on black, or heat", OPT_CHOICE, AT(preview_colors),
     .choices = PREVIEW_COLORS, .needs = "preview"},
    {"rings", "A,...", "Resolution rings of --preview, 1 to 16 d spacings (round values)", OPT_TEXT,
     .offset = AT(rings), .needs = "preview"},
    {"preview-truth", NULL,
     "Circle the reflections in the pictures of --preview: true reflections if frames have a table",
     OPT_FLAG, .offset = AT(settings.preview.truth), .needs = "preview", .first = true},
    {"log", NULL, "Use a logarithmic grey scale in all pictures", OPT_FLAG,
     .offset = AT(settings.log)},
    {.doc = "Existing files and interrupted runs (also --resume):", .type = OPT_GROUP},
    {"overwrite", NULL,
     "Replace frames of another lineage (other options), and any other file with the name of an "
     "output",
     OPT_FLAG, .offset = AT(settings.overwrite), .first = true},
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
                                const struct outputs *sum, struct error *e)
{
    const bool cbf = outputs_have(outputs, FORMAT_CBF) || outputs_have(sum, FORMAT_CBF);
    const bool series = outputs->series || sum->series;
    const bool peaks = outputs_have(outputs, FORMAT_STREAM) ||
                       (outputs->series && outputs->series->series.cxi) ||
                       outputs_have(outputs, FORMAT_REFL) || o->settings.preview.truth;
    const bool pictures = outputs_have(outputs, FORMAT_PNG) || outputs_have(outputs, FORMAT_PGM) ||
                          outputs_have(sum, FORMAT_PNG) || outputs_have(sum, FORMAT_PGM);
    const struct {
        const char *option, *of, *such_as;
        bool used;
    } all[] = {{"compression", "NXmx", "run.nxs", series},
               {"frames-per-file", "NXmx", "run.nxs", outputs->series},
               {"cbf-header", "CBF", "lyso_%04d.cbf", cbf},
               {"index", "image", "lyso_%04d.img", outputs->count > 0},
               {"format", "image", "lyso_%04d.img", outputs->count > 0},
               {"visible", "CXI, stream, .refl or --preview-truth", "run.cxi", peaks},
               {"log", "picture", "lyso_%04d.png", pictures}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].used && opt_given(write_options, o, all[i].option))
            return error_set(e, STATUS_USAGE,
                             "--%s has no effect: there is no %s output. Remove the option or add "
                             "a template such as %s",
                             all[i].option, all[i].of, all[i].such_as);
    return STATUS_OK;
}

/* Adds an output to *outputs for each template, and for --preview and --reflections, opens the sum
 * of --powder-sum, and completes o->settings.
 * STATUS_USAGE: an option has no effect, a name is wrong, or an output would replace the index.
 * STATUS_FAILED: a folder cannot be written to. */
static enum status write_options_settle(struct write_options *o, const char *const *templates,
                                        int ntemplates, struct outputs *outputs,
                                        struct powder_sum *sum, struct error *e)
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
    o->settings.least_z = opt_given(write_options, o, "visible") ? o->visible_z : 0.0;
    o->settings.preview.least_z = o->settings.least_z;
    if (s == STATUS_OK)
        s = rings_parse(o->rings, &o->settings.preview.rings, e);
    if (s == STATUS_OK)
        s = outputs_check_names(outputs, e);
    if (s == STATUS_OK && o->powder_sum)
        s = powder_sum_open(sum, o->powder_sum, outputs, e);
    sum->compression = (enum nxmx_compression)o->compression;
    if (s == STATUS_OK && o->index)
        s = target_check(o->index, e);
    if (s == STATUS_OK && o->index)
        s = outputs_check_index(outputs, o->index, e);
    if (s == STATUS_OK && o->index)
        s = outputs_check_index(&sum->outputs, o->index, e);
    return s ? s : check_unused(o, outputs, &sum->outputs, e);
}

struct writer {
    struct write_options options;  // must be the first member
    bool resume;                   // --resume was given
    uint64_t run;                  // number of the run; equal in all processes of the run
    struct outputs outputs;
    struct powder_sum sum;
    const struct experiment *experiment;
    struct frame_index index;
    bool has_index;        // `index` was opened, or opening was tried
    struct taken taken;    // files that existed when the index was opened; freed at the first frame
    uint64_t expected;     // number of frames that the source sends in this run
    uint64_t first, last;  // lowest and highest frame number that this process wrote
    uint64_t frames;       // number of frames that this process wrote
    uint64_t bytes;        // size of their files, without those of a series
    struct reflections_summary summary;
};

static enum status writer_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct writer *w = state;
    if (!noperands && !w->options.powder_sum)
        return error_set(e, STATUS_USAGE, "missing argument: TEMPLATE... (see --help)");
    const enum status s =
        write_options_settle(&w->options, operands, noperands, &w->outputs, &w->sum, e);
    return s ? s : threads_start_of_sink(&w->options.threads, e);
}

/* --- the stream ---------------------------------------------------------- */

/* Puts the lineage of the files into `lineage`, and their history into `history`.  --scale is the
 * only option of bragg-write that changes pixels, so only this option changes the lineage. */
static void files_lineage(const struct writer *w, char lineage[17],
                          char history[EXPERIMENT_HISTORY_SIZE])
{
    char more[64];
    const struct output_settings *settings = &w->options.settings;
    uint64_t hash = hash_text(HASH_START, w->experiment->lineage);
    hash = hash_bytes(hash, &settings->scale, sizeof settings->scale);
    if (settings->scale > 0)
        (void)snprintf(lineage, 17, "%016" PRIx64, hash_finish(hash));
    else
        (void)snprintf(lineage, 17, "%s", w->experiment->lineage);
    (void)opt_lineage(write_options, w, more, sizeof more);
    memcpy(history, w->experiment->history, sizeof w->experiment->history);
    history_append(history, EXPERIMENT_HISTORY_SIZE, "bragg-write", more);
}

static void writer_meet(void *state, const char *control, uint64_t run)
{
    (void)control;
    ((struct writer *)state)->run = run;
}

/* Adds a frame whose files are complete to the index. */
static enum status enter_named(struct writer *w, const struct nxmx_note *note, const char *names,
                               struct error *e)
{
    const struct index_entry entry = {
        .id = note->id, .crc = note->crc, .bytes = note->bytes, .hit = note->hit, .names = names};
    return frame_index_add(&w->index, &entry, e);
}

/* Callback of the NXmx series: adds one frame to the index.  Another process may have stored it. */
static enum status enter(void *writer, const struct nxmx_note *note, struct error *e)
{
    struct writer *w = writer;
    char names[OUTPUTS_NAMES_SIZE];
    (void)outputs_list(&w->outputs, note->id, w->index.path, names);
    return enter_named(w, note, names, e);
}

/* Callback of the NXmx series: returns true if existing files are from a previous run and are to
 * be removed.  This is the case with --overwrite and without --resume, until the index lists a
 * frame of this run. */
static bool begins_anew(void *writer)
{
    const struct writer *w = writer;
    return w->options.settings.overwrite && !w->resume && frame_index_is_empty(&w->index);
}

/* Warns if recipes have amounts of matter that no stage has added to the images. */
static void warn_of_matter(const struct experiment *x)
{
    if (x->matter_varies && strstr(x->history, "bragg-orient\t") &&
        !strstr(x->history, "bragg-background\t"))
        log_line(LOG_WARNING,
                 "frames have amounts of matter (bragg-orient --vary), but images do not show it. "
                 "Put bragg-background --water=0 after bragg-intensity");
}

static enum status writer_begin(void *state, struct experiment *x, struct error *e)
{
    warn_of_matter(x);
    struct writer *w = state;
    struct output_settings *settings = &w->options.settings;
    char path[TEMPLATE_PATH_MAX], history[EXPERIMENT_HISTORY_SIZE];
    w->experiment = x;
    w->summary.least_z = w->options.visible_z;
    enum status s = outputs_begin(&w->outputs, settings, x, e);
    if (s == STATUS_OK && w->options.powder_sum)
        s = powder_sum_begin(&w->sum, settings, x, e);
    if (s || !w->outputs.count)
        return s;
    template_stem(&w->outputs.all[0].name, ".index", path);
    files_lineage(w, settings->lineage, history);
    w->has_index = true;
    outputs_remove_leftovers(&w->outputs);
    const struct frame_index_settings index = {.lineage = settings->lineage,
                                               .history = history,
                                               .run = w->run,
                                               .resume = w->resume,
                                               .overwrite = settings->overwrite,
                                               .sync = settings->fsync};
    if (!w->resume && !settings->overwrite)
        taken_find(&w->taken, &w->outputs);
    s = frame_index_open(&w->index, w->options.index ? w->options.index : path, &index, e);
    if (!w->index.fresh)
        taken_free(&w->taken);  // the index is continued: some of the files may be its frames
    const struct run_table_settings table = {.x = x,
                                             .index = &w->index,
                                             .lineage = settings->lineage,
                                             .run = w->run,
                                             .resume = w->resume,
                                             .overwrite = settings->overwrite,
                                             .sync = settings->fsync,
                                             .least_z = settings->least_z};
    const struct nxmx_settings series = {.lineage = settings->lineage,
                                         .run = w->run,
                                         .resume = w->resume,
                                         .replaces = settings->overwrite,
                                         .anew = begins_anew,
                                         .enter = enter,
                                         .owner = w,
                                         .least_z = settings->least_z};
    if (s == STATUS_OK)
        s = outputs_begin_run(&w->outputs, &table, e);
    return !s && w->outputs.series ? output_begin_series(w->outputs.series, settings, x, &series, e)
                                   : s;
}

static enum status writer_settle(void *state, const struct start *start, struct stage *self,
                                 struct error *e)
{
    struct writer *w = state;
    w->resume = start->resume;
    if (!w->outputs.series)
        self->finish = NULL;  // all files of a frame are written when `frame` returns
    if (!w->options.powder_sum)
        return STATUS_OK;
    if (start->resume)
        return error_set(e, STATUS_USAGE,
                         "--powder-sum cannot be used with --resume, because the sum of the "
                         "finished frames is lost. Write all frames again with --overwrite");
    self->role.in_memory = true;  // frames are in the sum, whose file is written at the end
    self->have = NULL;
    return STATUS_OK;
}

/* Arguments of note_kept. */
struct kept_frames {
    const struct writer *w;
    struct id_set *ids;  // frames that are finished
};

/* Callback of nxmx_series_visit: adds a frame of a .part file if its other files exist. */
static enum status note_kept(void *had, const struct nxmx_note *note, struct error *e)
{
    const struct kept_frames *h = had;
    const struct writer *w = h->w;
    (void)e;
    if (outputs_are_beside(&w->outputs, &w->options.settings, w->experiment, &w->index, note))
        id_set_add(h->ids, note->id);
    return STATUS_OK;
}

/* Adds the frames that the index lists and whose files are unchanged, and the frames in the .part
 * files of a series. */
static enum status writer_have(void *state, struct id_set *ids, struct error *e)
{
    const struct writer *w = state;
    struct nxmx_series *series = w->outputs.series ? &w->outputs.series->series : NULL;
    struct id_set listed = {0};
    frame_index_ids(&w->index, &listed);
    if (series)
        nxmx_series_recall(series);
    for (size_t i = 0; i < listed.count; i++)
        for (uint64_t id = listed.ranges[i].first;; id++) {
            if (outputs_are_there(&w->outputs, &w->options.settings, w->experiment, &w->index, id))
                id_set_add(ids, id);
            if (id == listed.ranges[i].last)
                break;
        }
    id_set_clear(&listed);
    return series ? nxmx_series_visit(series, note_kept, &(struct kept_frames){w, ids}, e)
                  : STATUS_OK;
}

static void writer_expect(void *state, uint64_t frames)
{
    ((struct writer *)state)->expected = frames;
}

static enum status check_frame(const struct writer *w, const struct frame *f, struct error *e)
{
    if ((int64_t)f->image.count != experiment_pixels(w->experiment))
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " has %zu pixels; expected the %" PRId64
                         " pixels of the detector",
                         f->recipe.id, f->image.count, experiment_pixels(w->experiment));
    const char *unnumbered = outputs_unnumbered(&w->outputs);
    if (unnumbered && w->expected > 1)
        return error_set(
            e, STATUS_USAGE,
            "template '%.60s' has no number, but the run has more than one frame. Use a "
            "name such as lyso_%%04d.img",
            unnumbered);
    return STATUS_OK;
}

/* Checks, at the first frame of this process, that no file of another program has the name of a
 * file of this run. Assumes that the run has the frames 0 to expected - 1. If `id` is not below
 * `expected`, the user chose only some of the frames, and nothing is checked. STATUS_FAILED:
 * such a file exists. */
static enum status check_names(struct writer *w, uint64_t id, struct error *e)
{
    const enum status s =
        id < w->expected ? taken_check(&w->taken, &w->outputs, w->expected, e) : STATUS_OK;
    taken_free(&w->taken);
    return s;
}

static enum status writer_frame(void *state, struct frame *f, struct error *e)
{
    struct writer *w = state;
    const uint64_t id = f->recipe.id;
    char names[OUTPUTS_NAMES_SIZE];
    struct nxmx_note note = {.id = id,
                             .crc = f->image.sum,  // checksum that the runtime has computed
                             .hit = f->recipe.nlattices > 0};
    enum status s = check_frame(w, f, e);
    reflection_table_rate(&f->reflections, w->experiment);
    if (s == STATUS_OK && w->options.powder_sum)
        s = powder_sum_add(&w->sum, &w->options.settings, f, e);
    if (s || !w->outputs.count)
        return s;
    s = check_names(w, id, e);
    if (s == STATUS_OK)
        s = frame_index_check(&w->index, id, note.crc, e);
    if (s == STATUS_OK && outputs_keep_planes(&w->outputs))
        planes_expand(&f->planes, f->image.count);
    if (s == STATUS_OK)
        s = outputs_write(&w->outputs, &w->options.settings, w->experiment, f, &w->index, e);
    if (s)
        return s;
    w->first = w->frames && w->first < id ? w->first : id;
    w->last = w->last > id ? w->last : id;
    w->frames++;
    if (f->reflections.present)
        reflections_summary_add(&w->summary, f);
    note.bytes = outputs_list(&w->outputs, id, w->index.path, names);
    w->bytes += note.bytes;
    return w->outputs.series ? nxmx_series_keep(&w->outputs.series->series, f, &note, e)
                             : enter_named(w, &note, names, e);
}

static enum status writer_finish(void *state, struct error *e)
{
    struct writer *w = state;
    return nxmx_series_settle(&w->outputs.series->series, e);
}

static void writer_made(void *state, struct made *made)
{
    const struct writer *w = state;
    const struct outputs *outputs = w->outputs.count ? &w->outputs : &w->sum.outputs;
    const char *name = outputs->all[0].name.text, *slash = strrchr(name, '/');
    made->bytes = w->bytes;
    if (w->outputs.series) {
        const struct nxmx_series *s = &w->outputs.series->series;
        made->bytes += nxmx_series_bytes(s);
        made->heads = nxmx_series_heads(s, 0);
        made->all_heads = made->frames ? nxmx_series_heads(s, made->frames) : 0;
    }
    made->replaces = w->options.settings.overwrite;
    (void)snprintf(made->folder, sizeof made->folder, "%.*s", slash ? (int)(slash - name + 1) : 1,
                   slash ? name : ".");
    if (w->outputs.count)
        outputs_describe(&w->outputs, w->first, w->last, made->names, sizeof made->names);
    else
        input_seen(name, made->names, sizeof made->names);
}

static enum status writer_end(void *state, struct error *e)
{
    struct writer *w = state;
    enum status s = w->has_index ? frame_index_hold(&w->index, e) : STATUS_OK;
    if (s == STATUS_OK)
        s = outputs_end_run(&w->outputs, e);
    if (s == STATUS_OK)
        reflections_summary_log(&w->summary);
    if (s == STATUS_OK && w->has_index)
        s = frame_index_finish(&w->index, e);
    return !s && w->options.powder_sum
               ? powder_sum_end(&w->sum, &w->options.settings, w->expected, w->run, e)
               : s;
}

static void writer_close(void *state)
{
    struct writer *w = state;
    if (w->has_index)
        outputs_remove_leftovers(&w->outputs);  // files of processes of this run that died
    w->index.used = outputs_named(&w->outputs);
    outputs_close(&w->outputs);
    powder_sum_close(&w->sum);
    if (w->has_index)
        frame_index_close(&w->index);  // comes last, because another run may begin afterwards
    taken_free(&w->taken);
}

static const struct stage writer = {
    .role = {.name = "bragg-write", .wants = KIND_IMAGE, .gives = KIND_NONE},
    .summary = "Write the images of a pipeline to files.",
    .examples = "... | bragg-write --preview='lyso_%04d.png' 'lyso_%04d.img'\n"
                "... | bragg-write --resume --frames-per-file=50 lyso.nxs",
    .operands = "TEMPLATE...",
    .max_operands = OUTPUTS_TEMPLATES_MAX,
    .details = "TEMPLATE is a file name with one number, such as 'lyso_%04d.img'. Its suffix "
               "selects the format:\n"
               "  .nxs .h5    NXmx, one name for all frames, such as lyso.nxs\n"
               "  .cxi        NXmx that is also CXI, with true peaks, for CrystFEL\n"
               "  .cbf        mini-CBF, 32 bits\n"
               "  .img        SMV, 16 or 32 bits\n"
               "  .raw        float32 without a header\n"
               "  .png .pgm   picture of full size",
    .options = write_options,
    .reads_only = true,
    .state_size = sizeof(struct writer),
    .open = writer_open,
    .settle = writer_settle,
    .meet = writer_meet,
    .begin = writer_begin,
    .have = writer_have,
    .expect = writer_expect,
    .frame = writer_frame,
    .finish = writer_finish,
    .made = writer_made,
    .end = writer_end,
    .close = writer_close,
};

int main(int argc, char **argv)
{
    return stage_main(&writer, argc, argv);
}
