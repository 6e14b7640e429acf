#include "score/truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "score/lattices.h"

/* --- agreement of the parts --------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

/* Returns true if two panels agree to a tenth of a pixel, which is the precision of streams and
 * tables. */
static bool same_panel(const struct geom_panel *a, const struct geom_panel *b)
{
    const double near_m = 0.1 * a->pixel_m;
    bool same = a->fast_pixels == b->fast_pixels && a->slow_pixels == b->slow_pixels &&
                fabs(a->pixel_m - b->pixel_m) * (double)a->fast_pixels < near_m;
    for (int i = 0; i < 3; i++)
        same = same && fabs(a->corner_m[i] - b->corner_m[i]) < near_m &&
               fabs(a->fast[i] - b->fast[i]) * (double)a->fast_pixels < 0.1 &&
               fabs(a->slow[i] - b->slow[i]) * (double)a->slow_pixels < 0.1;
    return same;
}

static enum status agree_detector(const struct truth_part *a, const struct truth_part *b,
                                  struct error *e)
{
    const struct nxmx_geometry *x = &a->detector, *y = &b->detector;
    if (a->facts.no_detector && (isnan(a->facts.panel0) || isnan(b->facts.panel0)))
        return STATUS_OK;
    if (a->facts.no_detector && fabs(a->facts.panel0 - b->facts.panel0) < 1e-3)
        return STATUS_OK;
    if (!a->facts.no_detector && x->npanels != y->npanels)
        return error_set(
            e, STATUS_INPUT,
            "%s has %zu panels, but %s has %zu; expected the same detector in all ground truths",
            b->path, y->npanels, a->path, x->npanels);
    for (size_t i = 0; i < x->npanels; i++)
        if (a->facts.no_detector || !same_panel(&x->panels[i], &y->panels[i]))
            return error_set(e, STATUS_INPUT,
                             "%s: panel %zu differs from that of %s; expected the same detector in "
                             "all ground truths",
                             b->path, i, a->path);
    return STATUS_OK;
}

/* Checks that two parts contain the same kinds of data, from the same detector and rotation axis.
 * STATUS_INPUT: they do not. */
static enum status agree_parts(const struct truth_part *a, const struct truth_part *b,
                               struct error *e)
{
    const double both = vec_dot(a->spindle, a->spindle) * vec_dot(b->spindle, b->spindle);
    if (!same_text(a->facts.no_spots, b->facts.no_spots) ||
        !same_text(a->facts.no_lattices, b->facts.no_lattices) ||
        !same_text(a->facts.no_detector, b->facts.no_detector) ||
        a->facts.summed != b->facts.summed)
        return error_set(
            e, STATUS_INPUT,
            "%s and %s contain different facts about frames; expected ground truths of one kind",
            a->path, b->path);
    if (both > 0.5 && vec_dot(a->spindle, b->spindle) < 1.0 - 1e-6)
        return error_set(
            e, STATUS_INPUT,
            "%s rotates about another axis than %s; expected ground truths of one experiment",
            b->path, a->path);
    return agree_detector(a, b, e);
}

/* --- crystals ------------------------------------------------------------------------ */

enum { CRYSTALS_MAX = 1000 };  // score_begin rejects higher numbers
static const double EDGE_TOLERANCE = 0.1;

/* Compares the first lattice of each crystal of a part with the first lattice of this crystal in
 * all parts. */
