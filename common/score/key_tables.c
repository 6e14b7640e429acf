#include "score/key_tables.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/input.h"
#include "io/template.h"
#include "score/dials_files.h"

/* Of the table of a run: what it lacks below is kept as a blank. */
enum { RUN_FRAMES_MAX = 1 << 24 };

struct number_list {
    uint64_t *items;  // owned
    size_t count, room;
};

bool key_tables_named(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".refl") == 0;
}

/* --- which files --------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of the files that are there, in their order. */
static enum status find_files(const struct template *t, struct number_list *found, struct error *e)
{
    const char *path = input_path(t->text), *slash = path ? strrchr(path, '/') : NULL;
    char folder[TEMPLATE_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    DIR *in = opendir(folder);
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open %s", t->text, folder);
    const char *last = strrchr(t->text, '/');
    const int before = last ? (int)(last - t->text) + 1 : 0;
    enum status s = STATUS_OK;
    for (struct dirent *d = readdir(in); d && !s; d = readdir(in)) {
        char name[TEMPLATE_PATH_MAX];
        uint64_t number;
        if (snprintf(name, sizeof name, "%.*s%s", before, t->text, d->d_name) >= (int)sizeof name ||
            !template_number(t, name, &number))
            continue;
        uint64_t *more = mem_grow(found->items, found->count, 1, sizeof *more, &found->room);
        if (!more)
            s = error_memory(e, t->text);
        else
            (found->items = more)[found->count++] = number;
    }
    (void)closedir(in);
    if (!s && !found->count)
        s = error_set(e, STATUS_INPUT, "%s: there are no such files", t->text);
    if (!s)
        qsort(found->items, found->count, sizeof *found->items, ascending);
    return s;
}

/* --- a frame --------------------------------------------------------------------- */

static int by_hkl(const void *a, const void *b)
{
    const struct reflection_row *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

static enum status add_rows(struct key *k, const struct answer *a, const struct answer_lattice *l,
                            int32_t lattice, struct error *e)
{
    struct reflection_row *more =
        mem_grow(k->block, k->nblock, l->count + 1, sizeof *more, &k->block_room);
    if (!more)
        return error_memory(e, k->path);
    k->block = more;
    more += k->nblock;
    k->nblock += l->count;
    for (size_t i = 0; i < l->count; i++) {
        const struct answer_reflection *r = &a->reflections[l->first + i];
        more[i] = (struct reflection_row){.fast = r->fast,
                                          .slow = r->slow,
                                          .photons = r->measured ? r->intensity : 0.0,
                                          .lattice = lattice,
                                          .panel = r->panel};
        memcpy(more[i].hkl, r->hkl, sizeof r->hkl);
        more[i].background = r->measured ? (float)(r->sigma * r->sigma - r->intensity) : 0.0f;
    }
    qsort(more, l->count, sizeof *more, by_hkl);
    return STATUS_OK;
}

/* The frame, and its lattices as they stand in its middle. */
static enum status add_frame(struct key *k, uint64_t number, const struct answer *a,
                             struct error *e)
{
    struct nxmx_rows *r = &k->rows;
    struct nxmx_frame *frames = mem_grow(r->frames, r->nframes, 1, sizeof *frames, &r->frames_room);
    r->frames = frames ? frames : r->frames;
    struct nxmx_told *counts =
        mem_grow(r->reflections, r->nframes, 1, sizeof *counts, &r->reflections_room);
    r->reflections = counts ? counts : r->reflections;
    struct nxmx_lattice *lattices =
        mem_grow(r->lattices, r->nlattices, a->nlattices + 1, sizeof *lattices, &r->lattices_room);
    r->lattices = lattices ? lattices : r->lattices;
    if (!frames || !counts || !lattices)
        return error_memory(e, k->path);
    frames[r->nframes] = (struct nxmx_frame){.number = number, .lattices = a->nlattices};
    counts[r->nframes++] = (struct nxmx_told){.rows = a->nreflections};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < a->nlattices && !s; i++) {
        struct nxmx_lattice *l = &lattices[r->nlattices++];
        *l = (struct nxmx_lattice){.frame = number};
        memcpy(l->a_matrix, a->lattices[i].a_matrix, sizeof l->a_matrix);
        for (int m = 0; m < 6; m++)
            l->a_matrix[m] = 0.0 - l->a_matrix[m];  // from the frame of the beam to NeXus
        s = add_rows(k, a, &a->lattices[i], (int32_t)i, e);
    }
    return s;
}

/* The first file with lattices has the detector of all. */
static enum status take_detector(struct key *k, struct dials_files *f, struct error *e)
{
    if (k->detector.npanels)
        return STATUS_OK;
    k->detector.panels = mem_copy(f->panels, f->list.setup.npanels, sizeof *f->panels);
    if (!k->detector.panels)
        return error_memory(e, k->path);
    k->detector.npanels = f->list.setup.npanels;
    return STATUS_OK;
}

static enum status read_frame(struct key *k, const char *expt, const char *refl, uint64_t number,
                              struct error *e)
{
    struct dials_files f;
    struct answer a = {0};
    bool more;
    enum status s = dials_open(&f, expt, refl, e);
    s = s ? s : dials_next(&f, &a, &more, e);
    if (!s && (!more || !a.has_frame || a.frame != number))
        s = error_set(e, STATUS_INPUT, "%s: is no table of frame %" PRIu64 " by bragg-write", refl,
                      number);
    s = s ? s : take_detector(k, &f, e);
    s = s ? s : add_frame(k, number, &a, e);
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* A table without rows and experiments is that of a blank. */
static enum status is_blank(const char *refl, bool *blank, struct error *e)
{
    struct refl t;
    const enum status s = refl_open(&t, refl, e);
    *blank = !s && !t.nrows && !t.nidentifiers;
    refl_close(&t);
    return s;
}

static enum status read_file(struct key *k, const struct template *t, uint64_t number,
                             struct error *e)
{
    const struct answer nothing = {0};
    char refl[TEMPLATE_PATH_MAX], expt[TEMPLATE_PATH_MAX];
    bool blank;
    template_name(t, number, refl);
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(refl) - 5, refl);
    const enum status s = is_blank(refl, &blank, e);
    if (s)
        return s;
    return blank ? add_frame(k, number, &nothing, e) : read_frame(k, expt, refl, number, e);
}

/* --- a run --------------------------------------------------------------------------- */

/* The number of the frame that is read next, which must be of a still. */
static enum status next_number(const struct dials_files *f, uint64_t *number, struct error *e)
{
    const struct expt_experiment *x = &f->list.items[f->entries[f->next].experiment];
    if (x->scan.images > 0)
        return error_set(
            e, STATUS_INPUT,
            "%s: is of a rotation, whose rows are sums over frames: the key is a table "
            "for each frame (key_%%04d.refl), an NXmx file or a recording",
            f->expt_path);
    if (!dials_told_frame(x->identifier, number) || *number > RUN_FRAMES_MAX)
        return error_set(e, STATUS_INPUT,
                         "%s: experiment '%.60s' is none of bragg-write: its identifier names no "
                         "frame",
                         f->expt_path, x->identifier);
    return STATUS_OK;
}

static enum status read_run_frame(struct key *k, struct dials_files *f, struct answer *a,
                                  struct error *e)
{
    const struct answer nothing = {0};
    uint64_t number = 0;
    bool more;
    enum status s = next_number(f, &number, e);
    if (!s && number < k->rows.nframes)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " is there twice, or out of order",
                      f->expt_path, number);
    s = s ? s : dials_next(f, a, &more, e);
    while (!s && k->rows.nframes < number)
        s = add_frame(k, k->rows.nframes, &nothing, e);
    return s ? s : add_frame(k, number, a, e);
}

