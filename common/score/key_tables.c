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
#include "score/key_add.h"

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

static enum status read_frame(struct key_part *k, const char *expt, const char *refl,
                              uint64_t number, struct error *e)
{
    struct dials_files f;
    struct answer a = {0};
    bool more;
    enum status s = dials_open(&f, expt, refl, e);
    s = s ? s : dials_next(&f, &a, &more, e);
    if (!s && (!more || !a.has_frame || a.frame != number))
        s = error_set(e, STATUS_INPUT, "%s: is no table of frame %" PRIu64 " by bragg-write", refl,
                      number);
    s = s ? s : key_add_panels(k, f.panels, f.list.setup.npanels, e);
    s = s ? s : key_add_frame(k, number, &a, e);
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

static enum status read_file(struct key_part *k, const struct template *t, uint64_t number,
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
    return blank ? key_add_frame(k, number, &nothing, e) : read_frame(k, expt, refl, number, e);
}

/* --- a run --------------------------------------------------------------------------- */

/* The number of the frame that is read next. */
static enum status next_number(const struct dials_files *f, uint64_t *number, struct error *e)
{
    const struct dials_entry *next = &f->entries[f->next];
    const struct expt_experiment *x = &f->list.items[next->experiment];
    if (!dials_told_frame(x->identifier, number) || *number > RUN_FRAMES_MAX)
        return error_set(e, STATUS_INPUT,
                         "%s: experiment '%.60s' is none of bragg-write: its identifier names no "
                         "frame",
                         f->expt_path, x->identifier);
    *number += (uint64_t)next->place;
    return STATUS_OK;
}

static enum status read_run_frame(struct key_part *k, struct dials_files *f, struct answer *a,
                                  struct error *e)
{
    uint64_t number = 0;
    bool more;
    enum status s = next_number(f, &number, e);
    if (!s && number < k->rows.nframes)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " is there twice, or out of order",
                      f->expt_path, number);
    s = s ? s : dials_next(f, a, &more, e);
    s = s ? s : key_add_blanks(k, number, e);
    return s ? s : key_add_frame(k, number, a, e);
}

/* A reflection of a rotation has one row, which tells the photons of all frames that it is in. */
static enum status read_run(struct key_part *k, struct error *e)
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
    s = s ? s : key_add_panels(k, f.panels, f.list.setup.npanels, e);
    f.all_measured = true;
    k->fills = true;
    for (size_t i = 0; i < f.list.count && !s; i++)
        k->tells.summed |= f.list.items[i].scan.images > 0;
    if (k->tells.summed)
        k->tells.no_spots = "reflections of the key are sums over the frames of a rotation";
    while (!s && f.next < f.nentries)
        s = read_run_frame(k, &f, &a, e);
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* --- both ------------------------------------------------------------------------------ */

static enum status read_files(struct key_part *k, const struct template *t, struct error *e)
{
    struct number_list found = {0};
    enum status s = find_files(t, &found, e);
    for (size_t i = 0; i < found.count && !s; i++)
        s = read_file(k, t, found.items[i], e);
    mem_free(found.items);
    return s;
}

enum status key_tables_read(struct key_part *k, struct error *e)
{
    struct template t;
    if (template_parse(&t, k->path, e))
        return e->status;
    enum status s = template_is_numbered(&t) ? read_files(k, &t, e) : read_run(k, e);
    k->tells.no_F2 = true;
    s = s ? s : key_add_end(k, e);
    if (!s && !k->detector.npanels)
        s = error_set(e, STATUS_INPUT, "%s: all frames are empty", k->path);
    return s;
}