static enum status agree_crystals(const struct truth *t, const struct nxmx_lattice **known,
                                  const struct truth_part *p, struct error *e)
{
    bool seen[CRYSTALS_MAX] = {false};
    for (size_t i = 0; i < p->rows.nlattices; i++) {
        const struct nxmx_lattice *l = &p->rows.lattices[i];
        double cell[6], first[6];
        if (l->crystal >= CRYSTALS_MAX || seen[l->crystal])
            continue;
        seen[l->crystal] = true;
        if (!known[l->crystal])
            known[l->crystal] = l;
        else if (lattices_cell(l->a_matrix, cell) &&
                 lattices_cell(known[l->crystal]->a_matrix, first) &&
                 !lattices_same_edges(cell, first, EDGE_TOLERANCE))
            return error_set(e, STATUS_INPUT,
                             "%s: crystal %" PRIu64
                             " has edges of %.2f, %.2f, %.2f A, but previous ones have %.2f, %.2f, "
                             "%.2f A; expected the same crystals as in %s",
                             p->path, l->crystal, cell[0], cell[1], cell[2], first[0], first[1],
                             first[2], t->parts->path);
    }
    return STATUS_OK;
}

static enum status check_crystals(const struct truth *t, struct error *e)
{
    const struct nxmx_lattice *known[CRYSTALS_MAX] = {NULL};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < t->nparts && !s && !t->facts.no_lattices; i++)
        s = agree_crystals(t, known, &t->parts[i], e);
    return s;
}

/* --- the order of frames -------------------------------------------------------------- */

/* A frame of a part, before its place in the ground truth is known. */
struct entry {
    uint64_t number;
    size_t part, frame, lattice;  // part; frame and first lattice in that part
    bool filled;                  // the part does not list this frame (truth_part.fills)
};

/* Sorts entries by number.  For equal numbers, frames that a part lists precede those that it
 * does not list, and the parts are in order. */
static int in_order(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->filled != y->filled)
        return x->filled ? 1 : -1;
    return (x->part > y->part) - (x->part < y->part);
}

static struct entry *list_entries(const struct truth *t, size_t *count, size_t *nlattices)
{
    *count = *nlattices = 0;
    for (size_t i = 0; i < t->nparts; i++)
        *count += t->parts[i].nframes;
    struct entry *list = mem_array(*count, sizeof *list), *next = list;
    for (size_t i = 0; i < t->nparts; i++) {
        struct entry at = {.part = i};
        const struct truth_part *p = &t->parts[i];
        for (; at.frame < p->nframes; at.frame++) {
            const struct nxmx_frame *f = &p->rows.frames[at.frame];
            at.number = f->number;
            at.filled = p->fills && !f->lattices;
            *next++ = at;
            at.lattice += (size_t)f->lattices;
        }
        *nlattices += at.lattice;
    }
    qsort(list, *count, sizeof *list, in_order);
    return list;
}

/* Returns true if results can identify which of two frames with the same number is meant.  This
 * is the case for different stills in NXmx files, because an analysis can read these files and
 * name them. */
static bool may_be_twice(const struct truth *t, const struct entry *a, const struct entry *b)
{
    const struct truth_part *p = &t->parts[a->part], *q = &t->parts[b->part];
    return p->on_disk && q->on_disk && p->rows.frames[a->frame].rotation_width == 0.0 &&
           !nxmx_rows_agree(&p->rows, &q->rows, a->number);
}

/* Checks entry `at` against the previous entries with the same number.  STATUS_INPUT: both cannot
 * be in one ground truth. */
static enum status check_twice(const struct truth *t, const struct entry *list, size_t at,
                               struct error *e)
{
    for (size_t i = at; i-- > 0 && list[i].number == list[at].number;)
        if (!may_be_twice(t, &list[i], &list[at]))
            return error_set(
                e, STATUS_INPUT,
                "frame %" PRIu64 " is in %s and in %s; expected it in one ground truth",
                list[at].number, t->parts[list[i].part].path, t->parts[list[at].part].path);
    return STATUS_OK;
}

/* Appends a frame to those of the ground truth. */
static void take_entry(struct truth *t, const struct entry *at)
{
    struct nxmx_rows *r = &t->rows;
    struct truth_part *p = &t->parts[at->part];
    const struct nxmx_frame *f = &p->rows.frames[at->frame];
    t->places[r->nframes] = (struct truth_place){at->part, at->frame, r->nlattices};
    p->place[at->frame] = r->nframes;
    r->frames[r->nframes++] = *f;
    for (size_t i = 0; i < f->lattices; i++)
        r->lattices[r->nlattices++] = p->rows.lattices[at->lattice + i];
}

