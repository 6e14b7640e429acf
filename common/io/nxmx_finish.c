/* Files of a series get their names. */
#include "io/nxmx_finish.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/nxmx_filling.h"
#include "io/nxmx_layers.h"

/* --- one at a time ------------------------------------------------------- */

int nxmx_series_lock(const struct nxmx_series *s)
{
    char folder[TEMPLATE_PATH_MAX];
    const char *slash = strrchr(s->master, '/');
    (void)snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - s->master) : 0,
                   s->master);
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        (void)flock(lock, LOCK_EX);
    return lock;
}

void nxmx_series_unlock(int lock)
{
    if (lock >= 0)
        (void)close(lock);
}

/* --- what is there ------------------------------------------------------- */

/* A master in the way is an error, unless it may be replaced. */
static enum status read_master(struct nxmx_series *s, struct error *e)
{
    struct nxmx_file *file = NULL;
    enum status status = STATUS_OK;
    if (s->replaces || id_set_has(&s->found.lost, NXMX_MASTER))
        (void)nxmx_read_rows(s->master, s->kind.lineage, &s->known.rows);
    else
        status = nxmx_open(s->master, &s->kind, &file, &s->known.rows, e);
    nxmx_close(file);
    return status;
}

enum status nxmx_series_look(struct nxmx_series *s, struct error *e)
{
    struct nxmx_known *k = &s->known;
    if (s->hooks.anew && s->hooks.anew(s->hooks.owner)) {
        nxmx_known_clear(k);
        return STATUS_OK;
    }
    const struct nxmx_stamp now = nxmx_stamp_of(s->master);
    if (!nxmx_stamps_agree(&now, &k->master)) {
        nxmx_rows_free(&k->rows);
        k->master = now;
        const enum status status = read_master(s, e);
        if (status)
            return status;
    }
    return nxmx_known_look(k, &s->data, s->kind.lineage, e);
}

/* --- writing ------------------------------------------------------------- */

/* Where the images of a file come from: they were kept, or stand in the file before. */
struct origin {
    const struct nxmx_filling *filling;
    size_t nlayers;
    struct nxmx_stamp stamp;  // of the file before
    struct nxmx_file *former;
    struct nxmx_rows former_rows;
};

static void origin_close(struct origin *o)
{
    nxmx_close(o->former);
    nxmx_rows_free(&o->former_rows);
    o->former = NULL;
}

static enum status give_images(void *owner, uint64_t id, struct nxmx_chunk *chunks,
                               struct reflection_table *t, struct error *e)
{
    const struct origin *o = owner;
    return nxmx_filling_has(o->filling, id)
               ? nxmx_filling_get(o->filling, id, o->nlayers, chunks, t, e)
               : nxmx_read(o->former, &o->former_rows, id, chunks, t, e);
}

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
static void drop_held_elsewhere(const struct nxmx_known *k, struct nxmx_filling *g)
{
    for (size_t i = g->rows.nframes; i-- > 0;) {
        const uint64_t number = g->rows.frames[i].number;
        const int64_t at = nxmx_rows_find(&k->rows, number);
        if (at >= 0 && k->rows.frames[at].file != g->file)
            nxmx_rows_remove(&g->rows, number);
    }
}

/* Whether the frames of the file that is there stay in it. */
static bool stays(const struct nxmx_series *s, uint64_t file)
{
    return s->replaces ? nxmx_known_has(&s->known, file) : !id_set_has(&s->found.lost, file);
}

/* The series is locked: settles what is to be in the file. */
static enum status choose(struct nxmx_series *s, struct nxmx_filling *g, const char *path,
                          struct origin *o, struct error *e)
{
    enum status status = nxmx_series_look(s, e);
    o->stamp = nxmx_stamp_of(path);
    if (status == STATUS_OK && stays(s, g->file))
        status = nxmx_open(path, &s->kind, &o->former, &o->former_rows, e);
    s->kind.guarded = !s->replaces && !o->former && !id_set_has(&s->found.lost, g->file);
    if (status == STATUS_OK)
        status = nxmx_rows_merge(&g->rows, &o->former_rows, e);
    if (status == STATUS_OK)
        drop_held_elsewhere(&s->known, g);
    return status;
}

