#include "io/nxmx/nxmx_series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_spool.h"

/* ---- completing a file: its frames -------------------------------------- */

/* Compares the images of frame `id` with those of the previous frames of the series.  The first
 * frame of the series sets s->kind.  STATUS_INPUT: pixel type, derivative images or labels
 * differ. */
static enum status settle_kind(struct nxmx_series *s, const struct nxmx_kind *kind, uint64_t id,
                               struct error *e)
{
    struct nxmx_kind *ours = &s->kind;
    if (!s->typed) {
        s->typed = true;
        ours->type = kind->type;
        ours->labels = kind->labels;
        ours->nplanes = kind->nplanes;
        memcpy(ours->planes, kind->planes, sizeof ours->planes);
    }
    bool same = ours->nplanes == kind->nplanes;
    for (size_t i = 0; same && i < kind->nplanes; i++)
        same = strcmp(kind->planes[i].name, ours->planes[i].name) == 0;
    if (ours->type != kind->type)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " has pixels of another type than the previous frames",
                         id);
    if (!same)
        return error_set(e, STATUS_INPUT,
                         "frame %" PRIu64 " has other derivatives than the previous frames", id);
    if (ours->labels != kind->labels)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %slabels, but %s", id,
                         kind->labels ? "" : "no ",
                         kind->labels ? "others have none" : "others have them");
    return STATUS_OK;
}

/* The sources of the frames of a data file that is written: its spool, and the existing version
 * of the file, whose frames are kept. */
struct origin {
    struct nxmx_open_file *file;
    struct nxmx_rows rows;  // of all frames of the data file
    struct nxmx_file *former;
    struct nxmx_rows former_rows;
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX];  // owned: images read from `former`
};

/* Reads the rows of all frames in the spool into o->rows.  STATUS_INPUT: a frame has other
 * images than the series.  STATUS_FAILED: reading failed. */
static enum status take_kept(struct nxmx_series *s, struct origin *o, struct error *e)
{
    const struct spool *spool = &o->file->spool;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < spool->count && !status; i++) {
        struct nxmx_record k;
        status = nxmx_record_look(spool, i, &k, e);
        if (status == STATUS_OK)
            status = settle_kind(s, &k.kind, k.note.id, e);
        if (status == STATUS_OK)
            nxmx_rows_merge(&o->rows, &k.rows);
        nxmx_rows_free(&k.rows);
    }
    return status;
}

static int by_id(const void *id, const void *entry)
{
    const uint64_t a = *(const uint64_t *)id, b = ((const struct spool_entry *)entry)->id;
    return (a > b) - (a < b);
}

static enum status give_images(void *owner, uint64_t id, struct nxmx_chunk *chunks,
                               struct reflection_table *t, struct error *e)
{
    struct origin *o = owner;
    struct spool *spool = &o->file->spool;
    const struct spool_entry *entry =
        bsearch(&id, spool->entries, spool->count, sizeof *entry, by_id);
    if (entry)
        return nxmx_record_find(spool, (size_t)(entry - spool->entries), chunks, t, e);
    const enum status status = nxmx_read(o->former, &o->former_rows, id, o->chunks, t, e);
    memcpy(chunks, o->chunks, sizeof o->chunks);
    return status;
}

/* ---- completing a file: writing ------------------------------------------ */

/* nxmx_name of the series: sets `name` to the name of a data file without its folder, because
 * the master is in the same folder. */
static void name_of(const void *series, uint64_t file, char *name, size_t size)
{
    const struct nxmx_series *s = series;
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, file, path);
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, size, "%s", slash ? slash + 1 : path);
}

/* Removes frames from o->rows that another data file of the series already has.  They stay in
 * that file, because the same recipe makes the same bytes. */
static void drop_held_elsewhere(const struct nxmx_existing *k, struct origin *o)
{
    for (size_t i = o->rows.nframes; i-- > 0;) {
        const uint64_t number = o->rows.frames[i].number;
        const int64_t at = nxmx_rows_find(&k->rows, number);
        if (at >= 0 && k->rows.frames[at].file != o->file->file)
            nxmx_rows_remove(&o->rows, number);
    }
}

/* Returns true if the frames of the existing data file are kept.  With `replaces`, only frames
 * that the series lists are kept; otherwise, all frames unless the file has another lineage. */
static bool stays(const struct nxmx_series *s, uint64_t file)
{
    return s->settings.replaces ? nxmx_existing_has(&s->existing, file)
                                : !id_set_has(&s->found.lost, file);
}