static enum status take_entries(struct truth *t, const struct entry *list, size_t count,
                                struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        const bool again = i && list[i - 1].number == list[i].number;
        if (again && list[i].filled)
            t->parts[list[i].part].place[list[i].frame] = SIZE_MAX;
        else if (!(s = check_twice(t, list, i, e)))
            take_entry(t, &list[i]);
    }
    return s;
}

/* Numbers the lattices of a frame.  Equal lattices (lattices_are_one) get the same number.
 * Returns true if some are equal. */
static bool number_lattices(const struct nxmx_lattice *l, size_t n, int32_t *one_of)
{
    int32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        one_of[i] = -1;
        for (size_t j = 0; j < i && one_of[i] < 0; j++)
            if (lattices_are_one(l[j].a_matrix, l[i].a_matrix))
                one_of[i] = one_of[j];
        if (one_of[i] < 0)
            one_of[i] = next++;
    }
    return next < (int32_t)n;
}

static void find_ones(struct truth *t)
{
    bool some = false;
    t->one_of = mem_array(t->rows.nlattices + 1, sizeof *t->one_of);
    for (size_t i = 0; i < t->rows.nframes; i++) {
        const size_t first = t->places[i].lattice;
        some |= number_lattices(t->rows.lattices + first, (size_t)t->rows.frames[i].lattices,
                                t->one_of + first);
    }
    if (!some) {
        mem_free(t->one_of);
        t->one_of = NULL;
    }
}

/* Moves the frames and lattices of all parts to t->rows, sorted by number and, for equal numbers,
 * by part.  STATUS_INPUT: a frame is in two parts, or the crystals differ. */
static enum status join_parts(struct truth *t, struct error *e)
{
    size_t count, nlattices;
    struct entry *list = list_entries(t, &count, &nlattices);
    t->rows.frames = mem_array(count, sizeof *t->rows.frames);
    t->rows.lattices = mem_array(nlattices + 1, sizeof *t->rows.lattices);
    t->places = mem_array(count, sizeof *t->places);
    enum status s = check_crystals(t, e);
    s = s ? s : take_entries(t, list, count, e);
    if (!s && !t->facts.no_lattices)
        find_ones(t);
    mem_free(list);
    for (size_t i = 0; i < t->nparts; i++)
        nxmx_rows_free(&t->parts[i].rows);
    return s;
}

/* Limits of reflections that are read at a time, and that all files together may have in memory.
 * They are exceeded only if a frame and the frames that it reaches have more. */
enum { READ_ROWS = 1 << 14, ALL_ROWS = 1 << 16 };

/* Maximum number of files that stay open.  If there are more, a file is opened for each block of
 * reflections. */
enum { FILES_OPEN = 8 };

/* --- begin and end ------------------------------------------------------------- */

/* Sets the name of the ground truth for messages. */
static void name_all(struct truth *t, const char *const paths[], size_t npaths)
{
    const size_t room = strlen(paths[0]) + 40;
    t->path = mem_array(room, 1);
    if (npaths == 1)
        (void)snprintf(t->path, room, "%s", paths[0]);
    else
        (void)snprintf(t->path, room, "%s and %zu more", paths[0], npaths - 1);
}

/* Adds the properties in which parts may differ to those of the ground truth. */
static void take_part(struct truth *t, const struct truth_part *p)
{
    t->facts.no_F2 |= p->facts.no_F2;
    t->facts.no_background |= p->facts.no_background;
    t->facts.sent |= p->facts.sent;
    if (vec_dot(t->spindle, t->spindle) == 0.0)
        memcpy(t->spindle, p->spindle, sizeof t->spindle);
    if (p->detector.npanels > t->detector->npanels)  // the number of panels of a table is that of
                                                     // the panels that it names
        t->detector = &p->detector;
}

