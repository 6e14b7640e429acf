#include "io/nxmx_series.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utc.h"
#include "io/nxmx_filling.h"
#include "io/nxmx_layers.h"

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

static enum status find_filling(struct nxmx_series *s, uint64_t file, struct nxmx_filling **found,
                                struct error *e)
{
    for (size_t i = 0; i < s->nfilling; i++)
        if (s->filling[i]->file == file) {
            *found = s->filling[i];
            return STATUS_OK;
        }
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, file, path);
    const enum status status = nxmx_filling_open(found, file, path, e);
    if (!status)
        s->filling[s->nfilling++] = *found;
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

static enum status give_images(void *owner, uint64_t id, struct nxmx_chunk *chunks,
                               struct reflection_table *t, struct error *e)
{
    const struct origin *o = owner;
    return nxmx_filling_has(o->filling, id)
               ? nxmx_filling_get(o->filling, id, o->nlayers, chunks, t, e)
               : nxmx_read(o->former, &o->former_rows, id, chunks, t, e);
}

static enum status write_file(struct nxmx_series *s, struct nxmx_filling *g, struct error *e)
{
    struct origin o = {.filling = g, .nlayers = nxmx_layers_count(&s->kind)};
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
    nxmx_filling_free(g);
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
    const bool labels = f->reflections.nlabels;
    if (!first && s->kind.labels != labels)
        return error_set(e, STATUS_INPUT, "frame %" PRIu64 " has %slabels, %s", f->recipe.id,
                         labels ? "" : "no ", labels ? "others have none" : "others have them");
    s->experiment = *x;
    s->kind = (struct nxmx_kind){.experiment = &s->experiment,
                                 .type = f->image.type,
                                 .compression = s->compression,
                                 .begin_s = s->begin_s,
                                 .labels = labels,
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

static void note_reflections(struct nxmx_rows *rows, const struct frame *f)
{
    const struct reflection_table *t = &f->reflections;
    const struct nxmx_told told = {.rows = t->count,
                                   .pixels = t->npixels,
                                   .least_photons = t->least_photons,
                                   .rest_photons = t->rest_photons};
    nxmx_rows_note(rows, f->recipe.id, &told);
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
        status = nxmx_filling_keep(g, s->compression, &s->chunk, f, e);
    if (status == STATUS_OK)
        status = nxmx_rows_add(&g->rows, x, &f->recipe, file, e);
    if (status == STATUS_OK && f->reflections.present)
        note_reflections(&g->rows, f);
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
        nxmx_filling_free(s->filling[--s->nfilling]);
    nxmx_chunk_free(&s->chunk);
    id_set_clear(&s->written);
    id_set_clear(&s->durable);
    id_set_clear(&s->found.lost);
    nxmx_rows_free(&s->found.rows);
    free(s->data_name);
    *s = (struct nxmx_series){0};
}
