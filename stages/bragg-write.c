/*
 * bragg-write: the sink that makes files of images, one a frame and output.  A
 * file is written under a temporary name, renamed, and then entered in the index.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/history.h"
#include "base/target.h"
#include "io/frame_index.h"
#include "io/leftovers.h"
#include "io/template.h"
#include "output.h"
#include "pending.h"
#include "stage/stage.h"

enum { OPERANDS_MAX = 4, OUTPUTS_MAX = OPERANDS_MAX + 1 };

struct writer {
    int format;  // options
    const char *preview;
    int64_t preview_size;
    bool overwrite, resume;
    struct output_settings settings;
    const char *index_path;
    struct output outputs[OUTPUTS_MAX];
    int noutputs;
    const struct experiment *experiment;
    struct frame_index index;
    bool has_index, has_frame, has_compression, has_frames_per_file, has_preview_size;
    uint64_t only_id;  // the one frame that fits an unnumbered name
    int compression;
    int64_t frames_per_file;
    struct output *series;   // the one of NXmx, or NULL
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

static enum status add_output(struct writer *w, const char *text, enum format format,
                              int64_t edge_max, struct error *e)
{
    for (int i = 0; i < w->noutputs; i++)
        if (strcmp(w->outputs[i].name.text, text) == 0)
            return error_set(e, STATUS_USAGE, "'%.60s' is named twice", text);
    struct output *o = &w->outputs[w->noutputs++];
    const enum status s = output_parse(o, text, format, edge_max, e);
    if (s || o->format != FORMAT_NXMX)
        return s;
    if (w->series)
        return error_set(e, STATUS_USAGE, "'%.60s' is a second series of NXmx", text);
    w->series = o;
    o->series.compression = (enum nxmx_compression)w->compression;
    o->series.frames_per_file = (uint64_t)w->frames_per_file;
    o->series.sync = w->settings.fsync;
    return STATUS_OK;
}

/* Options that would do nothing are a mistake. */
static enum status check_unused(const struct writer *w, struct error *e)
{
    bool pictures = false;
    for (int i = 0; i < w->noutputs; i++)
        pictures =
            pictures || w->outputs[i].format == FORMAT_PNG || w->outputs[i].format == FORMAT_PGM;
    const char *unused = !w->series && w->has_compression       ? "--compression is for NXmx"
                         : !w->series && w->has_frames_per_file ? "--frames-per-file is for NXmx"
                         : !w->preview && w->has_preview_size   ? "--preview-size needs --preview"
                         : !pictures && w->settings.log         ? "--log is for pictures"
                                                                : NULL;
    return unused ? error_set(e, STATUS_USAGE, "%s", unused) : STATUS_OK;
}