enum status truth_open(struct truth *t, const char *const paths[], size_t npaths, struct error *e)
{
    *t = (struct truth){0};
    enum status s = STATUS_OK;
    name_all(t, paths, npaths);
    t->parts = mem_array(npaths, sizeof *t->parts);
    for (size_t i = 0; i < npaths && !s; i++) {
        struct truth_part *p = &t->parts[t->nparts++];
        s = truth_part_open(p, paths[i], e);
        p->stays_open = npaths <= FILES_OPEN;
        if (!i) {
            t->facts = p->facts;
            t->detector = &p->detector;
        }
        if (!s && i)
            s = agree_parts(t->parts, p, e);
        if (!s)
            take_part(t, p);
        if (!s && i && t->detector != &p->detector)
            nxmx_geometry_free(&p->detector);
    }
    return s ? s : join_parts(t, e);
}

void truth_close(struct truth *t)
{
    for (size_t i = 0; i < t->nparts; i++)
        truth_part_close(&t->parts[i]);
    nxmx_rows_free(&t->rows);
    mem_free(t->parts);
    mem_free(t->places);
    mem_free(t->one_of);
    mem_free(t->rows_of_one);
    mem_free(t->lattices_of_one);
    mem_free(t->path);
    *t = (struct truth){0};
}

/* --- frames ---------------------------------------------------------------------- */

/* Checks the rows of a frame.  If a file of a series is missing, HDF5 returns zeros for its
 * rows.  STATUS_INPUT: a row is not valid. */
static enum status check_rows(const struct truth *t, const struct truth_frame *f, struct error *e)
{
    for (size_t i = 0; i < f->nrows; i++) {
        const struct reflection_row *r = &f->rows[i];
        if (!(r->photons > 0.0) || !isfinite(r->fast + r->slow))
            return error_set(e, STATUS_INPUT,
                             "%s: cannot read the reflections of frame %" PRIu64
                             ". Is a file of the series missing?",
                             f->path, f->frame->number);
        if (r->lattice < 0 || (uint64_t)r->lattice >= f->frame->lattices || r->panel < 0 ||
            (size_t)r->panel >= t->detector->npanels)
            return error_set(e, STATUS_INPUT,
                             "%s: frame %" PRIu64 " has a reflection of a missing lattice or panel",
                             f->path, f->frame->number);
    }
    return STATUS_OK;
}

/* Frees the reflections of files that are not needed now, if all reflections in memory exceed the
 * limit. */
static void forget_files(struct truth *t)
{
    size_t rows = 0;
    for (size_t i = 0; i < t->nparts; i++)
        rows += t->parts[i].on_disk ? t->parts[i].nblock : 0;
    for (size_t i = 0; i < t->nparts && rows > ALL_ROWS; i++)
        if (t->parts[i].on_disk && !t->parts[i].wanted) {
            rows -= t->parts[i].nblock;
            truth_part_forget(&t->parts[i]);
        }
}

/* Reads the reflections of those frames of [first, last] that are in one part.  They are next to
 * each other in that part. */
static enum status reach_part(struct truth *t, size_t part, size_t first, size_t last,
                              struct error *e)
{
    struct truth_part *p = &t->parts[part];
    size_t from = SIZE_MAX, to = 0;
    for (size_t i = first; i <= last; i++)
        if (t->places[i].part == part) {
            from = t->places[i].frame < from ? t->places[i].frame : from;
            to = t->places[i].frame > to ? t->places[i].frame : to;
        }
    const size_t share = ALL_ROWS / t->nparts, most = share < READ_ROWS ? share : READ_ROWS;
    return truth_part_reach(p, from, to, most, t->rows.frames[first].number, e);
}

static enum status reach_all(struct truth *t, size_t first, size_t last, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = first; i <= last && !s; i++) {
        struct truth_part *p = &t->parts[t->places[i].part];
        if (!p->wanted)
            s = reach_part(t, t->places[i].part, first, last, e);
        p->wanted = true;
    }
    forget_files(t);
    for (size_t i = first; i <= last; i++)
        t->parts[t->places[i].part].wanted = false;
    return s;
}