/* Sets o->rows to all frames of the data file that is to be written: those of the spool and
 * those that the existing file keeps.  Also decides whether the existing file is protected.  The
 * series must be locked. */
static enum status choose_frames(struct nxmx_series *s, const char *path, struct origin *o,
                                 struct error *e)
{
    const uint64_t file = o->file->file;
    enum status status = nxmx_series_look(s, e);
    if (status == STATUS_OK && stays(s, file))
        status = nxmx_open(path, &s->kind, &o->former, &o->former_rows, e);
    s->kind.guarded = !s->settings.replaces && !o->former && !id_set_has(&s->found.lost, file);
    if (status)
        return status;
    nxmx_rows_merge(&o->rows, &o->former_rows);
    drop_held_elsewhere(&s->existing, o);
    return STATUS_OK;
}

static enum status write_master(struct nxmx_series *s, struct error *e)
{
    const bool ours = s->existing.master.inode;
    s->kind.guarded = !s->settings.replaces && !ours && !id_set_has(&s->found.lost, NXMX_MASTER);
    const enum status status =
        nxmx_write_master(s->master, &s->kind, &s->existing.rows, name_of, s, e);
    if (!status)
        s->existing.master = nxmx_stamp_of(s->master);
    return status;
}

/* Gives the data file its final name and writes the master.  *file is NULL afterwards.  Does
 * nothing if *file is NULL because the file has no frames.  The series must be locked. */
static enum status name_file(struct nxmx_series *s, const char *path, const struct origin *o,
                             struct nxmx_written **file, struct error *e)
{
    enum status status = nxmx_series_look(s, e);
    if (status || !*file)
        return status;
    status = nxmx_give_name(*file, e);
    *file = NULL;
    s->named = s->named || access(path, F_OK) == 0;
    if (status == STATUS_OK)
        status = nxmx_existing_note(&s->existing, o->file->file, path, &o->rows, e);
    return status ? status : write_master(s, e);
}

/* Notes that the data file is complete, and calls `enter` for each frame of its spool.  The
 * series must be locked. */
static enum status enter_frames(struct nxmx_series *s, const struct nxmx_open_file *g,
                                struct error *e)
{
    enum status status = STATUS_OK;
    id_set_add(&s->written, g->file);
    for (size_t i = 0; i < g->spool.count && s->settings.enter && !status; i++) {
        struct nxmx_record k;
        status = nxmx_record_look(&g->spool, i, &k, e);
        if (status == STATUS_OK)
            status = s->settings.enter(s->settings.owner, &k.note, e);
        nxmx_rows_free(&k.rows);
    }
    return status;
}

/* Writes the data file, gives it its final name, writes the master, and enters the frames in the
 * index.  Locks the series only while frames are chosen and files are renamed, not while the
 * data file is written, so that other processes do not wait for long. */
static enum status write_and_name(struct nxmx_series *s, struct origin *o, struct error *e)
{
    struct nxmx_written *file = NULL;
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, o->file->file, path);
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = choose_frames(s, path, o, e);
    nxmx_series_unlock(lock);
    if (status == STATUS_OK && o->rows.nframes)
        status = nxmx_write(path, &o->file->spool, &s->kind, &o->rows, give_images, o, &file, e);
    lock = -1;
    if (status == STATUS_OK)
        status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = name_file(s, path, o, &file, e);
    if (status == STATUS_OK)
        status = enter_frames(s, o->file, e);
    nxmx_series_unlock(lock);
    nxmx_drop(file);
    return status;
}

/* Makes the spool that this process holds the data file.  The frames of the existing file are
 * kept.  Then writes the master, enters the frames in the index, removes the spool and frees *g.
 * After an error the spool is unchanged and released. */
static enum status finish_file(struct nxmx_series *s, struct nxmx_open_file *g, struct error *e)
{
    struct origin o = {.file = g};
    bool last;
    enum status status = spool_gather(&g->spool, &last, e);
    if (status == STATUS_OK)
        status = take_kept(s, &o, e);
    if (status == STATUS_OK)
        status = write_and_name(s, &o, e);
    if (status == STATUS_OK)
        nxmx_open_file_remove(s, g);
    else
        nxmx_open_file_release(g);
    nxmx_close(o.former);
    nxmx_rows_free(&o.former_rows);
    nxmx_rows_free(&o.rows);
    for (size_t i = 0; i < NXMX_LAYERS_MAX; i++)
        nxmx_chunk_free(&o.chunks[i]);
    return status;
}

