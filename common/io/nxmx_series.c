#include "io/nxmx_series.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utc.h"
#include "io/replace.h"

/* A file that is being filled: its frames, and where their packed images are. */
struct nxmx_filling {
    uint64_t file;
    struct nxmx_rows rows;
    struct replace spool;
    off_t used;  // bytes of the spool
    size_t nplaces, places_room;
    struct place {
        uint64_t id;
        off_t at;
    } * places;  // owned, ascending ids: of chunks, each behind its length, then reflections
};

/* --- names --------------------------------------------------------------- */

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
        return error_set(e, STATUS_FAILED, "%s: is no regular file, as NXmx must be", master);
    if (strchr(master, '%'))
        return error_set(e, STATUS_USAGE,
                         "'%.60s' names one file for all frames, it must hold no %%", master);
    const enum status status = utc_begin(&s->begin_s, e);
    if (status)
        return status;
    if (asprintf(&s->data_name, "%.*s_data_%%06d.h5", length, master) < 0) {
        s->data_name = NULL;
        return error_memory(e, "a file name");
    }
    return template_parse(&s->data, s->data_name, e);
}

void nxmx_series_file(const struct nxmx_series *s, uint64_t id, char *path)
{
    template_name(&s->data, nxmx_series_number(s, id), path);
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

uint64_t nxmx_series_bytes(const struct nxmx_series *s)
{
    char path[TEMPLATE_PATH_MAX];
    uint64_t bytes = s->written.count ? size_of(s->master) : 0;
    for (size_t i = 0; i < s->nfilling; i++)
        bytes += (uint64_t)s->filling[i]->used;
    for (size_t i = 0; i < s->written.count; i++)
        for (uint64_t n = s->written.ranges[i].first; n <= s->written.ranges[i].last; n++) {
            template_name(&s->data, n, path);
            bytes += size_of(path);
        }
    return bytes;
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

/* --- filling ------------------------------------------------------------- */

static void free_filling(struct nxmx_filling *g)
{
    if (g->spool.stream)
        replace_abort(&g->spool);
    nxmx_rows_free(&g->rows);
    mem_free(g->places);
    free(g);
}

static enum status find_filling(struct nxmx_series *s, uint64_t file, struct nxmx_filling **found,
                                struct error *e)
{
    for (size_t i = 0; i < s->nfilling; i++)
        if (s->filling[i]->file == file) {
            *found = s->filling[i];
            return STATUS_OK;
        }
    char path[TEMPLATE_PATH_MAX];
    struct nxmx_filling *g = calloc(1, sizeof *g);
    if (!g)
        return error_memory(e, "a file");
    g->file = file;
    template_name(&s->data, file, path);
    const enum status status = replace_open(&g->spool, path, e);
    if (status) {
        free(g);
        return status;
    }
    s->filling[s->nfilling++] = *found = g;
    return STATUS_OK;
}

static struct place *find_place(const struct nxmx_filling *g, uint64_t id)
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

static enum status spool_plane(struct nxmx_series *s, struct nxmx_filling *g, const struct plane *p,
                               struct error *e)
{
    const struct image image = {.type = PIXEL_F32, .count = p->count, .pixels = p->values};
    const enum status status = nxmx_pack(s->compression, &image, &s->chunk, e);
    return status ? status : spool_chunk(g, &s->chunk, e);
}

/* Keeps the image, which is packed in s->chunk, planes and reflections of a frame. */
static enum status keep(struct nxmx_series *s, struct nxmx_filling *g, const struct frame *f,
                        struct error *e)
{
    const struct reflection_table *t = &f->reflections;
    struct place *places = mem_grow(g->places, g->nplaces, 1, sizeof *places, &g->places_room);
    if (!places)
        return error_memory(e, "a list of images");
    g->places = places;
    const struct place place = {f->recipe.id, g->used};
    enum status status = spool_chunk(g, &s->chunk, e);
    for (size_t i = 0; i < f->planes.count && !status; i++)
        status = spool_plane(s, g, &f->planes.items[i], e);
    if (!status)
        status = spool(g, t->rows, t->count * sizeof *t->rows, e);
    if (!status && fflush(g->spool.stream))
        status = error_errno(e, STATUS_FAILED, "%s: cannot write", g->spool.path);
    if (!status)
        g->places[g->nplaces++] = place;
    return status;
}

/* --- writing ------------------------------------------------------------- */

/* Where the images of a file come from: they were kept, or stand in the file before. */
struct origin {
    const struct nxmx_filling *filling;
    size_t nlayers;
    struct nxmx_file *former;
    struct nxmx_rows former_rows;
};

/* Reads what was kept at *at, behind which *at is then. */
static enum status unspool(const struct origin *o, off_t *at, void *bytes, size_t length,
                           struct error *e)
{
    errno = 0;
    if (pread(fileno(o->filling->spool.stream), bytes, length, *at) != (ssize_t)length)
        return error_errno(e, STATUS_FAILED, "%s: cannot read again", o->filling->spool.path);
    *at += (off_t)length;
    return STATUS_OK;
}

static enum status unspool_chunk(const struct origin *o, off_t *at, struct nxmx_chunk *chunk,
                                 struct error *e)
{
    size_t length;
    const enum status s = unspool(o, at, &length, sizeof length, e);
    if (s)
        return s;
    if (!nxmx_chunk_reserve(chunk, length))
        return error_memory(e, "a packed image");
    chunk->length = length;
    return unspool(o, at, chunk->bytes, length, e);
}

static enum status give_images(void *owner, uint64_t id, struct nxmx_chunk *chunks, size_t count,
                               struct reflection_row *rows, struct error *e)
{
    const struct origin *o = owner;
    const struct place *p = find_place(o->filling, id);
    if (!p)
        return nxmx_read(o->former, &o->former_rows, id, chunks, count, rows, e);
    off_t at = p->at;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < o->nlayers && !s; i++)
        s = unspool_chunk(o, &at, &chunks[i], e);
    return s ? s : unspool(o, &at, rows, count * sizeof *rows, e);
}

static enum status write_file(struct nxmx_series *s, struct nxmx_filling *g, struct error *e)
{
    struct origin o = {.filling = g, .nlayers = 1 + s->kind.nplanes};
    char path[TEMPLATE_PATH_MAX];
    const bool lost = id_set_has(&s->found.lost, g->file);
    enum status status = STATUS_OK;
    template_name(&s->data, g->file, path);
    s->kind.guarded = !s->anew && !lost;
    if (s->kind.guarded || id_set_has(&s->written, g->file))
        status = nxmx_open(path, &s->kind, &o.former, &o.former_rows, e);
    s->kind.guarded = s->kind.guarded && !o.former;
    if (status == STATUS_OK)
        status = nxmx_rows_merge(&g->rows, &o.former_rows, e);
    if (status == STATUS_OK)
        status = nxmx_write(path, &s->kind, &g->rows, give_images, &o, e);
    s->named = s->named || access(path, F_OK) == 0;
    nxmx_close(o.former);
    nxmx_rows_free(&o.former_rows);
    return status;
}

static enum status write_master(struct nxmx_series *s, const struct nxmx_filling *g,
                                struct error *e)
{
    struct nxmx_rows rows = {0};
    struct nxmx_file *former = NULL;
    enum status status = STATUS_OK;
    s->kind.guarded = !s->anew && !id_set_has(&s->found.lost, NXMX_MASTER);
    if (s->kind.guarded || s->written.count)
        status = nxmx_open(s->master, &s->kind, &former, &rows, e);
    s->kind.guarded = s->kind.guarded && !former;
    nxmx_close(former);
    nxmx_rows_drop(&rows, g->file);
    if (status == STATUS_OK)
        status = nxmx_rows_merge(&rows, &g->rows, e);
    if (status == STATUS_OK)
        status = nxmx_write_master(s->master, &s->kind, &rows, name_of, s, e);
    nxmx_rows_free(&rows);
    return status;
}

/* Others that fill the same series wait meanwhile, where the file system has such locks. */
static int lock_folder(const struct nxmx_series *s)
{
    char folder[TEMPLATE_PATH_MAX];
    const char *slash = strrchr(s->master, '/');
    (void)snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - s->master) : 0,
                   s->master);
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0)
        (void)flock(file, LOCK_EX);
    return file;
}

