#include "io/nxmx/nxmx_existing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_series.h"
#include "io/output/writer_lock.h"

/* ---- files that were examined ------------------------------------------- */

struct nxmx_stamp nxmx_stamp_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? (struct nxmx_stamp){0}
                           : (struct nxmx_stamp){.device = st.st_dev,
                                                 .inode = st.st_ino,
                                                 .size = st.st_size,
                                                 .changed = st.st_mtim};
}

bool nxmx_stamps_agree(const struct nxmx_stamp *a, const struct nxmx_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Returns the index in k->files at which a file is, or at which the file would be inserted. */
static size_t place_of(const struct nxmx_existing *k, uint64_t number)
{
    size_t low = 0, high = k->nfiles;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (k->files[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the entry of a file.  Creates the entry if there is none.  NULL: out of memory. */
static struct nxmx_seen *entry_of(struct nxmx_existing *k, uint64_t number)
{
    const size_t at = place_of(k, number);
    if (at < k->nfiles && k->files[at].number == number)
        return &k->files[at];
    struct nxmx_seen *files = mem_grow(k->files, k->nfiles, 1, sizeof *files, &k->room);
    if (!files)
        return NULL;
    k->files = files;
    memmove(&files[at + 1], &files[at], (k->nfiles - at) * sizeof *files);
    files[at] = (struct nxmx_seen){.number = number};
    k->nfiles++;
    return &files[at];
}

bool nxmx_existing_has(const struct nxmx_existing *k, uint64_t file)
{
    for (size_t i = 0; i < k->rows.nframes; i++)
        if (k->rows.frames[i].file == file)
            return true;
    return false;
}

/* Replaces all rows of a data file by *rows.  STATUS_FAILED: a frame is already in another file,
 * or out of memory. */
static enum status replace_rows(struct nxmx_existing *k, uint64_t file, const char *path,
                                const struct nxmx_rows *rows, struct error *e)
{
    nxmx_rows_drop(&k->rows, file);
    for (size_t i = 0; i < rows->nframes; i++)
        if (nxmx_rows_find(&k->rows, rows->frames[i].number) >= 0)
            return error_set(e, STATUS_FAILED,
                             "%s: frame %" PRIu64 " is in two files of the series", path,
                             rows->frames[i].number);
    return nxmx_rows_merge(&k->rows, rows, e);
}

/* Reads the rows of a data file again, because the file has changed since it was last examined.
 * A file of another lineage counts as empty. */
static enum status read_again(struct nxmx_existing *k, uint64_t file, const char *path,
                              const char *lineage, struct error *e)
{
    struct nxmx_rows rows;
    (void)nxmx_read_rows(path, lineage, &rows);
    for (size_t i = 0; i < rows.nframes; i++)
        rows.frames[i].file = file;  // the file may have been renamed since it was written
    const enum status s = replace_rows(k, file, path, &rows, e);
    nxmx_rows_free(&rows);
    return s;
}

/* Returns the number of the next data file that the rows list and that nxmx_existing_look has
 * not examined yet in this call.  Searches from row *at on.  Returns 0 if there is none. */
static uint64_t next_file(struct nxmx_existing *k, size_t *at)
{
    for (; *at < k->rows.nframes; ++*at) {
        const uint64_t number = k->rows.frames[*at].file;
        const size_t place = place_of(k, number);
        if (place == k->nfiles || k->files[place].number != number ||
            k->files[place].looked != k->looked)
            return number;
    }
    return 0;
}

enum status nxmx_existing_look(struct nxmx_existing *k, const struct template *names,
                               const char *lineage, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    enum status s = STATUS_OK;
    size_t at = 0;
    k->looked++;
    for (uint64_t number; !s && (number = next_file(k, &at));) {
        struct nxmx_seen *file = entry_of(k, number);
        if (!file)
            return error_memory(e, "a list of files");
        template_name(names, number, path);
        const struct nxmx_stamp now = nxmx_stamp_of(path);
        const bool same = file->looked && nxmx_stamps_agree(&file->stamp, &now);
        file->looked = k->looked;
        file->stamp = now;
        if (!same) {
            s = read_again(k, number, path, lineage, e);
            at = 0;
        }
    }
    return s;
}

enum status nxmx_existing_note(struct nxmx_existing *k, uint64_t file, const char *path,
                               const struct nxmx_rows *rows, struct error *e)
{
    struct nxmx_seen *seen = entry_of(k, file);
    if (!seen)
        return error_memory(e, "a list of files");
    seen->looked = k->looked;
    seen->stamp = nxmx_stamp_of(path);
    return replace_rows(k, file, path, rows, e);
}

void nxmx_existing_clear(struct nxmx_existing *k)
{
    nxmx_rows_free(&k->rows);
    mem_free(k->files);
    *k = (struct nxmx_existing){0};
}

/* ---- the lock of the series -------------------------------------------- */

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

/* ---- the master and its files ------------------------------------------- */

/* Reads the rows of the master.  STATUS_FAILED: a file that is not the master of this series has
 * its name and must not be replaced. */
static enum status read_master(struct nxmx_series *s, struct error *e)
{
    struct nxmx_file *file = NULL;
    enum status status = STATUS_OK;
    if (s->settings.replaces || id_set_has(&s->found.lost, NXMX_MASTER))
        (void)nxmx_read_rows(s->master, s->kind.lineage, &s->existing.rows);
    else
        status = nxmx_open(s->master, &s->kind, &file, &s->existing.rows, e);
    nxmx_close(file);
    return status;
}

enum status nxmx_series_look(struct nxmx_series *s, struct error *e)
{
    struct nxmx_existing *k = &s->existing;
    if (s->settings.anew && s->settings.anew(s->settings.owner)) {
        nxmx_existing_clear(k);
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
    return nxmx_existing_look(k, &s->data, s->kind.lineage, e);
}

uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id)
{
    const int64_t at = nxmx_rows_find(&s->existing.rows, id);
    return at < 0 ? id / s->frames_per_file + 1 : s->existing.rows.frames[at].file;
}

void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path)
{
    template_name(&s->data, nxmx_series_number(s, id), path);
}

/* ---- with --resume ----------------------------------------------------- */

/* Reads the rows of a file into *rows.  If the file exists but has another lineage, or cannot be
 * read, adds its number to s->found.lost. */
static void read_file(struct nxmx_series *s, const char *path, uint64_t file,
                      struct nxmx_rows *rows)
{
    nxmx_rows_free(rows);
    if (!nxmx_read_rows(path, s->kind.lineage, rows) && access(path, F_OK) == 0)
        (void)id_set_add(&s->found.lost, file);
}

void nxmx_series_recall(struct nxmx_series *s)
{
    read_file(s, s->master, NXMX_MASTER, &s->existing.rows);
}

bool nxmx_series_holds(struct nxmx_series *s, uint64_t id)
{
    char path[TEMPLATE_PATH_MAX];
    const uint64_t file = nxmx_series_number(s, id);
    if (s->found.file != file) {
        template_name(&s->data, file, path);
        read_file(s, path, file, &s->found.rows);
        s->found.file = file;
    }
    return nxmx_rows_find(&s->existing.rows, id) >= 0 && nxmx_rows_find(&s->found.rows, id) >= 0;
}