/* ---- opening a series; its bytes on disk -------------------------------- */

enum status nxmx_series_open(struct nxmx_series *s, const char *master, struct error *e)
{
    *s = (struct nxmx_series){.master = master, .frames_per_file = 100};
    const char *slash = strrchr(master, '/'), *base = slash ? slash + 1 : master;
    const char *dot = strrchr(base, '.');
    int length = (int)(dot && dot != base ? dot - master : (int64_t)strlen(master));
    if (length > 7 && strncmp(master + length - 7, "_master", 7) == 0)
        length -= 7;
    struct stat st;
    if (stat(master, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_FAILED,
                         "%s: not an ordinary file; expected a name for an NXmx file", master);
    if (strchr(master, '%'))
        return error_set(e, STATUS_USAGE,
                         "'%.60s': NXmx stores all frames in one series; expected a name without "
                         "%%, such as run.nxs",
                         master);
    const enum status status = utc_begin(&s->begin_s, e);
    if (status)
        return status;
    s->cxi = strcasecmp(dot ? dot : "", ".cxi") == 0;
    s->data_name = mem_text("%.*s_data_%%06d.%s", length, master, s->cxi ? "cxi" : "h5");
    s->spool_name = spool_name(s->data_name);
    const enum status parsed = template_parse(&s->spools, s->spool_name, e);
    return parsed ? parsed : template_parse(&s->data, s->data_name, e);
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

uint64_t nxmx_series_bytes(const struct nxmx_series *s)
{
    char path[TEMPLATE_PATH_MAX];
    uint64_t bytes = s->spooled + (s->written.count ? size_of(s->master) : 0);
    for (size_t i = 0; i < s->written.count; i++)
        for (uint64_t n = s->written.ranges[i].first; n <= s->written.ranges[i].last; n++) {
            template_name(&s->data, n, path);
            bytes += size_of(path);
        }
    return bytes;
}

uint64_t nxmx_series_files(const struct nxmx_series *s, uint64_t frames)
{
    return frames / s->frames_per_file + (frames % s->frames_per_file != 0);
}

/* Returns the bytes of the spectrum of the beam in a file: a wavelength and twice the weight for
 * each channel.  Returns 0 if frames have spectra of their own, because files then do not store
 * that of the beam. */
static double beam_spectrum_bytes(const struct nxmx_series *s)
{
    const struct beam *b = &s->experiment.beam;
    return s->rows.nchannels || b->nsources < 2 ? 0.0 : 3.0 * sizeof(double) * (double)b->nsources;
}

/* Returns the bytes that the master needs for the spectrum of one frame, in addition to those in
 * the data file.  The frame that was packed last is taken as typical. */
static double frame_spectrum_bytes(const struct nxmx_series *s)
{
    return 2.0 * sizeof(double) * (double)s->rows.nchannels;
}

/* Returns the bytes that the tables of a data file take for the reflections of one frame, and for
 * its peaks in CXI, in addition to the spool, which stays in the file.  The frames so far are taken
 * as typical.  PEAK_BYTES is measured: seven columns, compressed. */
static double frame_reflection_bytes(const struct nxmx_series *s)
{
    static const double ROW_BYTES = 10 * 4 + 6 * 8, PIXEL_BYTES = 4, PEAK_BYTES = 21;
    const struct nxmx_rows *rows = &s->rows;
    double bytes = 0;
    if (!rows->has_reflections || !rows->nframes)
        return 0;
    for (size_t i = 0; i < rows->nframes; i++) {
        const struct nxmx_reflection_counts *n = &rows->reflections[i];
        bytes += ROW_BYTES * (double)n->rows + PIXEL_BYTES * (double)n->pixels;
        bytes += s->cxi ? PEAK_BYTES * fmin((double)n->rows, NXMX_PEAKS_MAX) : 0;
    }
    return bytes / (double)rows->nframes;
}

/* Returns the bytes that the tables of data files will add for the spectra and peaks of frames
 * whose data file is not complete yet. */
static double coming_bytes(const struct nxmx_series *s)
{
    const double waiting = (double)id_set_size(&s->given) -
                           (double)id_set_size(&s->written) * (double)s->frames_per_file;
    return waiting > 0 ? waiting * (frame_spectrum_bytes(s) + frame_reflection_bytes(s)) : 0.0;
}

double nxmx_series_heads(const struct nxmx_series *s, uint64_t frames)
{
    /* Measured values.  HEAD_BYTES: names, geometry and tables of a file take 39 to 45 kB.
     * CXI_BYTES: its groups and the indexes of its tables take 28 to 47 kB more.
     * MASK_PACKED: the compression makes zeros about 190 times smaller. */
    static const double HEAD_BYTES = 42e3, CXI_BYTES = 37e3, MASK_PACKED = 1.0 / 190;
    const struct experiment *x = &s->experiment;
    bool masked = x->has_reasons;
    for (size_t i = 0; i < x->npanels; i++)
        masked = masked || x->panels[i].mask;
    const double mask = masked ? sizeof(uint32_t) * (double)experiment_pixels(x) * MASK_PACKED : 0;
    const double files =
        frames ? (double)nxmx_series_files(s, frames) : (double)id_set_size(&s->written);
    const double in_master = frames ? (double)frames : files * (double)s->frames_per_file;
    const double heads = files > 0 ? (files + 1) * (HEAD_BYTES + (s->cxi ? CXI_BYTES : 0.0) + mask +
                                                    beam_spectrum_bytes(s)) +
                                         in_master * frame_spectrum_bytes(s)
                                   : 0;
    return heads - (frames ? 0 : coming_bytes(s));
}

/* ---- the beginning ----------------------------------------------------- */

/* Calls `visit` for each frame of the spool of a data file.  Without `visit` only reads the
 * first frame.  All frames of a spool have images of the same kind, and the coming frames must
 * have them, too.  STATUS_INPUT: the images differ from those of previous frames. */
static enum status visit_spool(struct nxmx_series *s, uint64_t file, nxmx_visit *visit, void *owner,
                               struct error *e)
{
    struct spool spool;
    bool last;
    enum status status = nxmx_spool_open(s, file, &spool, e);
    if (status)
        return status;
    status = spool_gather(&spool, &last, e);
    for (size_t i = 0; i < spool.count && (visit || !i) && !status; i++) {
        struct nxmx_record k;
        status = nxmx_record_look(&spool, i, &k, e);
        if (status == STATUS_OK)
            status = settle_kind(s, &k.kind, k.note.id, e);
        if (status == STATUS_OK && visit)
            status = visit(owner, &k.note, e);
        nxmx_rows_free(&k.rows);
    }
    spool_close(&spool);
    return status;
}

enum status nxmx_series_visit(struct nxmx_series *s, nxmx_visit *visit, void *owner,
                              struct error *e)
{
    struct id_set files = {0};
    enum status status = STATUS_OK;
    template_list(&s->spools, &files);
    for (size_t i = 0; i < files.count; i++)
        for (uint64_t n = files.ranges[i].first; n <= files.ranges[i].last && !status; n++)
            status = visit_spool(s, n, visit, owner, e);
    id_set_clear(&files);
    return status;
}

enum status nxmx_series_begin(struct nxmx_series *s, const struct experiment *x,
                              const struct nxmx_settings *settings, struct error *e)
{
    s->settings = *settings;
    s->experiment = *x;
    s->kind = (struct nxmx_kind){.experiment = &s->experiment,
                                 .compression = s->compression,
                                 .cxi = s->cxi,
                                 .least_z = settings->least_z,
                                 .begin_s = s->begin_s,
                                 .sync = s->sync,
                                 .masks = &s->masks};
    (void)snprintf(s->kind.lineage, sizeof s->kind.lineage, "%.16s", settings->lineage);
    (void)snprintf(s->spool_lineage, sizeof s->spool_lineage, "%.16s %s", settings->lineage,
                   nxmx_compression_name(s->compression));
    return nxmx_series_visit(s, NULL, NULL, e);
}

static enum status settle_frame(struct nxmx_series *s, const struct frame *f, struct error *e)
{
    struct nxmx_kind kind = {
        .type = f->image.type, .labels = f->reflections.nlabels, .nplanes = f->planes.count};
    for (size_t i = 0; i < kind.nplanes; i++) {
        memcpy(kind.planes[i].name, f->planes.items[i].name, PLANE_NAME_SIZE);
        memcpy(kind.planes[i].unit, f->planes.items[i].unit, PLANE_UNIT_SIZE);
    }
    return settle_kind(s, &kind, f->recipe.id, e);
}

/* Compresses the derivative images and the labels of a frame into the chunks after that of the
 * image. */
static enum status pack_layers(struct nxmx_series *s, const struct frame *f, struct error *e)
{
    struct nxmx_chunk *chunk = &s->chunks[1];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < f->planes.count && !status; i++) {
        const struct plane *plane = &f->planes.items[i];
        const struct image image = {
            .type = PIXEL_F32, .count = plane->count, .pixels = plane->values};
        status = nxmx_pack(s->compression, &image, chunk++, e);
    }
    const struct image labels = {
        .type = PIXEL_U32, .count = f->reflections.nlabels, .pixels = f->reflections.labels};
    return !status && labels.count ? nxmx_pack(s->compression, &labels, chunk, e) : status;
}

/* Makes the rows of a frame.  Their checksums are those of the unpacked images, so that they do not
 * depend on the compression. */
static void make_rows(struct nxmx_series *s, const struct frame *f)
{
    const struct reflection_table *t = &f->reflections;
    const struct nxmx_reflection_counts counts = {.rows = t->count,
                                                  .pixels = t->npixels,
                                                  .least_photons = t->least_photons,
                                                  .rest_photons = t->rest_photons};
    const uint64_t id = f->recipe.id;
    nxmx_rows_free(&s->rows);
    nxmx_rows_add(&s->rows, &s->experiment, &f->recipe, nxmx_series_number(s, id));
    nxmx_rows_note_spectrum(&s->rows, &f->recipe);
    if (t->present)
        nxmx_rows_note(&s->rows, id, &counts);
    s->rows.frames->images_sum = nxmx_images_sum(&f->image, &f->planes, t);
    s->rows.frames->truth_sum = nxmx_rows_sum(&s->rows, 0, t);
    s->rows.frames->summed = 1;
}

enum status nxmx_series_pack(struct nxmx_series *s, const struct frame *f, struct error *e)
{
    enum status status = nxmx_check(&s->experiment, &f->image, e);
    if (status == STATUS_OK)
        status = settle_frame(s, f, e);
    if (status == STATUS_OK)
        status = nxmx_pack(s->compression, &f->image, &s->chunks[0], e);
    if (status == STATUS_OK && !image_is_intact(&f->image))
        status = error_set(
            e, STATUS_FAILED,
            "frame %" PRIu64
            ": the previous stage reused the memory of the image while it was being compressed",
            f->recipe.id);
    if (status == STATUS_OK)
        status = pack_layers(s, f, e);
    if (status == STATUS_OK)
        make_rows(s, f);
    return status;
}

/* Moves the chunks of the frame that was packed last into the parcel, and those of the parcel,
 * which is stored, to where the next frame is packed. */
static void exchange_chunks(struct nxmx_series *s)
{
    for (size_t i = 0; i < NXMX_LAYERS_MAX; i++) {
        const struct nxmx_chunk packed = s->chunks[i];
        s->chunks[i] = s->late.parcel.chunks[i];
        s->late.parcel.chunks[i] = packed;
    }
}

/* Finds the file of the record in s->late, and counts the record as one of the file. */
static enum status address_record(struct nxmx_series *s, uint64_t file, struct error *e)
{
    struct nxmx_late *l = &s->late;
    const enum status status = nxmx_open_file_find(s, file, &l->file, e);
    if (status) {
        l->file = NULL;
        return status;
    }
    l->file->bytes += l->parcel.record.size;
    s->spooled += l->parcel.record.size;
    return STATUS_OK;
}

enum status nxmx_series_keep(struct nxmx_series *s, const struct frame *f,
                             const struct nxmx_note *note, struct error *e)
{
    struct nxmx_late *l = &s->late;
    enum status status = nxmx_series_settle(s, e);
    if (status)
        return status;
    exchange_chunks(s);
    nxmx_record_make(&l->parcel, &s->kind, note, &s->rows, &f->reflections);
    l->sync = s->kind.sync;
    l->per_file = s->frames_per_file;
    status = address_record(s, s->rows.frames->file, e);
    if (status)
        return status;
    id_set_add(&s->given, note->id);
    nxmx_late_begin(l);
    return STATUS_OK;
}

enum status nxmx_series_settle(struct nxmx_series *s, struct error *e)
{
    struct nxmx_late *l = &s->late;
    if (!l->file)
        return STATUS_OK;
    for (nxmx_late_wait(l); !l->status && l->gone; nxmx_late_repeat(l)) {
        const uint64_t file = l->file->file;
        nxmx_open_file_gone(s, l->file);
        const enum status status = address_record(s, file, e);
        if (status)
            return status;
    }
    struct nxmx_open_file *const g = l->file;
    l->file = NULL;
    if (l->status)
        return error_set(e, l->status, "%s", l->error.text);
    return l->due ? finish_file(s, g, e) : STATUS_OK;
}

/* ---- the end ----------------------------------------------------------- */

/* Writes the data file of a spool, unless another process of the run has the spool open and will
 * write the file.  In that case, removes the frames of the spool from s->given. */
static enum status end_file(struct nxmx_series *s, uint64_t file, struct error *e)
{
    struct nxmx_open_file *g;
    bool last;
    enum status status = nxmx_open_file_hold(s, file, &g, e);
    if (status == STATUS_OK)
        status = spool_gather(&g->spool, &last, e);
    if (status)
        return status;
    if (last && g->spool.count)
        return finish_file(s, g, e);
    if (last) {
        nxmx_open_file_remove(s, g);
    } else {
        id_set_remove_set(&s->given, &g->kept);
        nxmx_open_file_close(s, g);
    }
    return STATUS_OK;
}

/* Verifies that the frames that this process stored are in the files.  Frames in spools that
 * another process has open were removed from s->given before. */
static enum status check_given(struct nxmx_series *s, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    if (!s->given.count)
        return STATUS_OK;
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = nxmx_series_look(s, e);
    nxmx_series_unlock(lock);
    for (size_t i = 0; i < s->given.count && !status; i++)
        for (uint64_t n = s->given.ranges[i].first, end = s->given.ranges[i].last; !status; n++) {
            template_name(&s->spools, nxmx_series_number(s, n), path);
            if (nxmx_rows_find(&s->existing.rows, n) < 0)
                status = error_set(
                    e, STATUS_FAILED,
                    "%s: another program removed the file while it was in use, and frame %" PRIu64
                    " is lost. Use --resume to compute the frame again",
                    path, n);
            if (n == end)
                break;
        }
    return status;
}

/* Returns true if bragg-write wrote the file. */
static bool is_ours(const char *path)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    struct nxmx_rows rows;
    struct error ignored;
    const bool ours = nxmx_read_truth(path, history, &rows, &ignored) == STATUS_OK;
    nxmx_rows_free(&rows);
    return ours;
}