/* Compares a row with a lattice and an index, for the order of the rows of a frame: by lattice,
 * then by index. */
static int compare_row(const struct reflection_row *r, int32_t lattice, const int32_t hkl[3])
{
    if (r->lattice != lattice)
        return r->lattice < lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (r->hkl[i] != hkl[i])
            return r->hkl[i] < hkl[i] ? -1 : 1;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct reflection_row *x = a, *y = b;
    return compare_row(x, y->lattice, y->hkl);
}

/* Adds a row of an equal lattice to *to.  The photons are summed.  Positions on the same panel
 * and the other values become means, weighted by photons. */
static void add_row(struct reflection_row *to, const struct reflection_row *more)
{
    const double part = more->photons / (to->photons + more->photons);
    if (to->panel == more->panel) {
        to->fast += part * (more->fast - to->fast);
        to->slow += part * (more->slow - to->slow);
    }
    to->phi_deg += part * (more->phi_deg - to->phi_deg);
    to->s_1_A += part * (more->s_1_A - to->s_1_A);
    to->F2 += (float)part * (more->F2 - to->F2);
    to->peak += more->peak;
    to->photons += more->photons;
}

/* Returns the number of a lattice in its frame, if equal lattices are counted once. */
static int32_t number_of(const struct truth *t, size_t place, size_t lattice)
{
    return t->one_of ? t->one_of[t->places[place].lattice + lattice] : (int32_t)lattice;
}

static bool has_ones(const struct truth *t, size_t place)
{
    const size_t n = (size_t)t->rows.frames[place].lattices;
    return n && number_of(t, place, n - 1) + 1 < (int32_t)n;
}