static enum status read_run(struct key *k, struct error *e)
{
    char expt[TEMPLATE_PATH_MAX];
    struct dials_files f;
    struct answer a = {0};
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(k->path) - 5, k->path);
    enum status s = dials_open(&f, expt, k->path, e);
    if (!s && !refl_find(&f.table, "intensity.scale.value", REFL_REAL))
        s = error_set(e, STATUS_INPUT,
                      "%s: is no table of a run; those of frames are named by their template, as "
                      "key_%%04d.refl",
                      k->path);
    s = s ? s : take_detector(k, &f, e);
    while (!s && f.next < f.nentries)
        s = read_run_frame(k, &f, &a, e);
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* --- both ------------------------------------------------------------------------------ */

static enum status read_files(struct key *k, const struct template *t, struct error *e)
{
    struct number_list found = {0};
    enum status s = find_files(t, &found, e);
    for (size_t i = 0; i < found.count && !s; i++)
        s = read_file(k, t, found.items[i], e);
    mem_free(found.items);
    return s;
}

enum status key_tables_read(struct key *k, struct error *e)
{
    struct template t;
    if (template_parse(&t, k->path, e))
        return e->status;
    enum status s = template_is_numbered(&t) ? read_files(k, &t, e) : read_run(k, e);
    k->rows.has_reflections = true;
    k->block_end = k->rows.nframes;
    if (!s && !k->detector.npanels)
        s = error_set(e, STATUS_INPUT, "%s: all frames are empty", k->path);
    return s;
}
