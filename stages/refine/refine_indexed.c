#include "refine_indexed.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/parameter_step.h"
#include "io/nxmx/nxmx_read.h"
#include "physics/detector/panels.h"
#include "score/lattices.h"
#include "score/results.h"

/* Of the reciprocal metric: 5 % of an edge. */
static const double METRIC_TOLERANCE = 0.1;

/* --- reading ------------------------------------------------------------------------- */

struct reader {
    struct indexed *to;
    const struct experiment *x;
    double axes[9];  // rows x, y, z of the frame of the beam in the lab, as the analysis has it
    /* Numbers of the frames in the file of images that was looked at last. */
    char file[ANSWER_FILE_SIZE];
    struct nxmx_rows rows;
};

/* The number of the frame that an answer is about. */
static uint64_t number_of(struct reader *r, const struct answer *a)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    struct error nothing = {0};
    if (a->has_frame)
        return a->frame;
    if (strcmp(r->file, a->file) != 0) {
        memcpy(r->file, a->file, sizeof r->file);
        nxmx_rows_free(&r->rows);
        if (nxmx_read_truth(a->file, history, &r->rows, &nothing))
            nxmx_rows_free(&r->rows);
    }
    return a->event < r->rows.nframes ? r->rows.frames[a->event].number : a->event;
}

static enum status take_lattice(struct reader *r, uint64_t frame, const double in_beam[9],
                                struct error *e)
{
    struct indexed *d = r->to;
    struct indexed_lattice *grown = mem_grow(d->lattices, d->count, 1, sizeof *grown, &d->room);
    if (!grown)
        return error_memory(e, "the lattices that were found");
    d->lattices = grown;
    struct indexed_lattice *l = &grown[d->count++];
    l->frame = frame;
    for (int i = 0; i < 3; i++)
        for (int column = 0; column < 3; column++) {
            l->a_matrix[3 * i + column] = 0.0;
            for (int k = 0; k < 3; k++)
                l->a_matrix[3 * i + column] += r->axes[3 * k + i] * in_beam[3 * k + column];
        }
    return STATUS_OK;
}

/* DIALS knows the lab by spindle and beam, CrystFEL by the detector. */
static void find_axes(struct reader *r, enum results_kind kind)
{
    if (kind != RESULTS_DIALS) {
        panels_frame(r->x, r->axes);
        return;
    }
    nxmx_axes(r->x, r->axes);
    for (int i = 0; i < 6; i++)
        r->axes[i] = 0.0 - r->axes[i];  // (-x, -y, z) of NeXus
}

static enum status read_files(struct reader *r, const struct results_files *files, struct error *e)
{
    struct results results;
    struct answer a = {0};
    bool more = true;
    enum status s = results_open(&results, files, NULL, e);
    find_axes(r, results.kind);
    while (!s && !(s = results_next(&results, &a, &more, e)) && more)
        for (size_t i = 0; i < a.nlattices && !s; i++)
            s = take_lattice(r, number_of(r, &a), a.lattices[i].a_matrix, e);
    answer_free(&a);
    results_close(&results);
    return s;
}

static enum status read_folder(struct reader *r, const char *path, struct error *e)
{
    struct results_folder folder;
    struct results_files files;
    bool more = true;
    enum status s = STATUS_OK;
    results_folder_open(&folder, path, NULL);
    while (!s && !(s = results_folder_next(&folder, &files, &more, e)) && more)
        s = read_files(r, &files, e);
    results_folder_close(&folder);
    return s;
}

static int by_frame(const void *a, const void *b)
{
    const uint64_t left = ((const struct indexed_lattice *)a)->frame;
    const uint64_t right = ((const struct indexed_lattice *)b)->frame;
    return (left > right) - (left < right);
}