static void join_lattices(struct truth *t, size_t place, struct truth_frame *f)
{
    const size_t n = (size_t)f->frame->lattices;
    struct nxmx_lattice *lattices =
        mem_grow(t->lattices_of_one, 0, n, sizeof *lattices, &t->one_lattices);
    t->lattices_of_one = lattices;
    struct reflection_row *rows =
        mem_grow(t->rows_of_one, 0, f->nrows + 1, sizeof *rows, &t->one_rows);
    t->rows_of_one = rows;
    t->one = *f->frame;
    t->one.lattices = 0;
    for (size_t i = 0; i < n; i++)
        if (number_of(t, place, i) == (int32_t)t->one.lattices)
            lattices[t->one.lattices++] = f->lattices[i];
    for (size_t i = 0; i < f->nrows; i++) {
        rows[i] = f->rows[i];
        rows[i].lattice = number_of(t, place, (size_t)rows[i].lattice);
    }
    if (f->nrows)
        qsort(rows, f->nrows, sizeof *rows, by_place);
    size_t count = 0;
    for (size_t i = 0; i < f->nrows; i++)
        if (count && by_place(&rows[count - 1], &rows[i]) == 0)
            add_row(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    f->frame = &t->one;
    f->lattices = lattices;
    f->rows = rows;
    f->nrows = count;
    f->has_ones = true;
}

enum status truth_frame(struct truth *t, size_t place, size_t reach, struct truth_frame *f,
                        struct error *e)
{
    const size_t first = place > reach ? place - reach : 0,
                 last = reach < t->rows.nframes - 1 - place ? place + reach : t->rows.nframes - 1;
    const struct truth_place *at = &t->places[place];
    const enum status s = reach_all(t, first, last, e);
    if (s)
        return s;
    const struct truth_part *p = &t->parts[at->part];
    *f = (struct truth_frame){.place = place,
                              .frame = &t->rows.frames[place],
                              .path = p->path,
                              .lattices = t->rows.lattices + at->lattice};
    f->rows = truth_part_rows(p, at->frame, &f->nrows);
    const enum status bad = check_rows(t, f, e);
    if (!bad && has_ones(t, place))
        join_lattices(t, place, f);
    return bad;
}

static const struct reflection_row *find_row(const struct reflection_row *rows, size_t nrows,
                                             int32_t lattice, const int32_t hkl[3])
{
    size_t low = 0, high = nrows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = compare_row(&rows[middle], lattice, hkl);
        if (!order)
            return &rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool truth_find(const struct truth *t, size_t place, int32_t lattice, const int32_t hkl[3],
                struct reflection_row *row)
{
    size_t nrows;
    bool found = false;
    const struct truth_place *at = &t->places[place];
    const struct reflection_row *rows = truth_part_rows(&t->parts[at->part], at->frame, &nrows);
    const size_t all = (size_t)t->rows.frames[place].lattices;
    const bool ones = has_ones(t, place);
    for (size_t i = ones ? 0 : (size_t)lattice; i < (ones ? all : (size_t)lattice + 1); i++) {
        const struct reflection_row *its =
            number_of(t, place, i) == lattice ? find_row(rows, nrows, (int32_t)i, hkl) : NULL;
        if (its && found)
            add_row(row, its);
        else if (its)
            *row = *its;
        found = found || its;
    }
    return found;
}

/* --- names ------------------------------------------------------------------------ */

enum status truth_number(const struct truth *t, uint64_t number, const struct truth_part *named,
                         int64_t *place, struct error *e)
{
    const struct nxmx_frame *frames = t->rows.frames;
    const int64_t first = *place = nxmx_rows_find(&t->rows, number);
    const size_t next = (size_t)first + 1;
    if (first < 0 || next == t->rows.nframes || frames[next].number != number)
        return STATUS_OK;
    for (size_t i = (size_t)first; i < t->rows.nframes && frames[i].number == number; i++)
        if (&t->parts[t->places[i].part] == named) {
            *place = (int64_t)i;
            return STATUS_OK;
        }
    return error_set(
        e, STATUS_INPUT,
        "frame %" PRIu64 " is in %s and in %s; expected results that name the file of their images",
        number, t->parts[t->places[first].part].path, t->parts[t->places[next].part].path);
}

/* Returns how well the name of a file matches a path: 2 if it is the whole path or ends with the
 * path, 1 if the last parts agree, 0 if they do not. */
static int fit(const char *file, const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path,
               *file_slash = strrchr(file, '/'), *file_last = file_slash ? file_slash + 1 : file;
    const size_t length = strlen(path), file_length = strlen(file);
    if (file_length >= length && strcmp(file + file_length - length, path) == 0 &&
        (file_length == length || file[file_length - length - 1] == '/'))
        return 2;
    return strcmp(last, file_last) == 0;
}

enum status truth_named(const struct truth *t, const char *file, const struct truth_part **part,
                        struct error *e)
{
    int best = 0;
    bool twice = false;
    *part = NULL;
    for (size_t i = 0; i < t->nparts; i++) {
        const int fits = fit(file, t->parts[i].path);
        twice = fits > best ? false : twice || (fits && fits == best);
        if (fits > best) {
            best = fits;
            *part = &t->parts[i];
        }
    }
    if (!twice)
        return STATUS_OK;
    *part = NULL;
    return error_set(e, STATUS_INPUT,
                     "the image name %s matches several ground truths. Give them with the paths "
                     "that the analysis used",
                     file);
}

/* --- lattices ----------------------------------------------------------------------- */

void truth_a_matrix(const struct truth *t, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                    double a_matrix[9])
{
    const double middle_deg = f->rotation_start + 0.5 * f->rotation_width;
    for (int column = 0; column < 3; column++) {
        /* from NeXus to the coordinate system of the beam: x and y change their signs */
        double v[3] = {0.0 - l->a_matrix[column], 0.0 - l->a_matrix[3 + column],
                       l->a_matrix[6 + column]};
        if (middle_deg != 0.0)
            vec_rotate_axis(v, t->spindle, deg_to_rad(middle_deg));
        for (int i = 0; i < 3; i++)
            a_matrix[3 * i + column] = v[i];
    }
}
