#include "io/nxmx/nxmx_spool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/hash.h"
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

static bool nxmx_stamps_agree(const struct nxmx_stamp *a, const struct nxmx_stamp *b)
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

/* Returns the entry of a file.  Creates the entry if there is none. */
static struct nxmx_seen *entry_of(struct nxmx_existing *k, uint64_t number)
{
    const size_t at = place_of(k, number);
    if (at < k->nfiles && k->files[at].number == number)
        return &k->files[at];
    k->files = mem_grow(k->files, k->nfiles, 1, sizeof *k->files, &k->room);
    struct nxmx_seen *file = &k->files[at];
    memmove(file + 1, file, (k->nfiles - at) * sizeof *file);
    *file = (struct nxmx_seen){.number = number};
    k->nfiles++;
    return file;
}

bool nxmx_existing_has(const struct nxmx_existing *k, uint64_t file)
{
    for (size_t i = 0; i < k->rows.nframes; i++)
        if (k->rows.frames[i].file == file)
            return true;
    return false;
}

/* Replaces all rows of a data file by *rows.  STATUS_FAILED: a frame is already in another file. */
static enum status replace_rows(struct nxmx_existing *k, uint64_t file, const char *path,
                                const struct nxmx_rows *rows, struct error *e)
{
    nxmx_rows_drop(&k->rows, file);
    for (size_t i = 0; i < rows->nframes; i++)
        if (nxmx_rows_find(&k->rows, rows->frames[i].number) >= 0)
            return error_set(e, STATUS_FAILED,
                             "%s: frame %" PRIu64 " is in two files of the series", path,
                             rows->frames[i].number);
    nxmx_rows_merge(&k->rows, rows);
    return STATUS_OK;
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

/* Examines all files that `rows` lists.  The template gives their names.  Reads files that changed
 * and updates `rows`.  A file that is missing or has another lineage counts as empty.
 * STATUS_FAILED: a frame is in two files. */
static enum status nxmx_existing_look(struct nxmx_existing *k, const struct template *names,
                                      const char *lineage, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    enum status s = STATUS_OK;
    size_t at = 0;
    k->looked++;
    for (uint64_t number; !s && (number = next_file(k, &at));) {
        struct nxmx_seen *file = entry_of(k, number);
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

/* ---- existing frames of a series that is continued --------------------- */

/* Reads the rows of a file into *rows.  If the file exists but has another lineage, or cannot be
 * read, adds its number to s->found.lost. */
static void read_file(struct nxmx_series *s, const char *path, uint64_t file,
                      struct nxmx_rows *rows)
{
    nxmx_rows_free(rows);
    if (!nxmx_read_rows(path, s->kind.lineage, rows) && access(path, F_OK) == 0)
        id_set_add(&s->found.lost, file);
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

/* Head of a record.  It must not have padding, because the checksum covers all of its bytes. */
struct head {
    uint32_t sum;                            // checksum of the following bytes, up to the images
    uint32_t type, labels, has_reflections;  // see struct nxmx_kind and nxmx_rows
    uint64_t nplanes;
    struct nxmx_note note;
    struct nxmx_frame frame;
    struct nxmx_reflection_counts counts;
};

enum { BEFORE_IMAGES = 5 };

static size_t layers_of(const struct head *h)
{
    return 1 + (size_t)h->nplanes + h->labels;
}

/* Returns the number of bytes of a record before the images.  Returns 0 if *h is not a valid
 * head. */
static size_t front_of(const struct head *h)
{
    return h->nplanes > PLANES_MAX || h->labels > 1 || h->frame.lattices > UINT32_MAX ||
                   h->frame.channels > UINT32_MAX
               ? 0
               : sizeof *h + (size_t)h->nplanes * sizeof(struct nxmx_plane) +
                     (size_t)h->frame.lattices * sizeof(struct nxmx_lattice) +
                     (size_t)h->frame.channels * sizeof(struct nxmx_channel) +
                     layers_of(h) * sizeof(uint64_t);
}

static uint32_t sum_of(const struct iovec *pieces)
{
    uint32_t sum =
        crc32c(0, (const char *)pieces->iov_base + sizeof sum, pieces->iov_len - sizeof sum);
    for (int i = 1; i < BEFORE_IMAGES; i++)
        sum = crc32c(sum, pieces[i].iov_base, pieces[i].iov_len);
    return sum;
}

/* ---- writing a record --------------------------------------------------- */

/* Returns a piece of a record.  The cast removes `const`, but nothing writes to the bytes. */
static struct iovec piece(const void *bytes, size_t size)
{
    return (struct iovec){(void *)(uintptr_t)bytes, size};
}

/* Copies the bytes of a piece to *to, and moves *to behind them. */
static void put_piece(uint8_t **to, struct iovec p)
{
    if (p.iov_len)
        memcpy(*to, p.iov_base, p.iov_len);
    *to += p.iov_len;
}

void nxmx_record_make(struct nxmx_parcel *p, const struct nxmx_kind *kind,
                      const struct nxmx_note *note, const struct nxmx_rows *rows,
                      const struct reflection_table *t)
{
    struct head h = {.type = kind->type,
                     .labels = kind->labels,
                     .has_reflections = rows->has_reflections,
                     .nplanes = kind->nplanes,
                     .note = *note,
                     .frame = *rows->frames,
                     .counts = *rows->reflections};
    const size_t layers = layers_of(&h), front = front_of(&h);
    uint64_t lengths[NXMX_LAYERS_MAX];
    for (size_t i = 0; i < layers; i++)
        lengths[i] = p->chunks[i].length;
    const struct iovec fronts[BEFORE_IMAGES] = {
        piece(&h, sizeof h), piece(kind->planes, kind->nplanes * sizeof *kind->planes),
        piece(rows->lattices, rows->nlattices * sizeof *rows->lattices),
        piece(rows->channels, rows->nchannels * sizeof *rows->channels),
        piece(lengths, layers * sizeof *lengths)};
    const struct iovec table = piece(t->rows, t->count * sizeof *t->rows),
                       pixels = piece(t->pixels, t->npixels * sizeof *t->pixels);
    p->rest = mem_grow(p->rest, 0, front + table.iov_len + pixels.iov_len, 1, &p->room);
    h.sum = sum_of(fronts);
    uint8_t *to = p->rest;
    for (int i = 0; i < BEFORE_IMAGES; i++)
        put_piece(&to, fronts[i]);
    put_piece(&to, table);
    put_piece(&to, pixels);
    p->pieces[0] = piece(p->rest, front);
    for (size_t i = 0; i < layers; i++)
        p->pieces[1 + i] = piece(p->chunks[i].bytes, p->chunks[i].length);
    p->pieces[1 + layers] = piece(p->rest + front, table.iov_len + pixels.iov_len);
    p->record = spool_record_of(note->id, p->pieces, (int)layers + 2);
}

/* ---- reading a record --------------------------------------------------- */

enum status nxmx_record_look(const struct spool *s, size_t i, struct nxmx_record *k,
                             struct error *e)
{
    struct head h;
    uint64_t lengths[NXMX_LAYERS_MAX];
    *k = (struct nxmx_record){0};
    enum status status = spool_peek(s, i, 0, &h, sizeof h, e);
    if (status)
        return status;
    if (!front_of(&h))
        return spool_damaged(s, e);
    status = spool_peek(s, i, front_of(&h), NULL, 0, e);  // checks that the record is long enough
    if (status)
        return status;
    const size_t nlattices = (size_t)h.frame.lattices, nchannels = (size_t)h.frame.channels;
    struct nxmx_lattice *lattices = mem_try_array(nlattices, sizeof *lattices);
    struct nxmx_channel *channels = mem_try_array(nchannels, sizeof *channels);
    if (!lattices || !channels) {
        mem_free(lattices);
        mem_free(channels);
        return error_memory(e, "the truth about a frame");
    }
    const struct iovec pieces[BEFORE_IMAGES] = {
        piece(&h, sizeof h),
        {k->kind.planes, (size_t)h.nplanes * sizeof *k->kind.planes},
        {lattices, nlattices * sizeof *lattices},
        {channels, nchannels * sizeof *channels},
        {lengths, layers_of(&h) * sizeof *lengths}};
    size_t at = sizeof h;
    for (int p = 1; p < BEFORE_IMAGES && !status; at += pieces[p++].iov_len)
        status = spool_peek(s, i, at, pieces[p].iov_base, pieces[p].iov_len, e);
    if (status == STATUS_OK && (sum_of(pieces) != h.sum || h.note.id != s->entries[i].id))
        status = spool_damaged(s, e);
    k->note = h.note;
    k->kind.type = (enum pixel_type)h.type;
    k->kind.labels = h.labels;
    k->kind.nplanes = (size_t)h.nplanes;
    struct nxmx_rows one = {.nframes = 1,
                            .frames = &h.frame,
                            .nlattices = nlattices,
                            .lattices = lattices,
                            .nchannels = nchannels,
                            .channels = channels,
                            .has_reflections = h.has_reflections,
                            .reflections = &h.counts};
    if (status == STATUS_OK)
        nxmx_rows_merge(&k->rows, &one);
    mem_free(lattices);
    mem_free(channels);
    return status;
}

enum status nxmx_record_find(const struct spool *s, size_t i, struct nxmx_chunk *chunks,
                             struct reflection_table *t, struct error *e)
{
    struct head h;
    uint64_t lengths[NXMX_LAYERS_MAX];
    const size_t rows = t->count * sizeof *t->rows, pixels = t->npixels * sizeof *t->pixels;
    enum status status = spool_peek(s, i, 0, &h, sizeof h, e);
    if (status)
        return status;
    if (!front_of(&h) || h.counts.rows != t->count || h.counts.pixels != t->npixels)
        return spool_damaged(s, e);
    const size_t sizes = layers_of(&h) * sizeof *lengths;
    uint64_t at = front_of(&h);
    status = spool_peek(s, i, at - sizes, lengths, sizes, e);
    for (size_t k = 0; k < layers_of(&h) && !status; at += lengths[k++])
        chunks[k] =
            (struct nxmx_chunk){.length = (size_t)lengths[k], .place = spool_place(s, i, at)};
    if (status == STATUS_OK)
        status = spool_peek(s, i, at, t->rows, rows, e);
    return status ? status : spool_peek(s, i, at + rows, t->pixels, pixels, e);
}

/* ---- opening the spool of a file ---------------------------------------- */

static struct nxmx_open_file *find_open(const struct nxmx_series *s, uint64_t file)
{
    for (size_t i = 0; i < s->nopen; i++)
        if (s->open[i]->file == file)
            return s->open[i];
    return NULL;
}

/* Adds the frames of the existing data file, which stay in it, to g->held.  Does nothing if the
 * file does not exist, or before the first frame of the series. */
static enum status note_held(struct nxmx_series *s, struct nxmx_open_file *g, struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, g->file, path);
    if (!s->typed || access(path, F_OK) != 0)
        return STATUS_OK;
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = nxmx_series_look(s, e);
    nxmx_series_unlock(lock);
    for (size_t i = 0; i < s->existing.rows.nframes; i++)
        if (s->existing.rows.frames[i].file == g->file)
            id_set_add(&g->held, s->existing.rows.frames[i].number);
    return status;
}

enum status nxmx_spool_open(const struct nxmx_series *s, uint64_t file, struct spool *spool,
                            struct error *e)
{
    const struct spool_settings settings = {s->spool_lineage, s->settings.run, s->settings.resume,
                                            s->settings.replaces};
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, file, path);
    const enum status status = target_check(path, e);
    return status ? status : spool_open(spool, path, &settings, e);
}

static enum status open_file(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                             struct error *e)
{
    struct nxmx_open_file *opened = mem_array(1, sizeof *opened);
    opened->file = file;
    const enum status status = nxmx_spool_open(s, file, &opened->spool, e);
    if (status) {
        free(opened);
        return status;
    }
    if (s->nopen == NXMX_OPEN_FILES)
        nxmx_open_file_close(s, s->open[0]);
    s->open[s->nopen++] = opened;
    *g = opened;
    return note_held(s, opened, e);
}

enum status nxmx_open_file_find(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e)
{
    *g = find_open(s, file);
    return *g ? STATUS_OK : open_file(s, file, g, e);
}

void nxmx_open_file_note(struct nxmx_open_file *g)
{
    for (; g->seen < g->spool.count; g->seen++) {
        const uint64_t id = g->spool.entries[g->seen].id;
        id_set_add(&g->kept, id);
        id_set_add(&g->held, id);
    }
}

void nxmx_open_file_gone(struct nxmx_series *s, struct nxmx_open_file *g)
{
    s->spooled -= g->bytes;
    nxmx_open_file_close(s, g);
}

/* Repeats opening if the spool is removed between opening and locking: another process may
 * complete the data file, or remove an old spool, in the meantime. */
enum status nxmx_open_file_hold(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e)
{
    bool gone = true;
    while (true) {
        enum status status = nxmx_open_file_find(s, file, g, e);
        if (status == STATUS_OK)
            status = spool_hold(&(*g)->spool, &gone, e);
        if (status)
            return status;
        if (!gone) {
            nxmx_open_file_note(*g);
            return STATUS_OK;
        }
        nxmx_open_file_gone(s, *g);
    }
}

void nxmx_open_file_release(struct nxmx_open_file *g)
{
    spool_release(&g->spool);
}

/* ---- closing ------------------------------------------------------------ */

static void forget_file(struct nxmx_series *s, struct nxmx_open_file *g)
{
    size_t at = 0;
    while (s->open[at] != g)
        at++;
    s->nopen--;
    memmove(&s->open[at], &s->open[at + 1], (s->nopen - at) * sizeof g);
    id_set_clear(&g->kept);
    id_set_clear(&g->held);
    free(g);
}

void nxmx_open_file_close(struct nxmx_series *s, struct nxmx_open_file *g)
{
    spool_close(&g->spool);
    forget_file(s, g);
}

void nxmx_open_file_remove(struct nxmx_series *s, struct nxmx_open_file *g)
{
    s->spooled -= g->bytes;
    spool_remove(&g->spool);
    forget_file(s, g);
}
