#include "score/spots.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int by_place(const void *a, const void *b, void *rows)
{
    const struct reflection_row *all = rows;
    const struct reflection_row *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
    if (x->panel != y->panel)
        return x->panel < y->panel ? -1 : 1;
    return (x->slow > y->slow) - (x->slow < y->slow);
}

/* Nearest first; equals in the order of the lists. */
static int by_distance(const void *a, const void *b)
{
    const struct spots_pair *x = a, *y = b;
    if (x->distance2 != y->distance2)
        return x->distance2 < y->distance2 ? -1 : 1;
    if (x->found != y->found)
        return x->found < y->found ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The first in the order that is not below this place. */
static size_t below(const uint32_t *order, const struct reflection_row *rows, size_t nrows,
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

/* Adds the pairs of a found spot behind the `n` that are there. */
static bool add_pairs(struct spots *s, const struct reflection_row *rows, size_t nrows,
                      const struct answer_spot *spot, int32_t panel, uint32_t found, size_t *n)
{
    const double radius = SPOTS_RADIUS_PX;
    size_t i = below(s->order, rows, nrows, panel, spot->slow - radius);
    for (; i < nrows; i++) {
        const struct reflection_row *r = &rows[s->order[i]];
        const double fast = spot->fast - r->fast, slow = spot->slow - r->slow;
        if (r->panel != panel || slow < -radius)
            break;
        if (fast * fast + slow * slow > radius * radius)
            continue;
        struct spots_pair *more = mem_grow(s->pairs, *n, 1, sizeof *more, &s->pairs_room);
        if (!more)
            return false;
        s->pairs = more;
        more[(*n)++] = (struct spots_pair){fast * fast + slow * slow, found, s->order[i]};
    }
    return true;
}

static bool reserve(struct spots *s, size_t nrows)
{
    uint32_t *order = mem_grow(s->order, 0, nrows, sizeof *order, &s->order_room);
    s->order = order ? order : s->order;
    uint8_t *taken = mem_grow(s->taken, 0, nrows, sizeof *taken, &s->taken_room);
    s->taken = taken ? taken : s->taken;
    return (order && taken) || !nrows;
}

enum status spots_match(struct spots *s, const struct reflection_row *rows, size_t nrows,
                        const struct answer_spot *found, size_t nfound, const int32_t *panel_of,
                        int64_t *partner, struct error *e)
{
    size_t n = 0;
    if (!reserve(s, nrows))
        return error_memory(e, "spots");
    for (size_t i = 0; i < nrows; i++)
        s->order[i] = (uint32_t)i;
    if (nrows) {
        qsort_r(s->order, nrows, sizeof *s->order, by_place, (void *)(uintptr_t)rows);
        memset(s->taken, 0, nrows);
    }
    for (size_t i = 0; i < nfound; i++) {
        partner[i] = -1;
        if (!add_pairs(s, rows, nrows, &found[i], panel_of[found[i].panel], (uint32_t)i, &n))
            return error_memory(e, "pairs of spots");
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
    return STATUS_OK;
}

void spots_free(struct spots *s)
{
    mem_free(s->order);
    mem_free(s->pairs);
    mem_free(s->taken);
    *s = (struct spots){0};
}