static enum status write_file(const struct nxmx_series *s, const struct nxmx_filling *g,
                              const char *path, struct origin *o, struct nxmx_written **file,
                              struct error *e)
{
    return g->rows.nframes ? nxmx_write(path, &s->kind, &g->rows, give_images, o, file, e)
                           : STATUS_OK;
}

static enum status write_master(struct nxmx_series *s, struct error *e)
{
    const bool ours = s->known.master.inode;
    s->kind.guarded = !s->replaces && !ours && !id_set_has(&s->found.lost, NXMX_MASTER);
    const enum status status =
        nxmx_write_master(s->master, &s->kind, &s->known.rows, name_of, s, e);
    if (!status)
        s->known.master = nxmx_stamp_of(s->master);
    return status;
}

/* The series is locked: gives the file its name.  It is written again before that if another
 * process has got some of its frames meanwhile, or, without locks on bytes, this file. */
static enum status name_file(struct nxmx_series *s, struct nxmx_filling *g, const char *path,
                             struct origin *o, struct nxmx_written **file, struct error *e)
{
    const size_t before = g->rows.nframes;
    const struct nxmx_stamp now = nxmx_stamp_of(path);
    enum status status = nxmx_series_look(s, e);
    if (status == STATUS_OK)
        drop_held_elsewhere(&s->known, g);
    if (!status && (g->rows.nframes != before || !nxmx_stamps_agree(&now, &o->stamp))) {
        nxmx_drop(*file);
        *file = NULL;
        origin_close(o);
        status = choose(s, g, path, o, e);
        if (status == STATUS_OK)
            status = write_file(s, g, path, o, file, e);
    }
    if (status || !*file)
        return status;
    status = nxmx_give_name(*file, e);
    *file = NULL;
    s->named = s->named || access(path, F_OK) == 0;
    if (status == STATUS_OK)
        status = nxmx_known_note(&s->known, g->file, path, &g->rows, e);
    return status ? status : write_master(s, e);
}

/* The series is locked: the frames of the file at a place of the list, which is taken off, are
 * durable. */
static enum status note_durable(struct nxmx_series *s, size_t at, struct error *e)
{
    struct nxmx_filling *g = s->filling[at];
    bool noted = id_set_add(&s->written, g->file);
    if (id_set_size(&g->held) < s->frames_per_file)
        noted &= id_set_add(&s->unfinished, g->file);
    for (size_t i = 0; i < g->nplaces; i++)
        noted &= id_set_add(&s->durable, g->places[i].id);
    s->filling[at] = s->filling[--s->nfilling];
    nxmx_filling_free(g);
    if (!noted)
        return error_memory(e, "a list of frames");
    return s->hooks.durable ? s->hooks.durable(s->hooks.owner, e) : STATUS_OK;
}

/* Only names are given while others wait, and the master is written. */
static enum status finish(struct nxmx_series *s, size_t at, struct error *e)
{
    struct nxmx_filling *g = s->filling[at];
    struct origin o = {.filling = g, .nlayers = nxmx_layers_count(&s->kind)};
    struct nxmx_written *file = NULL;
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, g->file, path);
    int lock = nxmx_series_lock(s);
    enum status status = choose(s, g, path, &o, e);
    nxmx_series_unlock(lock);
    if (status == STATUS_OK)
        status = write_file(s, g, path, &o, &file, e);
    lock = nxmx_series_lock(s);
    if (status == STATUS_OK)
        status = name_file(s, g, path, &o, &file, e);
    if (status == STATUS_OK)
        status = note_durable(s, at, e);
    nxmx_series_unlock(lock);
    nxmx_drop(file);
    origin_close(&o);
    return status;
}

/* The place of the fullest file in the list, which has one. */
static size_t fullest(const struct nxmx_series *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->nfilling; i++)
        if (id_set_size(&s->filling[i]->held) > id_set_size(&s->filling[best]->held))
            best = i;
    return best;
}

bool nxmx_series_is_due(const struct nxmx_series *s)
{
    return s->nfilling > NXMX_OPEN_FILES ||
           (s->nfilling && id_set_size(&s->filling[fullest(s)]->held) >= s->frames_per_file);
}

enum status nxmx_series_finish(struct nxmx_series *s, bool all, struct error *e)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (all ? s->nfilling > 0 : nxmx_series_is_due(s)))
        status = finish(s, all ? s->nfilling - 1 : fullest(s), e);
    return status;
}
