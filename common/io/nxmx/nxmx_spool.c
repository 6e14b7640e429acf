#include "io/nxmx/nxmx_spool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/files.h"
#include "io/nxmx/nxmx_existing.h"
#include "io/nxmx/nxmx_series.h"

/* Head of a record.  It must not have padding, because the checksum covers all of its bytes. */
struct head {
    uint32_t sum;                            // checksum of the following bytes, up to the images
    uint32_t type, labels, has_reflections;  // see struct nxmx_kind and nxmx_rows
    uint64_t nplanes;
    struct nxmx_note note;
    struct nxmx_frame frame;
    struct nxmx_told told;
};

enum { BEFORE_IMAGES = 5, PIECES_MAX = BEFORE_IMAGES + NXMX_LAYERS_MAX + 2 };

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

/* Returns a piece of a record for spool_append.  The cast removes `const`, but nothing writes to
 * the bytes. */
static struct iovec piece(const void *bytes, size_t size)
{
    return (struct iovec){(void *)(uintptr_t)bytes, size};
}

enum status nxmx_record_add(struct spool *s, const struct nxmx_kind *kind,
                            const struct nxmx_note *note, const struct nxmx_rows *rows,
                            const struct nxmx_chunk *chunks, const struct reflection_table *t,
                            uint64_t *bytes, struct error *e)
{
    struct head h = {.type = kind->type,
                     .labels = kind->labels,
                     .has_reflections = rows->has_reflections,
                     .nplanes = kind->nplanes,
                     .note = *note,
                     .frame = *rows->frames,
                     .told = *rows->reflections};
    uint64_t lengths[NXMX_LAYERS_MAX];
    struct iovec pieces[PIECES_MAX] = {
        piece(&h, sizeof h), piece(kind->planes, kind->nplanes * sizeof *kind->planes),
        piece(rows->lattices, rows->nlattices * sizeof *rows->lattices),
        piece(rows->channels, rows->nchannels * sizeof *rows->channels),
        piece(lengths, layers_of(&h) * sizeof *lengths)};
    int count = BEFORE_IMAGES;
    for (size_t i = 0; i < layers_of(&h); i++) {
        lengths[i] = chunks[i].length;
        pieces[count++] = piece(chunks[i].bytes, chunks[i].length);
    }
    h.sum = sum_of(pieces);
    pieces[count++] = piece(t->rows, t->count * sizeof *t->rows);
    pieces[count++] = piece(t->pixels, t->npixels * sizeof *t->pixels);
    const enum status status = spool_append(s, note->id, pieces, count, kind->sync, e);
    for (int i = 0; i < count && !status; i++)
        *bytes += pieces[i].iov_len;
    return status;
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
    struct nxmx_lattice *lattices = mem_array(nlattices, sizeof *lattices);
    struct nxmx_channel *channels = mem_array(nchannels, sizeof *channels);
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
                            .reflections = &h.told};
    if (status == STATUS_OK)
        status = nxmx_rows_merge(&k->rows, &one, e);
    mem_free(lattices);
    mem_free(channels);
    return status;
}

/* Sets chunks[] to the packed images inside a record of *left bytes.  Returns the position after
 * the images, and sets *left to the number of bytes from there on.  Returns NULL if the record
 * is too short, or if its reflections do not match *t. */
static const char *find_images(const char *record, size_t *left, struct nxmx_chunk *chunks,
                               const struct reflection_table *t)
{
    struct head h;
    if (*left < sizeof h)
        return NULL;
    memcpy(&h, record, sizeof h);
    const size_t front = front_of(&h), nlayers = layers_of(&h);
    if (!front || *left < front || h.told.rows != t->count || h.told.pixels != t->npixels)
        return NULL;
    const char *at = record + front;
    *left -= front;
    for (size_t i = 0; i < nlayers; i++) {
        uint64_t length;
        memcpy(&length, record + front - (nlayers - i) * sizeof length, sizeof length);
        if (length > *left)
            return NULL;
        /* The cast removes `const`, but the receiver only reads the bytes. */
        chunks[i] =
            (struct nxmx_chunk){.length = (size_t)length, .bytes = (uint8_t *)(uintptr_t)at};
        at += length;
        *left -= (size_t)length;
    }
    return at;
}

