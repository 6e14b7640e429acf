#include "score/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "score/lattices.h"

void answer_clear(struct answer *a)
{
    *a = (struct answer){
        .spots = a->spots,
        .passing = a->passing,
        .lattices = a->lattices,
        .reflections = a->reflections,
        .spots_room = a->spots_room,
        .passing_room = a->passing_room,
        .lattices_room = a->lattices_room,
        .reflections_room = a->reflections_room,
    };
}

struct answer_spot *answer_add_spot(struct answer *a)
{
    a->spots = mem_grow(a->spots, a->nspots, 1, sizeof *a->spots, &a->spots_room);
    a->spots[a->nspots] = (struct answer_spot){0};
    return &a->spots[a->nspots++];
}

struct answer_spot *answer_add_passing(struct answer *a)
{
    a->passing = mem_grow(a->passing, a->npassing, 1, sizeof *a->passing, &a->passing_room);
    a->passing[a->npassing] = (struct answer_spot){0};
    return &a->passing[a->npassing++];
}

struct answer_lattice *answer_add_lattice(struct answer *a)
{
    a->lattices = mem_grow(a->lattices, a->nlattices, 1, sizeof *a->lattices, &a->lattices_room);
    a->lattices[a->nlattices] = (struct answer_lattice){.first = a->nreflections};
    return &a->lattices[a->nlattices++];
}

struct answer_reflection *answer_add_reflection(struct answer *a)
{
    a->reflections =
        mem_grow(a->reflections, a->nreflections, 1, sizeof *a->reflections, &a->reflections_room);
    a->reflections[a->nreflections] = (struct answer_reflection){0};
    return &a->reflections[a->nreflections++];
}

/* --- equal lattices and spots -------------------------------------------------- */

static int by_hkl(const void *a, const void *b)
{
    const struct answer_reflection *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

/* Appends the reflections of both lattices to the answer.  Reflections with the same index become
 * one. */
static void join_lattices(struct answer *a, struct answer_lattice *l,
                          const struct answer_lattice *more)
{
    const size_t first = a->nreflections, count = l->count + more->count;
    for (size_t i = 0; i < count; i++) {
        struct answer_reflection *new = answer_add_reflection(a);
        *new = a->reflections[i < l->count ? l->first + i : more->first + i - l->count];
    }
    if (count)
        qsort(a->reflections + first, count, sizeof *a->reflections, by_hkl);
    size_t n = first;
    for (size_t i = first; i < first + count; i++) {
        const struct answer_reflection *r = &a->reflections[i];
        struct answer_reflection *last = n > first ? &a->reflections[n - 1] : NULL;
        if (last && by_hkl(last, r) == 0 && last->measured == r->measured) {
            last->intensity += r->intensity;
            last->sigma = hypot(last->sigma, r->sigma);
        } else {
            a->reflections[n++] = *r;
        }
    }
    a->nreflections = n;
    l->first = first;
    l->count = n - first;
}

static int by_place(const void *a, const void *b)
{
    const struct answer_spot *x = a, *y = b;
    if (x->panel != y->panel)
        return x->panel < y->panel ? -1 : 1;
    if (x->slow != y->slow)
        return x->slow < y->slow ? -1 : 1;
    return (x->fast > y->fast) - (x->fast < y->fast);
}

static void join_spots(struct answer *a)
{
    static const double SAME_PX = 1e-3;
    size_t n = 0;
    if (a->nspots)
        qsort(a->spots, a->nspots, sizeof *a->spots, by_place);
    for (size_t i = 0; i < a->nspots; i++) {
        const struct answer_spot *x = &a->spots[i];
        struct answer_spot *last = n ? &a->spots[n - 1] : NULL;
        if (last && last->panel == x->panel &&
            hypot(last->fast - x->fast, last->slow - x->slow) < SAME_PX)
            last->intensity += x->intensity;
        else
            a->spots[n++] = *x;
    }
    a->nspots = n;
}

void answer_join(struct answer *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->nlattices; i++) {
        size_t j = 0;
        while (j < n && !lattices_are_one(a->lattices[j].a_matrix, a->lattices[i].a_matrix))
            j++;
        if (j == n)
            a->lattices[n++] = a->lattices[i];
        else
            join_lattices(a, &a->lattices[j], &a->lattices[i]);
    }
    a->nlattices = n;
    join_spots(a);
}

