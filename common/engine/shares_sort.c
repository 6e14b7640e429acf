/* Shares of pixels, sorted by reflection. */
#include "engine/shares_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* The same array, or a larger one instead. */
static uint32_t *room_numbers(struct share_room *room, size_t count)
{
    if (room->number && count <= room->nnumber)
        return room->number;
    mem_free(room->number);
    room->number = mem_array(count, sizeof *room->number);
    room->nnumber = room->number ? count : 0;
    return room->number;
}

static struct lit_pixel *room_pixels(struct share_room *room, size_t count)
{
    if (room->pixels && count <= room->npixels)
        return room->pixels;
    mem_free(room->pixels);
    room->pixels = mem_array(count, sizeof *room->pixels);
    room->npixels = room->pixels ? count : 0;
    return room->pixels;
}

/* ---- which reflections there are ----------------------------------------------- */

static bool is_of(const struct lit_reflection *f, const struct lit_reflection *other)
{
    return f->key == other->key && f->lattice == other->lattice &&
           memcmp(f->hkl, other->hkl, sizeof other->hkl) == 0;
}

static size_t slot_of(const struct sorting *t, const struct lit_reflection *f)
{
    const uint64_t low = (uint64_t)(uint32_t)f->lattice << 32 | (uint32_t)f->hkl[0];
    const uint64_t high = (uint64_t)(uint32_t)f->hkl[1] << 32 | (uint32_t)f->hkl[2];
    return (size_t)hash_finish(hash_finish(low + f->key) ^ high) & (t->nslots - 1);
}

