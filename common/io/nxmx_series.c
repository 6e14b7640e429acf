#include "io/nxmx_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utc.h"
#include "io/nxmx_filling.h"
#include "io/nxmx_finish.h"
#include "io/owners.h"

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

/* Where a process that is alone puts a frame. */
static uint64_t home_of(const struct nxmx_series *s, uint64_t id)
{
    return id / s->frames_per_file + 1;
}

uint64_t nxmx_series_number(const struct nxmx_series *s, uint64_t id)
{
    const int64_t at = nxmx_rows_find(&s->known.rows, id);
    return at < 0 ? home_of(s, id) : s->known.rows.frames[at].file;
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

uint64_t nxmx_series_files(const struct nxmx_series *s, uint64_t frames)
{
    return frames / s->frames_per_file + (frames % s->frames_per_file != 0);
}

double nxmx_series_heads(const struct nxmx_series *s, uint64_t frames)
{
    /* measured: 39 to 45 kB of names, geometry and tables; zeros pack by 190 or so */
    static const double HEAD_BYTES = 42e3, MASK_PACKED = 1.0 / 190;
    const struct experiment *x = &s->experiment;
    bool masked = x->has_reasons;
    for (size_t i = 0; i < x->npanels; i++)
        masked = masked || x->panels[i].mask;
    const double mask = masked ? sizeof(uint32_t) * (double)experiment_pixels(x) * MASK_PACKED : 0;
    const double files =
        frames ? (double)nxmx_series_files(s, frames) : (double)id_set_size(&s->written);
    return files > 0 ? (files + 1) * (HEAD_BYTES + mask) : 0;
}

void nxmx_series_share(struct nxmx_series *s, bool replaces, const int *claims,
                       const struct nxmx_hooks *hooks)
{
    s->replaces = replaces;
    s->claims = claims;
    s->hooks = *hooks;
}

/* --- files to fill ------------------------------------------------------- */

static bool exists(const struct nxmx_series *s, uint64_t file)
{
    char path[TEMPLATE_PATH_MAX];
    template_name(&s->data, file, path);
    return access(path, F_OK) == 0;
}

static struct nxmx_filling *filling_of(const struct nxmx_series *s, uint64_t file)
{
    for (size_t i = 0; i < s->nfilling; i++)
        if (s->filling[i]->file == file)
            return s->filling[i];
    return NULL;
}

static bool takes(const struct nxmx_series *s, const struct nxmx_filling *g, uint64_t id)
{
    return id_set_has(&g->held, id) || id_set_size(&g->held) < s->frames_per_file;
}

/* Notes what is in a file that is there: frames that stay in it. */
static enum status note_held(struct nxmx_series *s, struct nxmx_filling *g, struct error *e)
{
    bool noted = true;
    const int lock = nxmx_series_lock(s);
    const enum status status = nxmx_series_look(s, e);
    nxmx_series_unlock(lock);
    for (size_t i = 0; i < s->known.rows.nframes && noted; i++)
        if (s->known.rows.frames[i].file == g->file)
            noted = id_set_add(&g->held, s->known.rows.frames[i].number);
    return status || noted ? status : error_memory(e, "a list of frames");
}

/* Begins to fill a file, unless that is another process's: then *g stays NULL. */
static enum status begin_filling(struct nxmx_series *s, uint64_t file, struct nxmx_filling **g,
                                 struct error *e)
{
    char path[TEMPLATE_PATH_MAX];
    *g = NULL;
    if (s->claims && *s->claims >= 0 && !owners_claim(*s->claims, file))
        return STATUS_OK;
    template_name(&s->data, file, path);
    enum status status = nxmx_filling_open(g, file, path, e);
    if (status)
        return status;
    s->filling[s->nfilling++] = *g;
    if (!id_set_remove(&s->unfinished, file))
        return error_memory(e, "a list of files");
    return exists(s, file) ? note_held(s, *g, e) : STATUS_OK;
}

/* Goes on with a file of this process that was written before it was full; there is one. */
static enum status resume_filling(struct nxmx_series *s, uint64_t id, struct nxmx_filling **g,
                                  struct error *e)
{
    const uint64_t file = s->unfinished.ranges[0].first;
    if (!id_set_remove(&s->unfinished, file))
        return error_memory(e, "a list of files");
    const enum status status = begin_filling(s, file, g, e);
    if (status || !*g || takes(s, *g, id))
        return status;
    nxmx_filling_free(s->filling[--s->nfilling]);
    *g = NULL;
    return STATUS_OK;
}

/* A file of this process that is not full, or the next that is nobody's. */
static enum status find_room(struct nxmx_series *s, uint64_t id, struct nxmx_filling **g,
                             struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->nfilling; i++)
        if (takes(s, s->filling[i], id)) {
            *g = s->filling[i];
            return STATUS_OK;
        }
    *g = NULL;
    while (s->unfinished.count && !*g && !status)
        status = resume_filling(s, id, g, e);
    for (uint64_t file = 1; !*g && !status; file++)
        if (!filling_of(s, file) &&
            (!exists(s, file) || (s->replaces && !nxmx_known_has(&s->known, file))))
            status = begin_filling(s, file, g, e);
    return status;
}

/* The file that a frame goes into. */
static enum status find_filling(struct nxmx_series *s, uint64_t id, struct nxmx_filling **g,
                                struct error *e)
{
    const uint64_t home = home_of(s, id);
    *g = filling_of(s, home);
    const enum status status = *g ? STATUS_OK : begin_filling(s, home, g, e);
    if (status || (*g && takes(s, *g, id)))
        return status;
    return find_room(s, id, g, e);
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
    enum status status = take_kind(s, x, lineage, f, e);
    if (status == STATUS_OK)
        status = nxmx_pack(s->compression, &f->image, &s->chunk, e);
    if (status == STATUS_OK && !image_is_intact(&f->image))
        status = error_set(e, STATUS_FAILED, "frame %" PRIu64 " was replaced while it was packed",
                           f->recipe.id);
    if (status == STATUS_OK)
        status = find_filling(s, f->recipe.id, &g, e);
    if (status == STATUS_OK)
        status = nxmx_filling_keep(g, s->compression, &s->chunk, f, e);
    if (status == STATUS_OK)
        status = nxmx_rows_add(&g->rows, x, &f->recipe, g->file, e);
    if (status == STATUS_OK && f->reflections.present)
        note_reflections(&g->rows, f);
    if (status == STATUS_OK && !id_set_add(&g->held, f->recipe.id))
        status = error_memory(e, "a list of frames");
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
    id_set_clear(&s->unfinished);
    id_set_clear(&s->durable);
    nxmx_known_clear(&s->known);
    id_set_clear(&s->found.lost);
    nxmx_rows_free(&s->found.rows);
    free(s->data_name);
    *s = (struct nxmx_series){0};
}