enum status nxmx_record_read(struct spool *s, size_t i, struct nxmx_chunk *chunks,
                             struct reflection_table *t, struct error *e)
{
    const struct records all = spool_records(s);
    const size_t rows = t->count * sizeof *t->rows, pixels = t->npixels * sizeof *t->pixels;
    const void *record;
    size_t left;
    const enum status status = all.read(all.state, i, &record, &left, e);
    if (status)
        return status;
    const char *at = find_images(record, &left, chunks, t);
    if (!at || left != rows + pixels)
        return spool_damaged(s, e);
    memcpy(t->rows, at, rows);
    memcpy(t->pixels, at + rows, pixels);
    return STATUS_OK;
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
    bool noted = true;
    template_name(&s->data, g->file, path);
    if (!s->typed || access(path, F_OK) != 0)
        return STATUS_OK;
    int lock;
    enum status status = nxmx_series_lock(s, &lock, e);
    if (status == STATUS_OK)
        status = nxmx_series_look(s, e);
    nxmx_series_unlock(lock);
    for (size_t i = 0; i < s->existing.rows.nframes && noted; i++)
        if (s->existing.rows.frames[i].file == g->file)
            noted = id_set_add(&g->held, s->existing.rows.frames[i].number);
    return status || noted ? status : error_memory(e, "a list of frames");
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
    struct nxmx_open_file *opened = calloc(1, sizeof *opened);
    if (!opened)
        return error_memory(e, "a file");
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

/* Adds the frames of new records in the spool to g->kept and g->held. */
static enum status note_kept(struct nxmx_open_file *g, struct error *e)
{
    bool noted = true;
    for (; noted && g->seen < g->spool.count; g->seen++) {
        const uint64_t id = g->spool.entries[g->seen].id;
        noted = id_set_add(&g->kept, id) && id_set_add(&g->held, id);
    }
    return noted ? STATUS_OK : error_memory(e, "a list of frames");
}

/* Repeats opening if the spool is removed between opening and locking: another process may
 * complete the data file, or remove an old spool, in the meantime. */
enum status nxmx_open_file_hold(struct nxmx_series *s, uint64_t file, struct nxmx_open_file **g,
                                struct error *e)
{
    bool gone = true;
    *g = find_open(s, file);
    while (true) {
        enum status status = *g ? STATUS_OK : open_file(s, file, g, e);
        if (status == STATUS_OK)
            status = spool_hold(&(*g)->spool, &gone, e);
        if (status || !gone)
            return status ? status : note_kept(*g, e);
        s->spooled -= (*g)->bytes;
        nxmx_open_file_close(s, *g);
        *g = NULL;
    }
}

void nxmx_open_file_release(struct nxmx_open_file *g)
{
    spool_release(&g->spool);
}

/* ---- filling ------------------------------------------------------------ */

enum status nxmx_open_file_add(struct nxmx_series *s, struct nxmx_open_file *g,
                               const struct nxmx_note *note, const struct reflection_table *t,
                               struct error *e)
{
    uint64_t bytes = 0;
    enum status status =
        nxmx_record_add(&g->spool, &s->kind, note, &s->rows, s->chunks, t, &bytes, e);
    g->bytes += bytes;
    s->spooled += bytes;
    if (status == STATUS_OK && !id_set_add(&s->given, note->id))
        status = error_memory(e, "a list of frames");
    return status ? status : note_kept(g, e);
}

/* ---- closing ------------------------------------------------------------ */

static void forget(struct nxmx_series *s, struct nxmx_open_file *g)
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
    forget(s, g);
}

void nxmx_open_file_remove(struct nxmx_series *s, struct nxmx_open_file *g)
{
    s->spooled -= g->bytes;
    spool_remove(&g->spool);
    forget(s, g);
}
