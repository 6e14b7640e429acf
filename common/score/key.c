#include "score/key.h"

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

static enum status agree_detector(const struct key_part *a, const struct key_part *b,
                                  struct error *e)
{
    const struct nxmx_geometry *x = &a->detector, *y = &b->detector;
    if (a->tells.no_detector && (isnan(a->tells.panel0) || isnan(b->tells.panel0)))
        return STATUS_OK;
    if (a->tells.no_detector && fabs(a->tells.panel0 - b->tells.panel0) < 1e-3)
        return STATUS_OK;
    if (!a->tells.no_detector && x->npanels != y->npanels)
        return error_set(
            e, STATUS_INPUT,
            "%s has %zu panels, but %s has %zu; expected the same detector in all ground truths",
            b->path, y->npanels, a->path, x->npanels);
    for (size_t i = 0; i < x->npanels; i++)
        if (a->tells.no_detector || !same_panel(&x->panels[i], &y->panels[i]))
            return error_set(e, STATUS_INPUT,
                             "%s: panel %zu differs from that of %s; expected the same detector in "
                             "all ground truths",
                             b->path, i, a->path);
    return STATUS_OK;
}

/* Checks that two parts contain the same kinds of data, from the same detector and rotation axis.
 * STATUS_INPUT: they do not. */
static enum status agree_parts(const struct key_part *a, const struct key_part *b, struct error *e)
{
    const double both = vec_dot(a->spindle, a->spindle) * vec_dot(b->spindle, b->spindle);
    if (!same_text(a->tells.no_spots, b->tells.no_spots) ||
        !same_text(a->tells.no_lattices, b->tells.no_lattices) ||
        !same_text(a->tells.no_detector, b->tells.no_detector) ||
        a->tells.summed != b->tells.summed)
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
static enum status agree_crystals(const struct key *k, const struct nxmx_lattice **known,
                                  const struct key_part *p, struct error *e)
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
                             first[2], k->parts->path);
    }
    return STATUS_OK;
}

static enum status check_crystals(const struct key *k, struct error *e)
{
    const struct nxmx_lattice *known[CRYSTALS_MAX] = {NULL};
    enum status s = STATUS_OK;
    for (size_t i = 0; i < k->nparts && !s && !k->tells.no_lattices; i++)
        s = agree_crystals(k, known, &k->parts[i], e);
    return s;
}

/* --- the order ------------------------------------------------------------------------ */