static enum status writer_open(void *state, const char **operands, int noperands, struct error *e)
{
    struct writer *w = state;
    enum status s = STATUS_OK;
    for (int i = 0; i < noperands && !s; i++)
        s = add_output(w, operands[i], (enum format)w->format, 0, e);
    if (s == STATUS_OK && w->preview)
        s = add_output(w, w->preview, FORMAT_PNG, w->preview_size, e);
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

static void remove_leftovers(const struct writer *w)
{
    for (int i = 0; i < w->noutputs; i++)
        leftovers_remove(&w->outputs[i].name);
    if (w->series)
        leftovers_remove(&w->series->series.data);
}

static enum status writer_begin(void *state, struct experiment *x, struct error *e)
{
    struct writer *w = state;
    char path[TEMPLATE_PATH_MAX], lineage[17], history[EXPERIMENT_HISTORY_SIZE];
    w->experiment = x;
    template_stem(&w->outputs[0].name, ".index", path);
    files_lineage(w, lineage, history);
    w->has_index = true;
    memcpy(w->settings.lineage, lineage, sizeof lineage);
    if (w->series)
        w->series->series.anew = w->overwrite && !w->resume;
    remove_leftovers(w);
    const struct frame_index_settings settings = {.lineage = lineage,
                                                  .history = history,
                                                  .resume = w->resume,
                                                  .overwrite = w->overwrite,
                                                  .sync = w->settings.fsync};
    return frame_index_open(&w->index, w->index_path ? w->index_path : path, &settings, e);
}

/* The name as the index gives it: without the folder if that is the index's own. */
static const char *name_in_index(const struct writer *w, const char *path)
{
    const char *slash = strrchr(w->index.path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - w->index.path) : 0;
    return strncmp(path, w->index.path, folder) == 0 ? path + folder : path;
}

/* The names of a frame's files for the index, and the size of those that are there and hold
 * nothing else. */
static uint64_t list_files(const struct writer *w, uint64_t id,
                           char names[OUTPUTS_MAX * TEMPLATE_PATH_MAX])
{
    uint64_t bytes = 0;
    size_t used = 0;
    for (int i = 0; i < w->noutputs; i++) {
        char path[TEMPLATE_PATH_MAX];
        struct stat st;
        output_path(&w->outputs[i], id, path);
        used += (size_t)snprintf(names + used, OUTPUTS_MAX * TEMPLATE_PATH_MAX - used,
                                 i ? "\t%s" : "%s", name_in_index(w, path));
        if (&w->outputs[i] != w->series && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

/* The files of the series that hold a frame are there. */
static bool is_in_series(const struct writer *w, uint64_t id)
{
    char path[TEMPLATE_PATH_MAX];
    if (!w->series)
        return true;
    output_path(w->series, id, path);
    return access(path, R_OK) == 0 && access(w->series->series.master, R_OK) == 0;
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
    char names[OUTPUTS_MAX * TEMPLATE_PATH_MAX];
    struct id_set listed = {0};
    enum status s = frame_index_ids(&w->index, &listed, e);
    for (size_t i = 0; i < listed.count && s == STATUS_OK; i++)
        for (uint64_t id = listed.ranges[i].first; s == STATUS_OK; id++) {
            const uint64_t bytes = list_files(w, id, names);
            if (frame_index_has(&w->index, id, names, bytes) && is_in_series(w, id) &&
                !id_set_add(ids, id))
                s = error_memory(e, "the index");
            if (id == listed.ranges[i].last)
                break;
        }
    id_set_clear(&listed);
    return s;
}

static enum status check_frame(struct writer *w, const struct frame *f, struct error *e)
{
    if ((int64_t)f->image.count != experiment_pixels(w->experiment))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %zu pixels, the detector %" PRId64,
                         f->recipe.id, f->image.count, experiment_pixels(w->experiment));
    if (w->has_frame && f->recipe.id != w->only_id)
        for (int i = 0; i < w->noutputs; i++)
            if (&w->outputs[i] != w->series && !template_is_numbered(&w->outputs[i].name))
                return error_set(e, STATUS_USAGE,
                                 "'%.60s' holds no number such as %%04d, and there is more than "
                                 "one frame",
                                 w->outputs[i].name.text);
    w->has_frame = true;
    w->only_id = f->recipe.id;
    return STATUS_OK;
}

/* Enters frames that are durable into the index, and tells the runtime. */
static enum status note_durable(struct writer *w, uint64_t id, uint32_t crc, struct error *e)
{
    char names[OUTPUTS_MAX * TEMPLATE_PATH_MAX];
    const uint64_t bytes = list_files(w, id, names);
    const enum status s = frame_index_add(&w->index, id, crc, names, bytes, e);
    if (s)
        return s;
    return id_set_add(&w->durable, id) ? STATUS_OK : error_memory(e, "a list of frames");
}

/* Likewise those of files of the series that are finished. */
static enum status note_series(struct writer *w, struct error *e)
{
    struct id_set ids;
    enum status s = STATUS_OK;
    nxmx_series_take(&w->series->series, &ids);
    for (size_t i = 0; i < ids.count; i++)
        for (uint64_t id = ids.ranges[i].first; id <= ids.ranges[i].last && !s; id++) {
            uint32_t crc;
            if (pending_take(&w->pending, id, &crc))
                s = note_durable(w, id, crc, e);
        }
    id_set_clear(&ids);
    return s;
}

static enum status writer_frame(void *state, struct frame *f, struct error *e)
{
    struct writer *w = state;
    const uint32_t crc = f->image.sum;  // the runtime has just summed them up
    enum status s = check_frame(w, f, e);
    if (s || (s = frame_index_check(&w->index, f->recipe.id, crc, e)))
        return s;
    char path[TEMPLATE_PATH_MAX];
    for (int i = 0; i < w->noutputs; i++) {
        output_path(&w->outputs[i], f->recipe.id, path);
        if ((s = output_write(&w->outputs[i], &w->settings, w->experiment, f, path, e)))
            return s;
    }
    if (!w->series)
        return note_durable(w, f->recipe.id, crc, e);
    if (!pending_add(&w->pending, f->recipe.id, crc))
        return error_memory(e, "a list of frames");
    return note_series(w, e);
}

static enum status writer_flush(void *state, struct error *e)
{
    struct writer *w = state;
    const enum status s = w->series ? nxmx_series_flush(&w->series->series, e) : STATUS_OK;
    return s || !w->series ? s : note_series(w, e);
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
        remove_leftovers(w);  // of others that shared the frames and died
    }
    for (int i = 0; i < w->noutputs; i++)
        output_close(&w->outputs[i]);
    pending_free(&w->pending);
    id_set_clear(&w->durable);
}

static const struct stage writer = {
    .name = "bragg-write",
    .summary = "Write images to numbered files.",
    .operands = "TEMPLATE...",
    .min_operands = 1,
    .max_operands = OPERANDS_MAX,
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
    .frame = writer_frame,
    .durable = writer_durable,
    .flush = writer_flush,
    .close = writer_close,
};

int main(int argc, char **argv)
{
    return stage_main(&writer, argc, argv);
}
