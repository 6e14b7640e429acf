#include "io/nxmx/nxmx_found.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/output/writer_lock.h"

/* ---- one at a time ----------------------------------------------------- */

enum status nxmx_series_lock(const struct nxmx_series *s, int *lock, struct error *e)
{
    char folder[TEMPLATE_PATH_MAX];
    const char *slash = strrchr(s->master, '/');
    (void)snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - s->master) : 0,
                   s->master);
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const enum status status = *lock < 0 ? STATUS_OK : writer_lock_whole(*lock, folder, e);
    if (status) {
        nxmx_series_unlock(*lock);
        *lock = -1;
    }
    return status;
}

void nxmx_series_unlock(int lock)
{
    if (lock >= 0)
        (void)close(lock);
}

/* ---- what is there ----------------------------------------------------- */

/* A master in the way is an error, unless it may be replaced. */
static enum status read_master(struct nxmx_series *s, struct error *e)
{
    struct nxmx_file *file = NULL;
    enum status status = STATUS_OK;
    if (s->settings.replaces || id_set_has(&s->found.lost, NXMX_MASTER))
        (void)nxmx_read_rows(s->master, s->kind.lineage, &s->known.rows);
    else
        status = nxmx_open(s->master, &s->kind, &file, &s->known.rows, e);
    nxmx_close(file);
    return status;
}

enum status nxmx_series_look(struct nxmx_series *s, struct error *e)
{
    struct nxmx_known *k = &s->known;
    if (s->settings.anew && s->settings.anew(s->settings.owner)) {
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

uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id)
{
    const int64_t at = nxmx_rows_find(&s->known.rows, id);
    return at < 0 ? id / s->frames_per_file + 1 : s->known.rows.frames[at].file;
}

void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path)
{
    template_name(&s->data, nxmx_series_number(s, id), path);
}

/* ---- with --resume ----------------------------------------------------- */

/* Reads what the file says of its frames, and notes when it is another one. */
static void look(struct nxmx_series *s, const char *path, uint64_t file, struct nxmx_rows *rows)
{
    nxmx_rows_free(rows);
    if (!nxmx_read_rows(path, s->kind.lineage, rows) && access(path, F_OK) == 0)
        (void)id_set_add(&s->found.lost, file);
}

void nxmx_series_recall(struct nxmx_series *s)
{
    look(s, s->master, NXMX_MASTER, &s->known.rows);
}

bool nxmx_series_holds(struct nxmx_series *s, uint64_t id)
{
    char path[TEMPLATE_PATH_MAX];
    const uint64_t file = nxmx_series_number(s, id);
    if (s->found.file != file) {
        template_name(&s->data, file, path);
        look(s, path, file, &s->found.rows);
        s->found.file = file;
    }
    return nxmx_rows_find(&s->known.rows, id) >= 0 && nxmx_rows_find(&s->found.rows, id) >= 0;
}
