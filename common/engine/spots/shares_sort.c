/* Sorts shares by reflection, with several threads. */
#include "engine/spots/shares_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { SORTING_LAST = 4096 };  // table size; rows that follow each other share reflections

/* Some of the reflections, which one thread selects from all shares.  The shares of each reflection
 * are in the order of the image, for any number of threads. */
struct sorting_part {
    bool keyed;  // a key identifies a reflection
    size_t nfound, capacity;
    struct lit_reflection *found;  // owned
    size_t nslots;                 // a power of 2, 0 at first
    uint32_t *slots;               // owned: numbers in found, from 1; 0: free
    uint32_t last[SORTING_LAST];   // for each key modulo SORTING_LAST: number in `found` of the
                                   // reflection that was met last
};

/* Returns an array for `count` pixels: the array of *room, which is replaced by a larger one if
 * necessary. */
static struct lit_pixel *room_pixels(struct share_room *room, size_t count)
{
    if (room->pixels && count <= room->npixels)
        return room->pixels;
    mem_free(room->pixels);
    room->pixels = mem_array(count, sizeof *room->pixels);
    room->npixels = count;
    return room->pixels;
}

/* ---- the part of a reflection ----------------------------------------------------- */

/* Returns the part that contains the reflections with this number. */
static inline const struct sorting_part *part_of(const struct sorting *t, uint32_t number)
{
    const uint64_t spread = (number * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return t->parts + (size_t)(spread * t->nparts >> 32);
}

/* Returns a number for the reflection of a share of a list. Several reflections can have the
 * same number. */
static inline uint32_t number_of(const struct share *s)
{
    return (uint32_t)s->lattice * 1000003 + (uint32_t)s->hkl[0] * 1000033 +
           (uint32_t)s->hkl[1] * 1009 + (uint32_t)s->hkl[2];
}

/* ---- reflections, with their photons ---------------------------------------------- */

static bool is_of(const struct sorting_part *t, const struct lit_reflection *f,
                  const struct lit_reflection *other)
{
    return f->key == other->key &&
           (t->keyed ||
            (f->lattice == other->lattice && memcmp(f->hkl, other->hkl, sizeof other->hkl) == 0));
}

static size_t slot_of(const struct sorting_part *t, const struct lit_reflection *f)
{
    return (size_t)hash_finish(f->key) & (t->nslots - 1);
}

/* Doubles the number of slots. */
static void grow_slots(struct sorting_part *t)
{
    const size_t nslots = t->nslots ? 2 * t->nslots : 4096;
    uint32_t *slots = mem_array(nslots, sizeof *slots);
    mem_free(t->slots);
    t->slots = slots;
    t->nslots = nslots;
    for (size_t i = 0; i < t->nfound; i++) {
        size_t at = slot_of(t, &t->found[i]);
        while (slots[at])
            at = (at + 1) & (nslots - 1);
        slots[at] = (uint32_t)i + 1;
    }
}

/* Returns the reflection *is in *t and adds it if it is new. */
static struct lit_reflection *find_or_add(struct sorting_part *t, const struct lit_reflection *is)
{
    if (2 * (t->nfound + 1) > t->nslots)
        grow_slots(t);
    size_t at = slot_of(t, is);
    while (t->slots[at] && !is_of(t, &t->found[t->slots[at] - 1], is))
        at = (at + 1) & (t->nslots - 1);
    if (!t->slots[at]) {
        t->found = mem_grow(t->found, t->nfound, 1, sizeof *t->found, &t->capacity);
        t->found[t->nfound++] = *is;
        t->slots[at] = (uint32_t)t->nfound;
    }
    return &t->found[t->slots[at] - 1];
}

static struct lit_reflection *find_share(struct sorting_part *t, const struct share *s)
{
    const struct lit_reflection is = {
        .key = number_of(s), .lattice = s->lattice, .hkl = {s->hkl[0], s->hkl[1], s->hkl[2]}};
    return find_or_add(t, &is);
}

/* Like find, but identifies the reflection by its key in a run. Reflections that were found
 * recently are found faster. */
static inline struct lit_reflection *find_key(struct sorting_part *t, uint32_t key)
{
    uint32_t *last = &t->last[key % SORTING_LAST];
    if (*last < t->nfound && t->found[*last].key == key)
        return &t->found[*last];
    const struct lit_reflection is = {.key = key};
    struct lit_reflection *found = find_or_add(t, &is);
    *last = (uint32_t)(found - t->found);
    return found;
}

/* Adds the sums from which the mean angle of a reflection follows, in the order of pixels. */
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

static void count_list(const struct sorting *t, struct sorting_part *p,
                       const struct share_list *list)
{
    for (size_t k = 0; k < list->count; k++) {
        const struct share *s = &list->items[k];
        if (part_of(t, number_of(s)) != p)
            continue;
        struct lit_reflection *f = find_share(p, s);
        f->photons += s->photons;
        f->turn += s->turn;
        f->count++;
    }
}

static void count_run(const struct sorting *t, struct sorting_part *part,
                      const struct share_run *run)
{
    const struct share_pack *p = run->pack;
    size_t at = run->first;
    for (size_t k = run->begin; k < run->end; at += p->pieces[k++].count) {
        const struct share_piece piece = p->pieces[k];
        if (part_of(t, piece.key) != part)
            continue;
        struct lit_reflection *f = find_key(part, piece.key);
        f->count += piece.count;
        if (t->s->turns)
            add_turned(f, p, at, piece.count);
        else
            f->photons += (double)piece.photons;
    }
}

/* Collects the reflections of a part, and counts their photons and pixels. Pixels are added in
 * their order in the image. */
static void count_part(const struct sorting *t, struct sorting_part *p)
{
    const struct shares *s = t->s;
    p->keyed = s->nruns;
    for (size_t i = 0; i < s->nlists; i++)
        count_list(t, p, &s->lists[i]);
    for (size_t i = 0; i < s->nruns; i++)
        count_run(t, p, &s->runs[i]);
    for (size_t i = 0; i < p->nfound && s->nruns; i++)
        s->name(s->context, p->found[i].key, &p->found[i].lattice, p->found[i].hkl);
}

static void count_shares(struct sorting *t)
{
    t->nparts = (size_t)t->s->threads;
    t->parts = mem_array(t->nparts, sizeof *t->parts);
#pragma omp parallel for num_threads(t->s->threads)
    for (size_t i = 0; i < t->nparts; i++)
        count_part(t, &t->parts[i]);
    for (size_t i = 0; i < t->nparts; i++)
        t->nfound += t->parts[i].nfound;
}

/* ---- the pixels of the reflections that become rows ------------------------------- */

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

/* Inserts a pixel into those of a reflection, in ascending order. If the reflection has the
 * pixel already, its photons are added. */
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

/* Merges the pixels of a piece into those of its reflection. Pixels ascend, and each pixel
 * occurs once. */
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

static void place_run(const struct sorting *t, struct sorting_part *part,
                      const struct share_run *run)
{
    const struct share_pack *p = run->pack;
    size_t at = run->first;
    for (size_t k = run->begin; k < run->end; at += p->pieces[k++].count) {
        if (part_of(t, p->pieces[k].key) != part)
            continue;
        struct lit_reflection *f = find_key(part, p->pieces[k].key);
        if (f->first != SIZE_MAX)
            place_piece(t->pixels, f, &p->pieces[k], p->photons + at);
    }
}

/* Places the pixels of all wanted reflections of a part. */
static void place_part(const struct sorting *t, struct sorting_part *p)
{
    const struct shares *s = t->s;
    for (size_t i = 0; i < s->nlists; i++)
        for (size_t k = 0; k < s->lists[i].count; k++) {
            const struct share *share = &s->lists[i].items[k];
            if (part_of(t, number_of(share)) == p)
                place_pixel(t->pixels, find_share(p, share),
                            (struct lit_pixel){share->pixel, share->photons});
        }
    for (size_t i = 0; i < s->nruns; i++)
        place_run(t, p, &s->runs[i]);
}

/* Tolerance for the choice of reflections, because the sums of pieces are rounded. Rows are
 * compared later with the sum over their pixels. */
#define NEARLY (1.0 - 1e-5)

/* Appends the wanted reflections of a part to t->wanted. */
static void want_part(struct sorting *t, const struct sorting_part *p, double least_photons)
{
    for (size_t i = 0; i < p->nfound; i++) {
        p->found[i].first = SIZE_MAX;
        if (p->found[i].photons > NEARLY * least_photons)
            t->wanted[t->nwanted++] = &p->found[i];
    }
}

/* Puts the pixels of all wanted reflections together. */
static void place_pixels(struct sorting *t, double least_photons)
{
    size_t total = 0;
    t->wanted = mem_array(t->nfound, sizeof *t->wanted);
    for (size_t i = 0; i < t->nparts; i++)
        want_part(t, &t->parts[i], least_photons);
    qsort(t->wanted, t->nwanted, sizeof *t->wanted, in_order);
    for (size_t i = 0; i < t->nwanted; i++) {
        struct lit_reflection *f = t->wanted[i];
        f->first = total;
        total += f->count;
        f->count = 0;
    }
    t->pixels = room_pixels(t->room, total);
#pragma omp parallel for num_threads(t->s->threads)
    for (size_t i = 0; i < t->nparts; i++)
        place_part(t, &t->parts[i]);
}

void shares_sort(struct sorting *t, double least_photons)
{
    count_shares(t);
    place_pixels(t, least_photons);
}

void shares_sort_free(struct sorting *t)
{
    for (size_t i = 0; i < t->nparts; i++) {
        mem_free(t->parts[i].found);
        mem_free(t->parts[i].slots);
    }
    mem_free(t->parts);
    mem_free(t->wanted);
}
