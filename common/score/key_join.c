#include "score/key_join.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "score/lattices.h"

/* --- what parts have in common ----------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

/* To a tenth of a pixel, where streams and tables round. */
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
        return error_set(e, STATUS_INPUT,
                         "%s: has %zu panels, %s has %zu: keys must be of one detector", b->path,
                         y->npanels, a->path, x->npanels);
    for (size_t i = 0; i < x->npanels; i++)
        if (a->tells.no_detector || !same_panel(&x->panels[i], &y->panels[i]))
            return error_set(e, STATUS_INPUT,
                             "%s: panel %zu is not as in %s: keys must be of one detector", b->path,
                             i, a->path);
    return STATUS_OK;
}

enum status key_agree(const struct key_part *a, const struct key_part *b, struct error *e)
{
    const double both = vec_dot(a->spindle, a->spindle) * vec_dot(b->spindle, b->spindle);
    if (!same_text(a->tells.no_spots, b->tells.no_spots) ||
        !same_text(a->tells.no_lattices, b->tells.no_lattices) ||
        !same_text(a->tells.no_detector, b->tells.no_detector) ||
        a->tells.summed != b->tells.summed)
        return error_set(e, STATUS_INPUT,
                         "%s and %s tell different things of frames: several keys must be of one "
                         "kind",
                         a->path, b->path);
    if (both > 0.5 && vec_dot(a->spindle, b->spindle) < 1.0 - 1e-6)
        return error_set(e, STATUS_INPUT,
                         "%s: turns about another axis than %s: keys must be of one experiment",
                         b->path, a->path);
    return agree_detector(a, b, e);
}

/* --- crystals ------------------------------------------------------------------------ */

enum { CRYSTALS_MAX = 1000 };  // others are refused later
static const double EDGE_TOLERANCE = 0.1;

/* The first lattice of each crystal of a part is compared with the first of all. */
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
                             " has edges of %.2f, %.2f, %.2f A, before it %.2f, %.2f, %.2f A: keys "
                             "must be of the same crystals as %s",
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

/* A frame of a part, before it has its place. */
struct entry {
    uint64_t number;
    size_t part, frame, lattice;  // its first one in the part
    bool filled;                  // the part does not name it
};

/* By number, frames that are named first, then by part. */
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

/* Whether images can tell which of two frames is meant: stills in files that may be analysed. */
static bool may_be_twice(const struct key *k, const struct entry *a, const struct entry *b)
{
    const struct key_part *p = &k->parts[a->part], *q = &k->parts[b->part];
    return p->on_disk && q->on_disk && p->rows.frames[a->frame].rotation_width == 0.0 &&
           !nxmx_rows_agree(&p->rows, &q->rows, a->number);
}

/* Of entry `at` against those before it with its number. */
static enum status check_twice(const struct key *k, const struct entry *list, size_t at,
                               struct error *e)
{
    for (size_t i = at; i-- > 0 && list[i].number == list[at].number;)
        if (!may_be_twice(k, &list[i], &list[at]))
            return error_set(
                e, STATUS_INPUT, "frame %" PRIu64 " is in %s and in %s, must be in one key",
                list[at].number, k->parts[list[i].part].path, k->parts[list[at].part].path);
    return STATUS_OK;
}

/* Puts a frame behind those of the key. */
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

/* Numbers the lattices of a frame so that those which are one have the same number. */
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
        return error_memory(e, "the answer key");
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

enum status key_join(struct key *k, struct error *e)
{
    size_t count, nlattices;
    struct entry *list = list_entries(k, &count, &nlattices);
    k->rows.frames = mem_array(count, sizeof *k->rows.frames);
    k->rows.lattices = mem_array(nlattices + 1, sizeof *k->rows.lattices);
    k->places = mem_array(count, sizeof *k->places);
    enum status s = list && k->rows.frames && k->rows.lattices && k->places
                        ? check_crystals(k, e)
                        : error_memory(e, "the answer key");
    s = s ? s : take_entries(k, list, count, e);
    s = s || k->tells.no_lattices ? s : find_ones(k, e);
    mem_free(list);
    for (size_t i = 0; i < k->nparts; i++)
        nxmx_rows_free(&k->parts[i].rows);
    return s;
}
