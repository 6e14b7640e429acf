/*
 * bragg-write: the sink that makes files of images, one a frame and output.  A
 * file is written under a temporary name, renamed, and then entered in the index.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/history.h"
#include "base/target.h"
#include "io/frame_index.h"
#include "io/template.h"
#include "outputs.h"
#include "pending.h"
#include "stage/stage.h"

struct writer {
    int format;  // options
    const char *preview;
    int64_t preview_size;
    bool overwrite, resume;
    struct output_settings settings;
    const char *index_path;
    struct outputs outputs;
    const struct experiment *experiment;
    struct frame_index index;
    bool has_index, has_compression, has_frames_per_file, has_preview_size, has_cbf_header;
    uint64_t expected;  // frames of this run
    int compression, cbf_header;
    int64_t frames_per_file;
    struct pending pending;  // frames whose files are not finished
    struct id_set durable;   // frames, until the runtime asks
};

#define AT(member) offsetof(struct writer, member)

static const struct opt options[] = {
    {"format", "auto|smv|cbf|raw|pgm|png|nxmx", "Format of all templates (auto: by the suffix)",
     OPT_CHOICE, AT(format), .choices = "auto|smv|cbf|raw|pgm|png|nxmx"},
    {"compression", NXMX_COMPRESSIONS, "How NXmx packs images (bslz4)", OPT_CHOICE, AT(compression),
     .choices = NXMX_COMPRESSIONS, .given = AT(has_compression)},
    {"frames-per-file", "N", "Images in a file of NXmx (100)", OPT_INT, AT(frames_per_file),
     .min = 1, .max = 10000, .given = AT(has_frames_per_file)},
    {"cbf-header", CBF_HEADERS,
     "Headers of CBF: for any detector, or as a maker's, whose size it must have (generic)",
     OPT_CHOICE, AT(cbf_header), .choices = CBF_HEADERS, .given = AT(has_cbf_header)},
    {"scale", "X", "Write float32 pixels as whole numbers, X times the photons", OPT_REAL,
     AT(settings.scale), .min = 0, .max = 1e12, .flags = OPT_BYTES | OPT_OPEN_MIN,
     .given = AT(settings.has_scale)},
    {"preview", "TEMPLATE", "Also write a reduced PNG picture of each frame", OPT_TEXT,
     .offset = AT(preview)},
    {"preview-size", "PX", "Longest edge of a --preview (1024)", OPT_INT, AT(preview_size),
     .min = 16, .max = 65536, .given = AT(has_preview_size)},
    {"log", NULL, "Logarithmic scale in pictures", OPT_FLAG, .offset = AT(settings.log)},
    {"index", "FILE", "Index of finished frames (beside the files: 'lyso.img.index')", OPT_TEXT,
     .offset = AT(index_path)},
    {"overwrite", NULL, "Replace frames of another lineage", OPT_FLAG, .offset = AT(overwrite)},
    {"fsync", NULL, "Wait until each file is on the disk", OPT_FLAG, .offset = AT(settings.fsync)},
    {0},
};

static void writer_defaults(void *state)
{
    struct writer *w = state;
    w->preview_size = 1024;
    w->frames_per_file = 100;
}

/* --- options ------------------------------------------------------------- */

/* A preview is PNG, whatever else its name says. */
static enum status check_preview(const char *name, struct error *e)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".png") == 0
               ? STATUS_OK
               : error_set(e, STATUS_USAGE, "--preview: '%.80s' must end in .png", name);
}

/* Options that would do nothing are a mistake. */
static enum status check_unused(const struct writer *w, struct error *e)
{
    const bool pictures =
        outputs_have(&w->outputs, FORMAT_PNG) || outputs_have(&w->outputs, FORMAT_PGM);
    const char *unused =
        !w->outputs.series && w->has_compression       ? "--compression is for NXmx"
        : !w->outputs.series && w->has_frames_per_file ? "--frames-per-file is for NXmx"
        : !w->preview && w->has_preview_size           ? "--preview-size needs --preview"
        : w->has_cbf_header && !outputs_have(&w->outputs, FORMAT_CBF) ? "--cbf-header is for CBF"
        : !pictures && w->settings.log                                ? "--log is for pictures"
                                                                      : NULL;
    return unused ? error_set(e, STATUS_USAGE, "%s", unused) : STATUS_OK;
}