/* Writes the file at a place of the list and takes it off. */
static enum status finish(struct nxmx_series *s, size_t at, struct error *e)
{
    struct nxmx_filling *g = s->filling[at];
    const int lock = lock_folder(s);
    enum status status = write_file(s, g, e);
    if (status == STATUS_OK)
        status = write_master(s, g, e);
    if (lock >= 0)
        (void)close(lock);
    if (status)
        return status;
    bool noted = id_set_add(&s->written, g->file);
    for (size_t i = 0; i < g->nplaces; i++)
        noted &= id_set_add(&s->durable, g->places[i].id);
    s->filling[at] = s->filling[--s->nfilling];
    free_filling(g);
    return noted ? STATUS_OK : error_memory(e, "a list of frames");
}

/* --- the series ---------------------------------------------------------- */

static void take_planes(struct nxmx_kind *kind, const struct planes *planes)
{
    kind->nplanes = planes->count;
    for (size_t i = 0; i < planes->count; i++) {
        memcpy(kind->planes[i].name, planes->items[i].name, PLANE_NAME_SIZE);
        memcpy(kind->planes[i].unit, planes->items[i].unit, PLANE_UNIT_SIZE);
    }
}

static bool has_planes(const struct nxmx_kind *kind, const struct planes *planes)
{
    bool same = kind->nplanes == planes->count;
    for (size_t i = 0; same && i < planes->count; i++)
        same = strcmp(kind->planes[i].name, planes->items[i].name) == 0;
    return same;
}

