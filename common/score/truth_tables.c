/*
 * Ground truth from reflection tables of DIALS that bragg-write made: one table for each frame,
 * named by a template, or one table of a whole run.
 */
#include "score/truth_kinds.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/files.h"
#include "io/output/output_file.h"
#include "score/results.h"

/* Maximum frame number in the table of a run.  Frames below the last one that the table does not
 * list are stored as blanks. */
enum { RUN_FRAMES_MAX = 1 << 24 };

struct number_list {
    uint64_t *items;  // owned
    size_t count, room;
};

bool truth_tables_named(const char *path)
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

/* Finds the numbers of all existing files of a template, in ascending order. */
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
        found->items = mem_grow(found->items, found->count, 1, sizeof *found->items, &found->room);
        found->items[found->count++] = number;
    }
    (void)closedir(in);
    if (!s && !found->count)
        s = error_set(e, STATUS_INPUT, "%s: no files with such names found", t->text);
    if (!s)
        qsort(found->items, found->count, sizeof *found->items, ascending);
    return s;
}

/* --- a frame --------------------------------------------------------------------- */

static enum status read_table_frame(struct truth_part *part, const char *expt, const char *refl,
                                    uint64_t number, struct error *e)
{
    struct dials_files f;
    struct answer a = {0};
    bool more;
    enum status s = dials_open(&f, expt, refl, e);
    s = s ? s : dials_next(&f, &a, &more, e);
    if (!s && (!more || !a.has_frame || a.frame != number))
        s = error_set(e, STATUS_INPUT, "%s: not a table of frame %" PRIu64 " from bragg-write",
                      refl, number);
    if (!s) {
        truth_add_panels(part, f.panels, f.list.setup.npanels);
        truth_add_frame(part, number, &a);
    }
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* Sets *blank if a table has neither rows nor experiments, which means that its frame is blank. */
static enum status is_blank_table(const char *refl, bool *blank, struct error *e)
{
    struct refl t;
    const enum status s = refl_open(&t, refl, e);
    *blank = !s && !t.nrows && !t.nidentifiers;
    refl_close(&t);
    return s;
}

static enum status read_file(struct truth_part *part, const struct template *t, uint64_t number,
                             struct error *e)
{
    const struct answer nothing = {0};
    char refl[TEMPLATE_PATH_MAX], expt[TEMPLATE_PATH_MAX];
    bool blank;
    template_name(t, number, refl);
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(refl) - 5, refl);
    const enum status s = is_blank_table(refl, &blank, e);
    if (s || !blank)
        return s ? s : read_table_frame(part, expt, refl, number, e);
    truth_add_frame(part, number, &nothing);
    return STATUS_OK;
}

/* --- a run --------------------------------------------------------------------------- */

/* Finds the number of the frame that is read next. */
static enum status next_number(const struct dials_files *f, uint64_t *number, struct error *e)
{
    const struct dials_entry *next = &f->entries[f->next];
    const struct expt_experiment *x = &f->list.items[next->experiment];
    if (!dials_told_frame(x->identifier, number) || *number > RUN_FRAMES_MAX)
        return error_set(
            e, STATUS_INPUT,
            "%s: experiment '%.60s' is not from bragg-write: its identifier has no frame number",
            f->expt_path, x->identifier);
    *number += (uint64_t)next->place;
    return STATUS_OK;
}

static enum status read_run_frame(struct truth_part *part, struct dials_files *f, struct answer *a,
                                  struct error *e)
{
    uint64_t number = 0;
    bool more;
    enum status s = next_number(f, &number, e);
    if (!s && number < part->rows.nframes)
        s = error_set(e, STATUS_INPUT, "%s: frame %" PRIu64 " occurs twice, or is out of order",
                      f->expt_path, number);
    s = s ? s : dials_next(f, a, &more, e);
    if (s)
        return s;
    truth_add_blanks(part, number);
    truth_add_frame(part, number, a);
    return STATUS_OK;
}

/* Reads the table of a run.  A reflection of a rotation series has one row, which contains its
 * photons in all frames that it extends over. */
static enum status read_run(struct truth_part *part, struct error *e)
{
    char expt[TEMPLATE_PATH_MAX];
    struct dials_files f;
    struct answer a = {0};
    (void)snprintf(expt, sizeof expt, "%.*s.expt", (int)strlen(part->path) - 5, part->path);
    enum status s = dials_open(&f, expt, part->path, e);
    if (!s && !refl_find(&f.table, "intensity.scale.value", REFL_REAL))
        s = error_set(e, STATUS_INPUT,
                      "%s: not a table of a run. Name the tables of single frames with their "
                      "template, such as truth_%%04d.refl",
                      part->path);
    if (!s)
        truth_add_panels(part, f.panels, f.list.setup.npanels);
    f.all_measured = true;
    part->fills = true;
    for (size_t i = 0; i < f.list.count && !s; i++)
        part->facts.summed |= f.list.items[i].scan.images > 0;
    if (part->facts.summed)
        part->facts.no_spots =
            "reflections of the ground truth are sums over the frames of a rotation";
    while (!s && f.next < f.nentries)
        s = read_run_frame(part, &f, &a, e);
    answer_free(&a);
    dials_close(&f);
    return s;
}

/* --- files or run --------------------------------------------------------------------- */

static enum status read_files(struct truth_part *part, const struct template *t, struct error *e)
{
    struct number_list found = {0};
    enum status s = find_files(t, &found, e);
    for (size_t i = 0; i < found.count && !s; i++)
        s = read_file(part, t, found.items[i], e);
    mem_free(found.items);
    return s;
}

enum status truth_tables_read(struct truth_part *part, struct error *e)
{
    struct template t;
    if (template_parse(&t, part->path, e))
        return e->status;
    enum status s = template_is_numbered(&t) ? read_files(part, &t, e) : read_run(part, e);
    part->facts.no_F2 = true;
    s = s ? s : truth_add_end(part, e);
    if (!s && !part->detector.npanels)
        s = error_set(e, STATUS_INPUT, "%s: all frames are empty", part->path);
    return s;
}