/* A frame of a part, before its place in the key is known. */
struct entry {
    uint64_t number;
    size_t part, frame, lattice;  // part; frame and first lattice in that part
    bool filled;                  // the part does not list this frame (key_part.fills)
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

static struct entry *list_entries(const struct key *k, size_t *count, size_t *nlattices)
{
    *count = *nlattices = 0;
    for (size_t i = 0; i < k->nparts; i++)
        *count += k->parts[i].nframes;
    struct entry *list = mem_array(*count, sizeof *list), *next = list;
    for (size_t i = 0; list && i < k->nparts; i++) {
        struct entry at = {.part = i};
        const struct key_part *p = &k->parts[i];
        for (; at.frame < p->nframes; at.frame++) {
            const struct nxmx_frame *f = &p->rows.frames[at.frame];
            at.number = f->number;
            at.filled = p->fills && !f->lattices;
            *next++ = at;
            at.lattice += (size_t)f->lattices;
        }
        *nlattices += at.lattice;
    }
    if (list)
        qsort(list, *count, sizeof *list, in_order);
    return list;
}

/* Returns true if results can identify which of two frames with the same number is meant.  This
 * is the case for different stills in NXmx files, because an analysis can read these files and
 * name them. */
static bool may_be_twice(const struct key *k, const struct entry *a, const struct entry *b)
{
    const struct key_part *p = &k->parts[a->part], *q = &k->parts[b->part];
    return p->on_disk && q->on_disk && p->rows.frames[a->frame].rotation_width == 0.0 &&
           !nxmx_rows_agree(&p->rows, &q->rows, a->number);
}

/* Checks entry `at` against the previous entries with the same number.  STATUS_INPUT: both cannot
 * be in one key. */
static enum status check_twice(const struct key *k, const struct entry *list, size_t at,
                               struct error *e)
{
    for (size_t i = at; i-- > 0 && list[i].number == list[at].number;)
        if (!may_be_twice(k, &list[i], &list[at]))
            return error_set(
                e, STATUS_INPUT,
                "frame %" PRIu64 " is in %s and in %s; expected it in one ground truth",
                list[at].number, k->parts[list[i].part].path, k->parts[list[at].part].path);
    return STATUS_OK;
}

/* Appends a frame to those of the key. */
static void take_entry(struct key *k, const struct entry *at)
{
    struct nxmx_rows *r = &k->rows;
    struct key_part *p = &k->parts[at->part];
    const struct nxmx_frame *f = &p->rows.frames[at->frame];
    k->places[r->nframes] = (struct key_place){at->part, at->frame, r->nlattices};
    p->place[at->frame] = r->nframes;
    r->frames[r->nframes++] = *f;
    for (size_t i = 0; i < f->lattices; i++)
        r->lattices[r->nlattices++] = p->rows.lattices[at->lattice + i];
}

static enum status take_entries(struct key *k, const struct entry *list, size_t count,
                                struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        const bool again = i && list[i - 1].number == list[i].number;
        if (again && list[i].filled)
            k->parts[list[i].part].place[list[i].frame] = SIZE_MAX;
        else if (!(s = check_twice(k, list, i, e)))
            take_entry(k, &list[i]);
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

static enum status find_ones(struct key *k, struct error *e)
{
    bool some = false;
    k->one_of = mem_array(k->rows.nlattices + 1, sizeof *k->one_of);
    if (!k->one_of)
        return error_memory(e, "the ground truth");
    for (size_t i = 0; i < k->rows.nframes; i++) {
        const size_t first = k->places[i].lattice;
        some |= number_lattices(k->rows.lattices + first, (size_t)k->rows.frames[i].lattices,
                                k->one_of + first);
    }
    if (!some) {
        mem_free(k->one_of);
        k->one_of = NULL;
    }
    return STATUS_OK;
}

/* Moves the frames and lattices of all parts to k->rows, sorted by number and, for equal numbers,
 * by part.  STATUS_INPUT: a frame is in two parts, or the crystals differ. */
static enum status join_parts(struct key *k, struct error *e)
{
    size_t count, nlattices;
    struct entry *list = list_entries(k, &count, &nlattices);
    k->rows.frames = mem_array(count, sizeof *k->rows.frames);
    k->rows.lattices = mem_array(nlattices + 1, sizeof *k->rows.lattices);
    k->places = mem_array(count, sizeof *k->places);
    enum status s = list && k->rows.frames && k->rows.lattices && k->places
                        ? check_crystals(k, e)
                        : error_memory(e, "the ground truth");
    s = s ? s : take_entries(k, list, count, e);
    s = s || k->tells.no_lattices ? s : find_ones(k, e);
    mem_free(list);
    for (size_t i = 0; i < k->nparts; i++)
        nxmx_rows_free(&k->parts[i].rows);
    return s;
}

/* Limits of reflections that are read at a time, and that all files together may have in memory.
 * They are exceeded only if a frame and the frames that it reaches have more. */
enum { READ_ROWS = 1 << 14, ALL_ROWS = 1 << 16 };

/* Maximum number of files that stay open.  If there are more, a file is opened for each block of
 * reflections. */
enum { FILES_OPEN = 8 };

/* --- begin and end ------------------------------------------------------------- */

/* Sets the name of the key for messages. */
static enum status name_all(struct key *k, const char *const paths[], size_t npaths,
                            struct error *e)
{
    const size_t room = strlen(paths[0]) + 40;
    k->path = mem_array(room, 1);
    if (!k->path)
        return error_memory(e, "the ground truth");
    if (npaths == 1)
        (void)snprintf(k->path, room, "%s", paths[0]);
    else
        (void)snprintf(k->path, room, "%s and %zu more", paths[0], npaths - 1);
    return STATUS_OK;
}

/* Adds the properties in which parts may differ to those of the key. */
static void take_part(struct key *k, const struct key_part *p)
{
    k->tells.no_F2 |= p->tells.no_F2;
    k->tells.sent |= p->tells.sent;
    if (vec_dot(k->spindle, k->spindle) == 0.0)
        memcpy(k->spindle, p->spindle, sizeof k->spindle);
    if (p->detector.npanels > k->detector->npanels)  // the number of panels of a table is that of
                                                     // the panels that it names
        k->detector = &p->detector;
}

enum status key_open(struct key *k, const char *const paths[], size_t npaths, struct error *e)
{
    *k = (struct key){0};
    enum status s = name_all(k, paths, npaths, e);
    k->parts = mem_array(npaths, sizeof *k->parts);
    if (!s && !k->parts)
        return error_memory(e, "the ground truth");
    for (size_t i = 0; i < npaths && !s; i++) {
        struct key_part *p = &k->parts[k->nparts++];
        s = key_part_open(p, paths[i], e);
        p->stays_open = npaths <= FILES_OPEN;
        if (!i) {
            k->tells = p->tells;
            k->detector = &p->detector;
        }
        if (!s && i)
            s = agree_parts(k->parts, p, e);
        if (!s)
            take_part(k, p);
        if (!s && i && k->detector != &p->detector)
            nxmx_geometry_free(&p->detector);
    }
    return s ? s : join_parts(k, e);
}

void key_close(struct key *k)
{
    for (size_t i = 0; i < k->nparts; i++)
        key_part_close(&k->parts[i]);
    nxmx_rows_free(&k->rows);
    mem_free(k->parts);
    mem_free(k->places);
    mem_free(k->one_of);
    mem_free(k->rows_of_one);
    mem_free(k->lattices_of_one);
    mem_free(k->path);
    *k = (struct key){0};
}

/* --- frames ---------------------------------------------------------------------- */

/* Checks the rows of a frame.  If a file of a series is missing, HDF5 returns zeros for its
 * rows.  STATUS_INPUT: a row is not valid. */
static enum status check_rows(const struct key *k, const struct key_frame *f, struct error *e)
{
    for (size_t i = 0; i < f->nrows; i++) {
        const struct reflection_row *r = &f->rows[i];
        if (!(r->photons > 0.0) || !isfinite(r->fast + r->slow))
            return error_set(e, STATUS_INPUT,
                             "%s: cannot read the reflections of frame %" PRIu64
                             ". Is a file of the series missing?",
                             f->path, f->frame->number);
        if (r->lattice < 0 || (uint64_t)r->lattice >= f->frame->lattices || r->panel < 0 ||
            (size_t)r->panel >= k->detector->npanels)
            return error_set(e, STATUS_INPUT,
                             "%s: frame %" PRIu64 " has a reflection of a missing lattice or panel",
                             f->path, f->frame->number);
    }
    return STATUS_OK;
}

/* Frees the reflections of files that are not needed now, if all reflections in memory exceed the
 * limit. */
static void forget(struct key *k)
{
    size_t rows = 0;
    for (size_t i = 0; i < k->nparts; i++)
        rows += k->parts[i].on_disk ? k->parts[i].nblock : 0;
    for (size_t i = 0; i < k->nparts && rows > ALL_ROWS; i++)
        if (k->parts[i].on_disk && !k->parts[i].wanted) {
            rows -= k->parts[i].nblock;
            key_part_forget(&k->parts[i]);
        }
}

/* Reads the reflections of those frames of [first, last] that are in one part.  They are next to
 * each other in that part. */
static enum status reach_part(struct key *k, size_t part, size_t first, size_t last,
                              struct error *e)
{
    struct key_part *p = &k->parts[part];
    size_t from = SIZE_MAX, to = 0;
    for (size_t i = first; i <= last; i++)
        if (k->places[i].part == part) {
            from = k->places[i].frame < from ? k->places[i].frame : from;
            to = k->places[i].frame > to ? k->places[i].frame : to;
        }
    const size_t share = ALL_ROWS / k->nparts, most = share < READ_ROWS ? share : READ_ROWS;
    return key_part_reach(p, from, to, most, k->rows.frames[first].number, e);
}

static enum status reach_all(struct key *k, size_t first, size_t last, struct error *e)
{
    enum status s = STATUS_OK;
    for (size_t i = first; i <= last && !s; i++) {
        struct key_part *p = &k->parts[k->places[i].part];
        if (!p->wanted)
            s = reach_part(k, k->places[i].part, first, last, e);
        p->wanted = true;
    }
    forget(k);
    for (size_t i = first; i <= last; i++)
        k->parts[k->places[i].part].wanted = false;
    return s;
}

/* Compares a row with a lattice and an index, for the order of the rows of a frame: by lattice,
 * then by index. */
static int compare(const struct reflection_row *r, int32_t lattice, const int32_t hkl[3])
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
    return compare(x, y->lattice, y->hkl);
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
static int32_t number_of(const struct key *k, size_t place, size_t lattice)
{
    return k->one_of ? k->one_of[k->places[place].lattice + lattice] : (int32_t)lattice;
}

static bool has_ones(const struct key *k, size_t place)
{
    const size_t n = (size_t)k->rows.frames[place].lattices;
    return n && number_of(k, place, n - 1) + 1 < (int32_t)n;
}

static enum status join_lattices(struct key *k, size_t place, struct key_frame *f, struct error *e)
{
    const size_t n = (size_t)f->frame->lattices;
    struct nxmx_lattice *lattices =
        mem_grow(k->lattices_of_one, 0, n, sizeof *lattices, &k->one_lattices);
    k->lattices_of_one = lattices ? lattices : k->lattices_of_one;
    struct reflection_row *rows =
        mem_grow(k->rows_of_one, 0, f->nrows + 1, sizeof *rows, &k->one_rows);
    k->rows_of_one = rows ? rows : k->rows_of_one;
    if (!lattices || !rows)
        return error_memory(e, "the ground truth");
    k->one = *f->frame;
    k->one.lattices = 0;
    for (size_t i = 0; i < n; i++)
        if (number_of(k, place, i) == (int32_t)k->one.lattices)
            lattices[k->one.lattices++] = f->lattices[i];
    for (size_t i = 0; i < f->nrows; i++) {
        rows[i] = f->rows[i];
        rows[i].lattice = number_of(k, place, (size_t)rows[i].lattice);
    }
    if (f->nrows)
        qsort(rows, f->nrows, sizeof *rows, by_place);
    size_t count = 0;
    for (size_t i = 0; i < f->nrows; i++)
        if (count && by_place(&rows[count - 1], &rows[i]) == 0)
            add_row(&rows[count - 1], &rows[i]);
        else
            rows[count++] = rows[i];
    f->frame = &k->one;
    f->lattices = lattices;
    f->rows = rows;
    f->nrows = count;
    f->has_ones = true;
    return STATUS_OK;
}

enum status key_frame(struct key *k, size_t place, size_t reach, struct key_frame *f,
                      struct error *e)
{
    const size_t first = place > reach ? place - reach : 0,
                 last = reach < k->rows.nframes - 1 - place ? place + reach : k->rows.nframes - 1;
    const struct key_place *at = &k->places[place];
    const enum status s = reach_all(k, first, last, e);
    if (s)
        return s;
    const struct key_part *p = &k->parts[at->part];
    *f = (struct key_frame){.place = place,
                            .frame = &k->rows.frames[place],
                            .path = p->path,
                            .lattices = k->rows.lattices + at->lattice};
    f->rows = key_part_rows(p, at->frame, &f->nrows);
    const enum status bad = check_rows(k, f, e);
    return bad || !has_ones(k, place) ? bad : join_lattices(k, place, f, e);
}

static const struct reflection_row *find_row(const struct reflection_row *rows, size_t nrows,
                                             int32_t lattice, const int32_t hkl[3])
{
    size_t low = 0, high = nrows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = compare(&rows[middle], lattice, hkl);
        if (!order)
            return &rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool key_find(const struct key *k, size_t place, int32_t lattice, const int32_t hkl[3],
              struct reflection_row *row)
{
    size_t nrows;
    bool found = false;
    const struct key_place *at = &k->places[place];
    const struct reflection_row *rows = key_part_rows(&k->parts[at->part], at->frame, &nrows);
    const size_t all = (size_t)k->rows.frames[place].lattices;
    const bool ones = has_ones(k, place);
    for (size_t i = ones ? 0 : (size_t)lattice; i < (ones ? all : (size_t)lattice + 1); i++) {
        const struct reflection_row *its =
            number_of(k, place, i) == lattice ? find_row(rows, nrows, (int32_t)i, hkl) : NULL;
        if (its && found)
            add_row(row, its);
        else if (its)
            *row = *its;
        found = found || its;
    }
    return found;
}

/* --- names ------------------------------------------------------------------------ */

enum status key_number(const struct key *k, uint64_t number, const struct key_part *named,
                       int64_t *place, struct error *e)
{
    const struct nxmx_frame *frames = k->rows.frames;
    const int64_t first = *place = nxmx_rows_find(&k->rows, number);
    const size_t next = (size_t)first + 1;
    if (first < 0 || next == k->rows.nframes || frames[next].number != number)
        return STATUS_OK;
    for (size_t i = (size_t)first; i < k->rows.nframes && frames[i].number == number; i++)
        if (&k->parts[k->places[i].part] == named) {
            *place = (int64_t)i;
            return STATUS_OK;
        }
    return error_set(
        e, STATUS_INPUT,
        "frame %" PRIu64 " is in %s and in %s; expected results that name the file of their images",
        number, k->parts[k->places[first].part].path, k->parts[k->places[next].part].path);
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

enum status key_named(const struct key *k, const char *file, const struct key_part **part,
                      struct error *e)
{
    int best = 0;
    bool twice = false;
    *part = NULL;
    for (size_t i = 0; i < k->nparts; i++) {
        const int fits = fit(file, k->parts[i].path);
        twice = fits > best ? false : twice || (fits && fits == best);
        if (fits > best) {
            best = fits;
            *part = &k->parts[i];
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

void key_a_matrix(const struct key *k, const struct nxmx_frame *f, const struct nxmx_lattice *l,
                  double a_matrix[9])
{
    const double middle_deg = f->rotation_start + 0.5 * f->rotation_width;
    for (int column = 0; column < 3; column++) {
        /* from NeXus to the coordinate system of the beam: x and y change their signs */
        double v[3] = {0.0 - l->a_matrix[column], 0.0 - l->a_matrix[3 + column],
                       l->a_matrix[6 + column]};
        if (middle_deg != 0.0)
            vec_rotate_axis(v, k->spindle, deg_to_rad(middle_deg));
        for (int i = 0; i < 3; i++)
            a_matrix[3 * i + column] = v[i];
    }
}