static enum status take_kind(struct nxmx_series *s, const struct experiment *x, const char *lineage,
                             const struct frame *f, struct error *e)
{
    const enum status status = nxmx_check(x, &f->image, e);
    if (status)
        return status;
    const bool first = !s->kind.lineage[0];
    if (!first && s->kind.type != f->image.type)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has pixels of another type",
                         f->recipe.id);
    if (!first && !has_planes(&s->kind, &f->planes))
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has other derivatives", f->recipe.id);
    s->experiment = *x;
    s->kind = (struct nxmx_kind){.experiment = &s->experiment,
                                 .type = f->image.type,
                                 .compression = s->compression,
                                 .begin_s = s->begin_s,
                                 .sync = s->sync};
    take_planes(&s->kind, &f->planes);
    (void)snprintf(s->kind.lineage, sizeof s->kind.lineage, "%.16s", lineage);
    return STATUS_OK;
}

static size_t fullest(const struct nxmx_series *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->nfilling; i++)
        if (s->filling[i]->nplaces > s->filling[best]->nplaces)
            best = i;
    return best;
}

enum status nxmx_series_add(struct nxmx_series *s, const struct experiment *x, const char *lineage,
                            const struct frame *f, struct error *e)
{
    struct nxmx_filling *g = NULL;
    const uint64_t file = nxmx_series_number(s, f->recipe.id);
    enum status status = take_kind(s, x, lineage, f, e);
    if (status == STATUS_OK)
        status = nxmx_pack(s->compression, &f->image, &s->chunk, e);
    if (status == STATUS_OK && !image_is_intact(&f->image))
        status = error_set(e, STATUS_FAILED, "frame %" PRIu64 " was replaced while it was packed",
                           f->recipe.id);
    if (status == STATUS_OK)
        status = find_filling(s, file, &g, e);
    if (status == STATUS_OK)
        status = keep(s, g, f, e);
    if (status == STATUS_OK)
        status = nxmx_rows_add(&g->rows, x, &f->recipe, file, e);
    if (status == STATUS_OK && f->reflections.present)
        nxmx_rows_note(&g->rows, f->recipe.id, f->reflections.count);
    if (status)
        return status;
    if (g->rows.nframes == s->frames_per_file)
        for (size_t i = 0; i < s->nfilling; i++)
            if (s->filling[i] == g)
                return finish(s, i, e);
    return s->nfilling > NXMX_OPEN_FILES ? finish(s, fullest(s), e) : STATUS_OK;
}

enum status nxmx_series_flush(struct nxmx_series *s, struct error *e)
{
    enum status status = STATUS_OK;
    while (s->nfilling && !status)
        status = finish(s, s->nfilling - 1, e);
    return status;
}

void nxmx_series_take(struct nxmx_series *s, struct id_set *ids)
{
    *ids = s->durable;
    s->durable = (struct id_set){0};
}

void nxmx_series_close(struct nxmx_series *s)
{
    while (s->nfilling)
        free_filling(s->filling[--s->nfilling]);
    nxmx_chunk_free(&s->chunk);
    id_set_clear(&s->written);
    id_set_clear(&s->durable);
    id_set_clear(&s->found.lost);
    nxmx_rows_free(&s->found.rows);
    free(s->data_name);
    *s = (struct nxmx_series){0};
}