static enum status writer_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct writer *w = state;
    enum status s = STATUS_OK;
    for (int i = 0; i < noperands && !s; i++)
        s = outputs_add(&w->outputs, operands[i], (enum format)w->format, 0, e);
    if (s == STATUS_OK && w->preview)
        s = check_preview(w->preview, e);
    if (s == STATUS_OK && w->preview)
        s = outputs_add(&w->outputs, w->preview, FORMAT_PNG, w->preview_size, e);
    if (s == STATUS_OK && w->outputs.series) {
        struct nxmx_series *series = &w->outputs.series->series;
        series->compression = (enum nxmx_compression)w->compression;
        series->frames_per_file = (uint64_t)w->frames_per_file;
        series->sync = w->settings.fsync;
    }
    if (s == STATUS_OK && w->index_path)
        s = target_check(w->index_path, e);
    return s ? s : check_unused(w, e);
}

/* --- the stream ---------------------------------------------------------- */

/* Lineage of the files: that of the frames, and the one option that changes numbers. */
static void files_lineage(const struct writer *w, char lineage[17],
                          char history[EXPERIMENT_HISTORY_SIZE])
{
    char more[64];
    uint64_t hash = hash_text(HASH_START, w->experiment->lineage);
    hash = hash_bytes(hash, &w->settings.scale, sizeof w->settings.scale);
    if (w->settings.has_scale)
        (void)snprintf(lineage, 17, "%016" PRIx64, hash_finish(hash));
    else
        (void)snprintf(lineage, 17, "%s", w->experiment->lineage);
    (void)opt_lineage(options, w, more, sizeof more);
    memcpy(history, w->experiment->history, sizeof w->experiment->history);
    history_append(history, EXPERIMENT_HISTORY_SIZE, "bragg-write", more);
}

static enum status writer_begin(void *state, struct experiment *x, struct error *e)
{
    struct writer *w = state;
    char path[TEMPLATE_PATH_MAX], lineage[17], history[EXPERIMENT_HISTORY_SIZE];
    w->experiment = x;
    w->settings.cbf_header = (enum cbf_header)w->cbf_header;
    const enum status s = outputs_begin(&w->outputs, &w->settings, x, e);
    if (s)
        return s;
    template_stem(&w->outputs.all[0].name, ".index", path);
    files_lineage(w, lineage, history);
    w->has_index = true;
    memcpy(w->settings.lineage, lineage, sizeof lineage);
    if (w->outputs.series)
        w->outputs.series->series.anew = w->overwrite && !w->resume;
    outputs_remove_leftovers(&w->outputs);
    const struct frame_index_settings settings = {.lineage = lineage,
                                                  .history = history,
                                                  .resume = w->resume,
                                                  .overwrite = w->overwrite,
                                                  .sync = w->settings.fsync};
    return frame_index_open(&w->index, w->index_path ? w->index_path : path, &settings, e);
}

static enum status writer_settle(void *state, const struct start *start, struct stage *self,
                                 struct error *e)
{
    (void)self, (void)e;
    ((struct writer *)state)->resume = start->resume;
    return STATUS_OK;
}

/* What the index names and is there, with the size that it had. */
static enum status writer_have(void *state, struct id_set *ids, struct error *e)
{
    const struct writer *w = state;
    char names[OUTPUTS_NAMES_SIZE];
    struct id_set listed = {0};
    enum status s = frame_index_ids(&w->index, &listed, e);
    for (size_t i = 0; i < listed.count && s == STATUS_OK; i++)
        for (uint64_t id = listed.ranges[i].first; s == STATUS_OK; id++) {
            const uint64_t bytes = outputs_list(&w->outputs, id, w->index.path, names);
            if (frame_index_has(&w->index, id, names, bytes) &&
                outputs_in_series(&w->outputs, id) && !id_set_add(ids, id))
                s = error_memory(e, "the index");
            if (id == listed.ranges[i].last)
                break;
        }
    id_set_clear(&listed);
    return s;
}

static void writer_expect(void *state, uint64_t frames)
{
    ((struct writer *)state)->expected = frames;
}