enum status indexed_read(struct indexed *d, const struct opt_texts *paths,
                         const struct experiment *x, struct error *e)
{
    struct reader r = {.to = d, .x = x};
    struct results_files files[OPT_TEXTS_MAX + 1];
    size_t count = 0;
    enum status s = results_pair(paths->text, paths->count, files, &count, e);
    for (size_t i = 0; i < count && !s; i++) {
        const size_t before = d->count;
        s = results_folder_is(files[i].path) ? read_folder(&r, files[i].path, e)
                                             : read_files(&r, &files[i], e);
        if (!s && d->count == before)
            s = error_set(e, STATUS_INPUT, "%s: holds no lattice", files[i].path);
    }
    nxmx_rows_free(&r.rows);
    results_unpair(files, count);
    if (!s)
        qsort(d->lattices, d->count, sizeof *d->lattices, by_frame);
    return s;
}

void indexed_free(struct indexed *d)
{
    mem_free(d->lattices);
    *d = (struct indexed){0};
}

const struct indexed_lattice *indexed_find(const struct indexed *d, uint64_t frame, size_t *count)
{
    const struct indexed_lattice key = {.frame = frame};
    const struct indexed_lattice *at =
        d->count ? bsearch(&key, d->lattices, d->count, sizeof key, by_frame) : NULL;
    *count = 0;
    while (at && at > d->lattices && at[-1].frame == frame)
        at--;
    while (at && at + *count < d->lattices + d->count && at[*count].frame == frame)
        ++*count;
    return at;
}

/* --- starts ----------------------------------------------------------------------------- */

/* Columns a*, b*, c* at phi 0. */
static void columns_of(const struct lattice *l, double columns[9])
{
    for (int i = 0; i < 9; i++)
        columns[i] = l->reciprocal_A[3 * (i % 3) + i / 3];
}

/* What was found, turned back to phi 0. */
static void turn_back(const struct experiment *x, const struct recipe *r, const double found[9],
                      double out[9])
{
    const double middle_rad = r->phi_rad + 0.5 * r->osc_rad;
    for (int column = 0; column < 3; column++) {
        double v[3] = {found[column], found[3 + column], found[6 + column]};
        if (middle_rad != 0.0)
            vec_rotate_axis(v, x->spindle, -middle_rad);
        for (int i = 0; i < 3; i++)
            out[3 * i + column] = v[i];
    }
}

/* Moves the lattice of `from` that has the cell which was found into *to, turned as it was found;
 * false when none has. */
static bool take_setting(const struct experiment *x, struct recipe *from,
                         const struct indexed_lattice *found, struct lattice *to)
{
    double columns[9], at_zero[9], turn[9], best = METRIC_TOLERANCE;
    struct lattice *chosen = NULL;
    turn_back(x, from, found->a_matrix, at_zero);
    for (size_t i = 0; i < from->nlattices; i++) {
        double its[9];
        columns_of(&from->lattices[i], columns);
        const double off = lattices_setting(columns, at_zero, its);
        if (off < best) {
            best = off;
            chosen = &from->lattices[i];
            memcpy(turn, its, sizeof turn);
        }
    }
    if (!chosen)
        return false;
    *to = *chosen;
    *chosen = (struct lattice){0};
    lattice_turn(x, to, turn);
    return true;
}

enum status indexed_start(const struct experiment *x, const struct recipe *pattern,
                          const struct indexed_lattice *found, size_t count, struct recipe *start,
                          struct error *e)
{
    if (!recipe_copy(start, pattern))
        return error_memory(e, "a recipe");
    struct lattice *lattices = mem_array(count, sizeof *lattices);
    size_t nlattices = 0;
    bool good = lattices;
    for (size_t i = 0; i < count && good; i++) {
        struct recipe copy;
        good = recipe_copy(&copy, pattern);
        nlattices += good && take_setting(x, &copy, &found[i], &lattices[nlattices]);
        recipe_free(&copy);
    }
    struct recipe former = *start;
    start->lattices = lattices;
    start->nlattices = nlattices;
    former.sources = NULL;
    recipe_free(&former);
    return good ? STATUS_OK : error_memory(e, "a recipe");
}