/* Twice as many slots. */
static bool grow_slots(struct sorting *t)
{
    const size_t nslots = t->nslots ? 2 * t->nslots : 4096;
    uint32_t *slots = mem_array(nslots, sizeof *slots);
    if (!slots)
        return false;
    mem_free(t->slots);
    t->slots = slots;
    t->nslots = nslots;
    for (size_t i = 0; i < t->nfound; i++) {
        size_t at = slot_of(t, &t->found[i]);
        while (slots[at])
            at = (at + 1) & (nslots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The number of this reflection; false when memory is out. */
static bool find(struct sorting *t, const struct lit_reflection *is, uint32_t *number)
{
    if (2 * (t->nfound + 1) > t->nslots && !grow_slots(t))
        return false;
    size_t at = slot_of(t, is);
    while (t->slots[at] && !is_of(&t->found[t->slots[at] - 1], is))
        at = (at + 1) & (t->nslots - 1);
    if (!t->slots[at]) {
        struct lit_reflection *found =
            mem_grow(t->found, t->nfound, 1, sizeof *found, &t->capacity);
        if (!found)
            return false;
        t->found = found;
        t->found[t->nfound++] = *is;
        t->slots[at] = (uint32_t)t->nfound;
    }
    *number = t->slots[at] - 1;
    return true;
}

static bool number_list(struct sorting *t, const struct share_list *list, uint32_t *number)
{
    for (size_t k = 0; k < list->count; k++) {
        const struct share *s = &list->items[k];
        const struct lit_reflection is = {.lattice = s->lattice,
                                          .hkl = {s->hkl[0], s->hkl[1], s->hkl[2]}};
        if (!find(t, &is, &number[k]))
            return false;
        struct lit_reflection *f = &t->found[number[k]];
        f->photons += s->photons;
        f->turn += s->turn;
        f->count++;
    }
    return true;
}

/* The same by its key in a run, if it is one of those that were met last. */
static bool find_key(struct sorting *t, uint32_t key, uint32_t *number)
{
    uint32_t *last = &t->last[key % SORTING_LAST];
    if (*last < t->nfound && t->found[*last].key == key) {
        *number = *last;
        return true;
    }
    const struct lit_reflection is = {.key = key};
    if (!find(t, &is, number))
        return false;
    *last = *number;
    return true;
}

/* Sums of which the angle is made: in the order of pixels. */
static void add_turned(struct lit_reflection *f, const struct share_pack *p, size_t first,
                       size_t count)
{
    double photons = 0.0, turn = 0.0;
    for (size_t i = first; i < first + count; i++) {
        photons += (double)p->photons[i];
        turn += (double)p->turn[i];
    }
    f->photons += photons;
    f->turn += turn;
}

static bool number_run(struct sorting *t, const struct share_run *run, uint32_t *number)
{
    const struct share_pack *p = run->pack;
    size_t at = run->first;
    for (size_t k = run->begin; k < run->end; k++, number++) {
        const struct share_piece piece = p->pieces[k];
        if (!find_key(t, piece.key, number))
            return false;
        struct lit_reflection *f = &t->found[*number];
        f->count += piece.count;
        if (t->s->turns)
            add_turned(f, p, at, piece.count);
        else
            f->photons += (double)piece.photons;
        at += piece.count;
    }
    return true;
}

/* Sums run in the order of the image. */
static bool number_shares(struct sorting *t)
{
    const struct shares *s = t->s;
    size_t total = 0;
    for (size_t i = 0; i < s->nlists; i++)
        total += s->lists[i].count;
    for (size_t i = 0; i < s->nruns; i++)
        total += s->runs[i].end - s->runs[i].begin;
    t->number = room_numbers(t->room, total);
    uint32_t *number = t->number;
    for (size_t i = 0; number && i < s->nlists; number += s->lists[i++].count)
        if (!number_list(t, &s->lists[i], number))
            return false;
    for (size_t i = 0; number && i < s->nruns; number += s->runs[i].end - s->runs[i].begin, i++)
        if (!number_run(t, &s->runs[i], number))
            return false;
    for (size_t i = 0; i < t->nfound && s->nruns; i++)
        s->name(s->context, t->found[i].key, &t->found[i].lattice, t->found[i].hkl);
    return t->number;
}

/* ---- those that become rows ------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
    const struct lit_reflection *x = *(struct lit_reflection *const *)a,
                                *y = *(struct lit_reflection *const *)b;
    if (x->lattice != y->lattice)
        return x->lattice < y->lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

/* Puts a pixel behind those that a reflection has, in ascending order, once. */
static inline void place_pixel(struct lit_pixel *pixels, struct lit_reflection *f,
                               struct lit_pixel is)
{
    if (f->first == SIZE_MAX)
        return;
    struct lit_pixel *begin = pixels + f->first, *at = begin + f->count;
    if (at == begin || at[-1].pixel < is.pixel) {
        *at = is;
        f->count++;
        return;
    }
    for (; at > begin && at[-1].pixel > is.pixel; at--)
        *at = at[-1];
    if (at > begin && at[-1].pixel == is.pixel) {
        at[-1].photons += is.photons;
        memmove(at, at + 1, (size_t)(begin + f->count - at) * sizeof *at);
        return;
    }
    *at = is;
    f->count++;
}

/* The pixels of a piece, in ascending order with those that its reflection has, each once. */
static void place_piece(struct lit_pixel *pixels, struct lit_reflection *f,
                        const struct share_piece *piece, const float *photons)
{
    struct lit_pixel *begin = pixels + f->first, *end = begin + f->count, *at = end;
    while (at > begin && at[-1].pixel >= piece->pixel)
        at--;
    if (at < end && at->pixel < (int64_t)piece->pixel + piece->count) {
        for (uint32_t i = 0; i < piece->count; i++)
            place_pixel(pixels, f, (struct lit_pixel){piece->pixel + i, (double)photons[i]});
        return;
    }
    if (at < end)
        memmove(at + piece->count, at, (size_t)(end - at) * sizeof *at);
    for (uint32_t i = 0; i < piece->count; i++)
        at[i] = (struct lit_pixel){(int64_t)piece->pixel + i, (double)photons[i]};
    f->count += piece->count;
}

static void place_run(struct sorting *t, const struct share_run *run, const uint32_t *number)
{
    const struct share_pack *p = run->pack;
    size_t at = run->first;
    for (size_t k = run->begin; k < run->end; at += p->pieces[k++].count) {
        struct lit_reflection *f = &t->found[*number++];
        if (f->first != SIZE_MAX)
            place_piece(t->pixels, f, &p->pieces[k], p->photons + at);
    }
}

static void place_shares(struct sorting *t)
{
    const struct shares *s = t->s;
    const uint32_t *number = t->number;
    for (size_t i = 0; i < s->nlists; i++)
        for (size_t k = 0; k < s->lists[i].count; k++) {
            const struct share *share = &s->lists[i].items[k];
            place_pixel(t->pixels, &t->found[*number++],
                        (struct lit_pixel){share->pixel, share->photons});
        }
    for (size_t i = 0; i < s->nruns; number += s->runs[i].end - s->runs[i].begin, i++)
        place_run(t, &s->runs[i], number);
}

/* Sums of pieces are rounded; rows are held to the sum over their pixels. */
#define NEARLY (1.0 - 1e-5)

/* Puts the pixels of all wanted reflections together. */
static bool place_pixels(struct sorting *t, double least_photons)
{
    size_t total = 0;
    t->wanted = mem_array(t->nfound, sizeof *t->wanted);
    if (!t->wanted)
        return false;
    for (size_t i = 0; i < t->nfound; i++) {
        t->found[i].first = SIZE_MAX;
        if (t->found[i].photons > NEARLY * least_photons)
            t->wanted[t->nwanted++] = &t->found[i];
    }
    qsort(t->wanted, t->nwanted, sizeof *t->wanted, in_order);
    for (size_t i = 0; i < t->nwanted; i++) {
        struct lit_reflection *f = t->wanted[i];
        f->first = total;
        total += f->count;
        t->most = f->count > t->most ? f->count : t->most;
        f->count = 0;
    }
    t->pixels = room_pixels(t->room, total);
    if (t->pixels)
        place_shares(t);
    return t->pixels;
}

bool shares_sort(struct sorting *t, double least_photons)
{
    return number_shares(t) && place_pixels(t, least_photons);
}

void shares_sort_free(struct sorting *t)
{
    mem_free(t->found);
    mem_free(t->slots);
    mem_free(t->wanted);
}