static enum status check_frame(const struct writer *w, const struct frame *f, struct error *e)
{
    if ((int64_t)f->image.count != experiment_pixels(w->experiment))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %zu pixels, the detector %" PRId64,
                         f->recipe.id, f->image.count, experiment_pixels(w->experiment));
    const char *unnumbered = outputs_unnumbered(&w->outputs);
    if (unnumbered && w->expected > 1)
        return error_set(e, STATUS_USAGE,
                         "'%.60s' holds no number such as %%04d, and there is more than one frame",
                         unnumbered);
    return STATUS_OK;
}

/* Enters frames that are durable into the index, and tells the runtime. */
static enum status note_durable(struct writer *w, struct pending_frame f, struct error *e)
{
    char names[OUTPUTS_NAMES_SIZE];
    const struct index_entry entry = {.id = f.id,
                                      .crc = f.crc,
                                      .bytes =
                                          outputs_list(&w->outputs, f.id, w->index.path, names),
                                      .hit = f.hit,
                                      .names = names};
    const enum status s = frame_index_add(&w->index, &entry, e);
    if (s)
        return s;
    return id_set_add(&w->durable, f.id) ? STATUS_OK : error_memory(e, "a list of frames");
}

/* Likewise those of files of the series that are finished. */
static enum status note_series(struct writer *w, struct error *e)
{
    struct id_set ids;
    enum status s = STATUS_OK;
    nxmx_series_take(&w->outputs.series->series, &ids);
    for (size_t i = 0; i < ids.count; i++)
        for (uint64_t id = ids.ranges[i].first; id <= ids.ranges[i].last && !s; id++) {
            struct pending_frame frame;
            if (pending_take(&w->pending, id, &frame))
                s = note_durable(w, frame, e);
        }
    id_set_clear(&ids);
    return s;
}

static enum status writer_frame(void *state, struct frame *f, struct error *e)
{
    struct writer *w = state;
    const uint64_t id = f->recipe.id;
    const uint32_t crc = f->image.sum;  // the runtime has just summed them up
    const struct pending_frame frame = {id, crc, f->recipe.nlattices > 0};
    enum status s = check_frame(w, f, e);
    if (s == STATUS_OK)
        s = frame_index_check(&w->index, id, crc, e);
    if (s == STATUS_OK)
        s = outputs_write(&w->outputs, &w->settings, w->experiment, f, e);
    if (s)
        return s;
    if (!w->outputs.series)
        return note_durable(w, frame, e);
    if (!pending_add(&w->pending, frame))
        return error_memory(e, "a list of frames");
    return note_series(w, e);
}

static enum status writer_flush(void *state, struct error *e)
{
    struct writer *w = state;
    if (!w->outputs.series)
        return STATUS_OK;
    const enum status s = nxmx_series_flush(&w->outputs.series->series, e);
    return s ? s : note_series(w, e);
}

static void writer_durable(void *state, struct id_set *ids)
{
    struct writer *w = state;
    *ids = w->durable;
    w->durable = (struct id_set){0};
}

static void writer_close(void *state)
{
    struct writer *w = state;
    if (w->has_index) {
        frame_index_close(&w->index);
        outputs_remove_leftovers(&w->outputs);  // of others that shared the frames and died
    }
    outputs_close(&w->outputs);
    pending_free(&w->pending);
    id_set_clear(&w->durable);
}

static const struct stage writer = {
    .name = "bragg-write",
    .summary = "Write images to numbered files.",
    .operands = "TEMPLATE...",
    .min_operands = 1,
    .max_operands = OUTPUTS_TEMPLATES_MAX,
    .details = "TEMPLATE is a file name with one number in it, such as 'lyso_%04d.img'; its "
               "suffix tells the format: .img SMV, .cbf mini-CBF, .raw float32, .pgm or .png a "
               "picture; or the one name of a series of NXmx files, such as lyso.nxs or "
               "lyso_master.h5.",
    .options = options,
    .wants = KIND_IMAGE,
    .gives = KIND_NONE,
    .reads_only = true,
    .state_size = sizeof(struct writer),
    .defaults = writer_defaults,
    .open = writer_open,
    .settle = writer_settle,
    .begin = writer_begin,
    .have = writer_have,
    .expect = writer_expect,
    .frame = writer_frame,
    .durable = writer_durable,
    .flush = writer_flush,
    .close = writer_close,
};

int main(int argc, char **argv)
{
    return stage_main(&writer, argc, argv);
}
