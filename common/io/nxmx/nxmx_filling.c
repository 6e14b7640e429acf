#include "io/nxmx/nxmx_filling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "io/nxmx/nxmx_found.h"

/* ---- opening ----------------------------------------------------------- */

static struct nxmx_filling *filling_of(const struct nxmx_series *s, uint64_t file)
{
    for (size_t i = 0; i < s->nfilling; i++)
        if (s->filling[i]->file == file)
            return s->filling[i];
    return NULL;
}

/* Notes what is in a file that is there, if more is to come: frames that stay in it. */
static enum status note_held(struct nxmx_series *s, struct nxmx_filling *g, struct error *e)
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
    for (size_t i = 0; i < s->known.rows.nframes && noted; i++)
        if (s->known.rows.frames[i].file == g->file)
            noted = id_set_add(&g->held, s->known.rows.frames[i].number);
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

static enum status begin(struct nxmx_series *s, uint64_t file, struct nxmx_filling **g,
                         struct error *e)
{
    struct nxmx_filling *opened = calloc(1, sizeof *opened);
    if (!opened)
        return error_memory(e, "a file");
    opened->file = file;
    const enum status status = nxmx_spool_open(s, file, &opened->spool, e);
    if (status) {
        free(opened);
        return status;
    }
    if (s->nfilling == NXMX_OPEN_FILES)
        nxmx_filling_close(s, s->filling[0]);
    s->filling[s->nfilling++] = opened;
    *g = opened;
    return note_held(s, opened, e);
}

/* Notes what has been appended. */
static enum status note_kept(struct nxmx_filling *g, struct error *e)
{
    bool noted = true;
    for (; noted && g->seen < g->spool.count; g->seen++) {
        const uint64_t id = g->spool.entries[g->seen].id;
        noted = id_set_add(&g->kept, id) && id_set_add(&g->held, id);
    }
    return noted ? STATUS_OK : error_memory(e, "a list of frames");
}

/* Another process may finish the file, or an old spool be removed, meanwhile. */
enum status nxmx_filling_hold(struct nxmx_series *s, uint64_t file, struct nxmx_filling **g,
                              struct error *e)
{
    bool gone = true;
    *g = filling_of(s, file);
    while (true) {
        enum status status = *g ? STATUS_OK : begin(s, file, g, e);
        if (status == STATUS_OK)
            status = spool_hold(&(*g)->spool, &gone, e);
        if (status || !gone)
            return status ? status : note_kept(*g, e);
        s->spooled -= (*g)->bytes;
        nxmx_filling_close(s, *g);
        *g = NULL;
    }
}

void nxmx_filling_release(struct nxmx_filling *g)
{
    spool_release(&g->spool);
}

/* ---- filling ----------------------------------------------------------- */

enum status nxmx_filling_add(struct nxmx_series *s, struct nxmx_filling *g,
                             const struct nxmx_note *note, const struct reflection_table *t,
                             struct error *e)
{
    uint64_t bytes = 0;
    enum status status =
        nxmx_kept_add(&g->spool, &s->kind, note, &s->rows, s->chunks, t, &bytes, e);
    g->bytes += bytes;
    s->spooled += bytes;
    if (status == STATUS_OK && !id_set_add(&s->given, note->id))
        status = error_memory(e, "a list of frames");
    return status ? status : note_kept(g, e);
}

/* ---- the end ----------------------------------------------------------- */

static void forget(struct nxmx_series *s, struct nxmx_filling *g)
{
    size_t at = 0;
    while (s->filling[at] != g)
        at++;
    s->nfilling--;
    memmove(&s->filling[at], &s->filling[at + 1], (s->nfilling - at) * sizeof g);
    id_set_clear(&g->kept);
    id_set_clear(&g->held);
    free(g);
}

void nxmx_filling_close(struct nxmx_series *s, struct nxmx_filling *g)
{
    spool_close(&g->spool);
    forget(s, g);
}

void nxmx_filling_remove(struct nxmx_series *s, struct nxmx_filling *g)
{
    s->spooled -= g->bytes;
    spool_remove(&g->spool);
    forget(s, g);
}
