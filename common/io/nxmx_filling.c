#include "io/nxmx_filling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

enum status nxmx_filling_open(struct nxmx_filling **g, uint64_t file, const char *path,
                              struct error *e)
{
    struct nxmx_filling *opened = calloc(1, sizeof *opened);
    if (!opened)
        return error_memory(e, "a file");
    opened->file = file;
    const enum status s = replace_open(&opened->spool, path, e);
    if (s)
        free(opened);
    else
        *g = opened;
    return s;
}

void nxmx_filling_free(struct nxmx_filling *g)
{
    if (g->spool.stream)
        replace_abort(&g->spool);
    nxmx_rows_free(&g->rows);
    id_set_clear(&g->held);
    mem_free(g->places);
    free(g);
}

static struct nxmx_place *place_of(const struct nxmx_filling *g, uint64_t id)
{
    for (size_t i = g->nplaces; i-- > 0;)
        if (g->places[i].id == id)
            return &g->places[i];
    return NULL;
}

/* Puts something behind the others. */
static enum status spool(struct nxmx_filling *g, const void *bytes, size_t length, struct error *e)
{
    if (length && fwrite(bytes, 1, length, g->spool.stream) != length)
        return error_errno(e, STATUS_FAILED, "%s: cannot write", g->spool.path);
    g->used += (off_t)length;
    return STATUS_OK;
}

static enum status spool_chunk(struct nxmx_filling *g, const struct nxmx_chunk *chunk,
                               struct error *e)
{
    const enum status s = spool(g, &chunk->length, sizeof chunk->length, e);
    return s ? s : spool(g, chunk->bytes, chunk->length, e);
}

bool nxmx_filling_has(const struct nxmx_filling *g, uint64_t id)
{
    return place_of(g, id);
}

static enum status spool_plane(struct nxmx_filling *g, enum nxmx_compression compression,
                               struct nxmx_chunk *chunk, enum pixel_type type, size_t count,
                               void *values, struct error *e)
{
    const struct image image = {.type = type, .count = count, .pixels = values};
    const enum status s = nxmx_pack(compression, &image, chunk, e);
    return s ? s : spool_chunk(g, chunk, e);
}

enum status nxmx_filling_keep(struct nxmx_filling *g, enum nxmx_compression compression,
                              struct nxmx_chunk *chunk, const struct frame *f, struct error *e)
{
    const struct reflection_table *t = &f->reflections;
    struct nxmx_place *places = mem_grow(g->places, g->nplaces, 1, sizeof *places, &g->places_room);
    if (!places)
        return error_memory(e, "a list of images");
    g->places = places;
    const struct nxmx_place place = {f->recipe.id, g->used};
    enum status s = spool_chunk(g, chunk, e);
    for (size_t i = 0; i < f->planes.count && !s; i++)
        s = spool_plane(g, compression, chunk, PIXEL_F32, f->planes.items[i].count,
                        f->planes.items[i].values, e);
    if (t->nlabels && !s)
        s = spool_plane(g, compression, chunk, PIXEL_U32, t->nlabels, t->labels, e);
    if (!s)
        s = spool(g, t->rows, t->count * sizeof *t->rows, e);
    if (!s)
        s = spool(g, t->pixels, t->npixels * sizeof *t->pixels, e);
    if (!s && fflush(g->spool.stream))
        s = error_errno(e, STATUS_FAILED, "%s: cannot write", g->spool.path);
    if (!s)
        g->places[g->nplaces++] = place;
    return s;
}

/* Reads what was kept at *at, behind which *at is then. */
static enum status unspool(const struct nxmx_filling *g, off_t *at, void *bytes, size_t length,
                           struct error *e)
{
    errno = 0;
    if (pread(fileno(g->spool.stream), bytes, length, *at) != (ssize_t)length)
        return error_errno(e, STATUS_FAILED, "%s: cannot read again", g->spool.path);
    *at += (off_t)length;
    return STATUS_OK;
}

static enum status unspool_chunk(const struct nxmx_filling *g, off_t *at, struct nxmx_chunk *chunk,
                                 struct error *e)
{
    size_t length;
    const enum status s = unspool(g, at, &length, sizeof length, e);
    if (s)
        return s;
    if (!nxmx_chunk_reserve(chunk, length))
        return error_memory(e, "a packed image");
    chunk->length = length;
    return unspool(g, at, chunk->bytes, length, e);
}

enum status nxmx_filling_get(const struct nxmx_filling *g, uint64_t id, size_t nchunks,
                             struct nxmx_chunk *chunks, struct reflection_table *t, struct error *e)
{
    off_t at = place_of(g, id)->at;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < nchunks && !s; i++)
        s = unspool_chunk(g, &at, &chunks[i], e);
    s = s ? s : unspool(g, &at, t->rows, t->count * sizeof *t->rows, e);
    return s ? s : unspool(g, &at, t->pixels, t->npixels * sizeof *t->pixels, e);
}