/* With `replaces`: removes data files of a previous series, namely those that the master does
 * not list.  The previous series may have had fewer frames per file and therefore more files,
 * which would look like files of this series.  Only files of bragg-write are removed. */
static enum status remove_former(struct nxmx_series *s, struct error *e)
{
    struct id_set files = {0};
    char path[TEMPLATE_PATH_MAX];
    if (!s->settings.replaces || !s->written.count)
        return STATUS_OK;
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status)
        return status;
    status = nxmx_series_look(s, e);
    if (!status)
        template_list(&s->data, &files);
    for (size_t i = 0; i < files.count && !status; i++)
        for (uint64_t n = files.ranges[i].first; n <= files.ranges[i].last; n++) {
            template_name(&s->data, n, path);
            if (!nxmx_existing_has(&s->existing, n) && is_ours(path))
                (void)unlink(path);
        }
    nxmx_series_unlock(lock);
    id_set_clear(&files);
    return status;
}

enum status nxmx_series_end(struct nxmx_series *s, struct error *e)
{
    struct id_set files = {0};
    enum status status = nxmx_series_settle(s, e);
    while (s->nopen && !status)
        nxmx_open_file_close(s, s->open[0]);
    template_list(&s->spools, &files);
    for (size_t i = 0; i < files.count; i++)
        for (uint64_t n = files.ranges[i].first; n <= files.ranges[i].last && !status; n++)
            status = end_file(s, n, e);
    id_set_clear(&files);
    if (status == STATUS_OK)
        s->spooled = 0;
    status = status ? status : remove_former(s, e);
    return status ? status : check_given(s, e);
}

void nxmx_series_close(struct nxmx_series *s)
{
    struct error ignored;
    nxmx_late_close(&s->late);
    while (s->nopen) {
        struct nxmx_open_file *g = s->open[0];
        bool last;
        if (spool_gather(&g->spool, &last, &ignored) == STATUS_OK && last && !g->spool.count)
            nxmx_open_file_remove(s, g);
        else
            nxmx_open_file_close(s, g);
    }
    for (size_t i = 0; i < NXMX_LAYERS_MAX; i++)
        nxmx_chunk_free(&s->chunks[i]);
    nxmx_rows_free(&s->rows);
    nxmx_masks_free(&s->masks);
    id_set_clear(&s->given);
    id_set_clear(&s->written);
    nxmx_existing_clear(&s->existing);
    id_set_clear(&s->found.lost);
    nxmx_rows_free(&s->found.rows);
    free(s->data_name);
    free(s->spool_name);
    *s = (struct nxmx_series){0};
}