void answer_free(struct answer *a)
{
    mem_free(a->spots);
    mem_free(a->passing);
    mem_free(a->lattices);
    mem_free(a->reflections);
    *a = (struct answer){0};
}

bool answer_frame_of_name(const char *path, uint64_t *frame)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    size_t end = dot ? (size_t)(dot - name) : strlen(name);
    while (end && !(name[end - 1] >= '0' && name[end - 1] <= '9'))
        end--;
    size_t first = end;
    while (first && end - first < 18 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    *frame = 0;
    for (size_t i = first; i < end; i++)
        *frame = 10 * *frame + (uint64_t)(name[i] - '0');
    return first < end;
}

/* --- pairs of found and true spots ------------------------------------------------------- */

static int by_panel_and_row(const void *a, const void *b, void *rows)
{
    const struct reflection_row *all = rows;
    const struct reflection_row *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
    if (x->panel != y->panel)
        return x->panel < y->panel ? -1 : 1;
    return (x->slow > y->slow) - (x->slow < y->slow);
}

/* Sorts pairs by distance, nearest first.  Pairs of equal distance keep the order of the lists. */
static int by_distance(const void *a, const void *b)
{
    const struct spots_pair *x = a, *y = b;
    if (x->distance2 != y->distance2)
        return x->distance2 < y->distance2 ? -1 : 1;
    if (x->found != y->found)
        return x->found < y->found ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns the first place in `order` whose row is not before (panel, slow). */
static size_t find_first(const uint32_t *order, const struct reflection_row *rows, size_t nrows,
                         int32_t panel, double slow)
{
    size_t low = 0, high = nrows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct reflection_row *r = &rows[order[middle]];
        if (r->panel < panel || (r->panel == panel && r->slow < slow))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Appends the pairs of a found spot to the `n` existing pairs. */
static void add_pairs(struct spots *s, const struct reflection_row *rows, size_t nrows,
                      const struct answer_spot *spot, int32_t panel, uint32_t found, size_t *n)
{
    const double radius = SPOTS_RADIUS_PX;
    size_t i = find_first(s->order, rows, nrows, panel, spot->slow - radius);
    for (; i < nrows; i++) {
        const struct reflection_row *r = &rows[s->order[i]];
        const double fast = spot->fast - r->fast, slow = spot->slow - r->slow;
        if (r->panel != panel || slow < -radius)
            break;
        if (fast * fast + slow * slow > radius * radius)
            continue;
        s->pairs = mem_grow(s->pairs, *n, 1, sizeof *s->pairs, &s->pairs_room);
        s->pairs[(*n)++] = (struct spots_pair){fast * fast + slow * slow, found, s->order[i]};
    }
}

void spots_match(struct spots *s, const struct reflection_row *rows, size_t nrows,
                 const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                 int64_t *partner)
{
    s->order = mem_grow(s->order, 0, nrows, sizeof *s->order, &s->order_room);
    s->taken = mem_grow(s->taken, 0, nrows, sizeof *s->taken, &s->taken_room);
    for (size_t i = 0; i < nrows; i++)
        s->order[i] = (uint32_t)i;
    if (nrows) {
        qsort_r(s->order, nrows, sizeof *s->order, by_panel_and_row, (void *)(uintptr_t)rows);
        memset(s->taken, 0, nrows);
    }
    spots_match_more(s, rows, nrows, found, nfound, panel_of, partner);
}

void spots_match_more(struct spots *s, const struct reflection_row *rows, size_t nrows,
                      const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                      int64_t *partner)
{
    size_t n = 0;
    for (size_t i = 0; i < nfound; i++) {
        partner[i] = -1;
        add_pairs(s, rows, nrows, &found[i], panel_of[found[i].panel], (uint32_t)i, &n);
    }
    if (n)
        qsort(s->pairs, n, sizeof *s->pairs, by_distance);
    for (size_t i = 0; i < n; i++) {
        const struct spots_pair *p = &s->pairs[i];
        if (partner[p->found] < 0 && !s->taken[p->row]) {
            partner[p->found] = p->row;
            s->taken[p->row] = 1;
        }
    }
}

void spots_free(struct spots *s)
{
    mem_free(s->order);
    mem_free(s->pairs);
    mem_free(s->taken);
    *s = (struct spots){0};
}
