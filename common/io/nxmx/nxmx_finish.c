#include "io/nxmx/nxmx_finish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/nxmx/nxmx_found.h"

/* ---- what comes together ----------------------------------------------- */

enum status nxmx_series_settle(struct nxmx_series *s, const struct nxmx_kind *kind, uint64_t id,
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
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has pixels of another type", id);
    if (!same)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has other derivatives", id);
    if (ours->labels != kind->labels)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %slabels, %s", id,
                         kind->labels ? "" : "no ",
                         kind->labels ? "others have none" : "others have them");
    return STATUS_OK;
}

/* Where the frames of a file come from: they were kept, or stand in the file before. */
struct origin {
    struct nxmx_filling *filling;
    struct nxmx_rows rows;  // of all
    struct nxmx_file *former;
    struct nxmx_rows former_rows;
    struct nxmx_chunk chunks[NXMX_LAYERS_MAX];  // owned: read from that
};

/* The rows of frames that were kept. */
static enum status take_kept(struct nxmx_series *s, struct origin *o, struct error *e)
{
    const struct spool *spool = &o->filling->spool;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < spool->count && !status; i++) {
        struct nxmx_kept k;
        status = nxmx_kept_look(spool, i, &k, e);
        if (status == STATUS_OK)
            status = nxmx_series_settle(s, &k.kind, k.note.id, e);
        if (status == STATUS_OK)
            status = nxmx_rows_merge(&o->rows, &k.rows, e);
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
    struct spool *spool = &o->filling->spool;
    const struct spool_entry *entry =
        bsearch(&id, spool->entries, spool->count, sizeof *entry, by_id);
    if (entry)
        return nxmx_kept_read(spool, (size_t)(entry - spool->entries), chunks, t, e);
    const enum status status = nxmx_read(o->former, &o->former_rows, id, o->chunks, t, e);
    memcpy(chunks, o->chunks, sizeof o->chunks);
    return status;
}

/* ---- writing ----------------------------------------------------------- */

/* As the master names it, which is in the same folder. */
static void name_of(const void *series, uint64_t file, char *name, size_t size)
{
    const struct nxmx_series *s = series;
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, file, path);
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, size, "%s", slash ? slash + 1 : path);
}

/* Frames that another file of the series holds stay there: the same recipe makes the same bytes. */
static void drop_held_elsewhere(const struct nxmx_known *k, struct origin *o)
{
    for (size_t i = o->rows.nframes; i-- > 0;) {
        const uint64_t number = o->rows.frames[i].number;
        const int64_t at = nxmx_rows_find(&k->rows, number);
        if (at >= 0 && k->rows.frames[at].file != o->filling->file)
            nxmx_rows_remove(&o->rows, number);
    }
}

/* Whether the frames of the file that is there stay in it. */
static bool stays(const struct nxmx_series *s, uint64_t file)
{
    return s->settings.replaces ? nxmx_known_has(&s->known, file)
                                : !id_set_has(&s->found.lost, file);
}

/* The series is locked: settles what is to be in the file. */
static enum status choose(struct nxmx_series *s, const char *path, struct origin *o,
                          struct error *e)
{
    const uint64_t file = o->filling->file;
    enum status status = nxmx_series_look(s, e);
    if (status == STATUS_OK && stays(s, file))
        status = nxmx_open(path, &s->kind, &o->former, &o->former_rows, e);
    s->kind.guarded = !s->settings.replaces && !o->former && !id_set_has(&s->found.lost, file);
    if (status == STATUS_OK)
        status = nxmx_rows_merge(&o->rows, &o->former_rows, e);
    if (status == STATUS_OK)
        drop_held_elsewhere(&s->known, o);
    return status;
}

static enum status write_master(struct nxmx_series *s, struct error *e)
{
    const bool ours = s->known.master.inode;
    s->kind.guarded = !s->settings.replaces && !ours && !id_set_has(&s->found.lost, NXMX_MASTER);
    const enum status status =
        nxmx_write_master(s->master, &s->kind, &s->known.rows, name_of, s, e);
    if (!status)
        s->known.master = nxmx_stamp_of(s->master);
    return status;
}

/* The series is locked: gives the file its name. */
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
        status = nxmx_known_note(&s->known, o->filling->file, path, &o->rows, e);
    return status ? status : write_master(s, e);
}

/* The series is locked: the frames that were kept are in their file. */
static enum status enter_frames(struct nxmx_series *s, const struct nxmx_filling *g,
                                struct error *e)
{
    enum status status =
        id_set_add(&s->written, g->file) ? STATUS_OK : error_memory(e, "a list of files");
    for (size_t i = 0; i < g->spool.count && s->settings.enter && !status; i++) {
        struct nxmx_kept k;
        status = nxmx_kept_look(&g->spool, i, &k, e);
        if (status == STATUS_OK)
            status = s->settings.enter(s->settings.owner, &k.note, e);
        nxmx_rows_free(&k.rows);
    }
    return status;
}

/* Only names are given while others wait, and the master is written. */
static enum status write_and_name(struct nxmx_series *s, struct origin *o, struct error *e)
{
    struct nxmx_written *file = NULL;
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, o->filling->file, path);
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = choose(s, path, o, e);
    nxmx_series_unlock(lock);
    if (status == STATUS_OK && o->rows.nframes)
        status = nxmx_write(path, &s->kind, &o->rows, give_images, o, &file, e);
    lock = -1;
    if (status == STATUS_OK)
        status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = name_file(s, path, o, &file, e);
    if (status == STATUS_OK)
        status = enter_frames(s, o->filling, e);
    nxmx_series_unlock(lock);
    nxmx_drop(file);
    return status;
}

enum status nxmx_series_finish(struct nxmx_series *s, struct nxmx_filling *g, struct error *e)
{
    struct origin o = {.filling = g};
    bool last;
    enum status status = spool_gather(&g->spool, &last, e);
    if (status == STATUS_OK)
        status = take_kept(s, &o, e);
    if (status == STATUS_OK)
        status = write_and_name(s, &o, e);
    if (status == STATUS_OK)
        nxmx_filling_remove(s, g);
    else
        nxmx_filling_release(g);
    nxmx_close(o.former);
    nxmx_rows_free(&o.former_rows);
    nxmx_rows_free(&o.rows);
    for (size_t i = 0; i < NXMX_LAYERS_MAX; i++)
        nxmx_chunk_free(&o.chunks[i]);
    return status;
}
