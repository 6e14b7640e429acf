#include "io/nxmx/nxmx_kept.h"

#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"

/* Padding is spelled out: all bytes are summed up. */
struct head {
    uint32_t sum;                            // of what follows, up to the images
    uint32_t type, labels, has_reflections;  // as in struct nxmx_kind and nxmx_rows
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

/* Bytes before the images; 0 for what is no head. */
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

/* ---- writing ----------------------------------------------------------- */

/* Nothing is written to the bytes of a piece. */
static struct iovec piece(const void *bytes, size_t size)
{
    return (struct iovec){(void *)(uintptr_t)bytes, size};
}

enum status nxmx_kept_add(struct spool *s, const struct nxmx_kind *kind,
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

/* ---- reading ----------------------------------------------------------- */

enum status nxmx_kept_look(const struct spool *s, size_t i, struct nxmx_kept *k, struct error *e)
{
    struct head h;
    uint64_t lengths[NXMX_LAYERS_MAX];
    *k = (struct nxmx_kept){0};
    enum status status = spool_peek(s, i, 0, &h, sizeof h, e);
    if (status)
        return status;
    if (!front_of(&h))
        return spool_damaged(s, e);
    status = spool_peek(s, i, front_of(&h), NULL, 0, e);  // it has so many
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

/* Points chunks[] into a record; NULL when it ends before, else what stands behind them. */
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
        /* Who gets them only reads. */
        chunks[i] =
            (struct nxmx_chunk){.length = (size_t)length, .bytes = (uint8_t *)(uintptr_t)at};
        at += length;
        *left -= (size_t)length;
    }
    return at;
}

enum status nxmx_kept_read(struct spool *s, size_t i, struct nxmx_chunk *chunks,
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
