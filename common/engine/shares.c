/* Shares of pixels, sorted by reflection. */
#include "engine/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "physics/reflection.h"

bool share_add(struct share_list *list, const struct share *share)
{
    struct share *items = mem_grow(list->items, list->count, 1, sizeof *items, &list->capacity);
    if (!items)
        return false;
    list->items = items;
    list->items[list->count++] = *share;
    return true;
}

bool share_pack_reserve(struct share_pack *p, size_t more)
{
    if (more <= p->capacity - p->count)
        return true;
    uint32_t **const words[] = {&p->key, &p->pixel};
    float **const floats[] = {&p->photons, &p->turn};
    size_t capacity = 0;
    for (int i = 0; i < 2; i++) {
        capacity = p->capacity;
        uint32_t *word = mem_grow(*words[i], p->count, more, sizeof *word, &capacity);
        *words[i] = word ? word : *words[i];
        size_t same = p->capacity;
        float *real = word ? mem_grow(*floats[i], p->count, more, sizeof *real, &same) : NULL;
        *floats[i] = real ? real : *floats[i];
        if (!real)
            return false;
    }
    p->capacity = capacity;
    return true;
}

void share_pack_free(struct share_pack *p)
{
    mem_free(p->key);
    mem_free(p->pixel);
    mem_free(p->photons);
    mem_free(p->turn);
    *p = (struct share_pack){0};
}

struct share_list *shares_open(size_t count)
{
    return mem_array(count, sizeof(struct share_list));
}

void shares_free(struct share_list *lists, size_t count)
{
    for (size_t i = 0; lists && i < count; i++)
        mem_free(lists[i].items);
    mem_free(lists);
}

/* ---- memory ------------------------------------------------------------------------- */

void share_room_free(struct share_room *room)
{
    mem_free(room->number);
    mem_free(room->pixels);
    *room = (struct share_room){0};
}

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

struct found {
    int32_t lattice, hkl[3];
    uint32_t key;          // of runs
    double photons, turn;  // sums of struct share
    size_t count;          // shares
    size_t first;          // place of the first of them; SIZE_MAX: not wanted
};

enum { LAST = 256 };  // a row meets some tens of reflections at a time

struct sorting {
    const struct shares *s;
    size_t nfound, capacity;
    struct found *found;  // owned
    size_t nslots;        // a power of 2, 0 at first
    uint32_t *slots;      // owned: numbers in found, from 1; 0: free
    uint32_t last[LAST];  // numbers in found of keys of runs that were met last, by key modulo LAST
    struct share_room *room;
    uint32_t *number;  // of each share, in order, in found
    size_t nwanted;
    struct found **wanted;     // owned: in the order of rows
    struct lit_pixel *pixels;  // those of wanted reflections, one after the other
    struct lit_pixel *spare;   // owned: as many as one of them has at most
    float *most;               // owned: for labels
};

static bool is_of(const struct found *f, const struct found *other)
{
    return f->key == other->key && f->lattice == other->lattice &&
           memcmp(f->hkl, other->hkl, sizeof other->hkl) == 0;
}

static size_t slot_of(const struct sorting *t, const struct found *f)
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
static bool find(struct sorting *t, const struct found *is, uint32_t *number)
{
    if (2 * (t->nfound + 1) > t->nslots && !grow_slots(t))
        return false;
    size_t at = slot_of(t, is);
    while (t->slots[at] && !is_of(&t->found[t->slots[at] - 1], is))
        at = (at + 1) & (t->nslots - 1);
    if (!t->slots[at]) {
        struct found *found = mem_grow(t->found, t->nfound, 1, sizeof *found, &t->capacity);
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
        const struct found is = {.lattice = s->lattice, .hkl = {s->hkl[0], s->hkl[1], s->hkl[2]}};
        if (!find(t, &is, &number[k]))
            return false;
        struct found *f = &t->found[number[k]];
        f->photons += s->photons;
        f->turn += s->turn;
        f->count++;
    }
    return true;
}

/* The same by its key in a run, if it is one of those that were met last. */
static bool find_key(struct sorting *t, uint32_t key, uint32_t *number)
{
    uint32_t *last = &t->last[key % LAST];
    if (*last < t->nfound && t->found[*last].key == key) {
        *number = *last;
        return true;
    }
    const struct found is = {.key = key};
    if (!find(t, &is, number))
        return false;
    *last = *number;
    return true;
}

/* Neighbours are mostly of the same reflection. */
static bool number_run(struct sorting *t, const struct share_run *run, uint32_t *number)
{
    for (size_t k = run->begin; k < run->end;) {
        const struct share_pack *p = run->pack;
        const uint32_t key = p->key[k];
        uint32_t at;
        if (!find_key(t, key, &at))
            return false;
        struct found sum = t->found[at];
        for (; k < run->end && p->key[k] == key; k++) {
            *number++ = at;
            sum.photons += (double)p->photons[k];
            sum.turn += t->s->turns ? (double)p->turn[k] : 0.0;
            sum.count++;
        }
        t->found[at] = sum;
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
    const struct found *x = *(struct found *const *)a, *y = *(struct found *const *)b;
    if (x->lattice != y->lattice)
        return x->lattice < y->lattice ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (x->hkl[i] != y->hkl[i])
            return x->hkl[i] < y->hkl[i] ? -1 : 1;
    return 0;
}

/* Puts a pixel behind those that a reflection has, in ascending order, once. */
static inline void place_pixel(struct lit_pixel *pixels, struct found *f, struct lit_pixel is)
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

/* The items of a row, mostly several pixels of a reflection one after the other. */
static void place_run(struct sorting *t, const struct share_run *run, const uint32_t *number)
{
    const struct share_pack *p = run->pack;
    const size_t count = run->end - run->begin;
    for (size_t i = 0; i < count;) {
        const uint32_t same = number[i];
        struct found *f = &t->found[same];
        for (; i < count && number[i] == same; i++) {
            const size_t k = run->begin + i;
            place_pixel(t->pixels, f, (struct lit_pixel){p->pixel[k], (double)p->photons[k]});
        }
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

/* Puts the pixels of all wanted reflections together. */
static bool place_pixels(struct sorting *t, double least_photons)
{
    size_t total = 0, most = 0;
    t->wanted = mem_array(t->nfound, sizeof *t->wanted);
    if (!t->wanted)
        return false;
    for (size_t i = 0; i < t->nfound; i++) {
        t->found[i].first = SIZE_MAX;
        if (t->found[i].photons > least_photons)
            t->wanted[t->nwanted++] = &t->found[i];
    }
    qsort(t->wanted, t->nwanted, sizeof *t->wanted, in_order);
    for (size_t i = 0; i < t->nwanted; i++) {
        struct found *f = t->wanted[i];
        f->first = total;
        total += f->count;
        most = f->count > most ? f->count : most;
        f->count = 0;
    }
    t->pixels = room_pixels(t->room, total);
    t->spare = mem_array(most, sizeof *t->spare);
    if (t->pixels && t->spare)
        place_shares(t);
    return t->pixels && t->spare;
}

/* The mean direction and wavelength of the sources. */
static double mean_beam(const struct experiment *x, const struct recipe *r, double incident[3])
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    double weight = 0.0, wavelength_m = 0.0, sum[3] = {0};
    for (size_t i = 0; i < count; i++) {
        weight += sources[i].weight;
        wavelength_m += sources[i].weight * sources[i].wavelength_m;
        for (int j = 0; j < 3; j++)
            sum[j] -= sources[i].weight * sources[i].direction[j];
    }
    (void)vec_unit(sum, incident);
    return wavelength_m / weight;
}

/* What a row says of the lattice point itself. */
static void describe(const struct shares *s, const struct found *f, struct reflection_row *row)
{
    const struct lattice *l = &s->recipe->lattices[f->lattice];
    double incident[3];
    const double wavelength_m = mean_beam(s->x, s->recipe, incident);
    row->lattice = f->lattice;
    memcpy(row->hkl, f->hkl, sizeof row->hkl);
    row->F2 = (float)reflection_F2(&s->x->crystals[l->crystal].table, f->hkl);
    const size_t middle[2] = {(l->nphi - 1) / 2, l->nphi / 2};
    for (int i = 0; i < 2; i++)
        row->s_1_A +=
            0.5 * reflection_inside_1_A(l->cells_m + 9 * middle[i], f->hkl, incident, wavelength_m);
    if (s->recipe->osc_rad != 0.0 || l->nphi > 1)
        row->phi_deg = rad_to_deg(f->turn / f->photons);
}

/* One row, if it has photons enough. */
static bool add_row(struct sorting *t, const struct found *f, struct reflection_table *table,
                    size_t *capacity)
{
    struct reflection_row *row = &table->rows[table->count];
    struct lit_pixel *lit = t->pixels + f->first, *spare = t->spare, *spread = NULL;
    size_t count = f->count;
    bool good = true;
    if (t->s->footprint) {
        good = footprint_spread(t->s->footprint, lit, count, &spread, &count);
        lit = spread;
        spare = good ? spread + count : NULL;
    }
    *row = (struct reflection_row){0};
    describe(t->s, f, row);
    if (good && count)
        good = reflection_measure(t->s->x, lit, count, spare, row, table, capacity);
    if (good && row->photons > table->least_photons) {
        if (t->most)
            reflection_label(table, t->most, table->count, lit, count);
        table->count++;
    } else if (good) {
        table->npixels -= (size_t)row->pixels;
    }
    mem_free(spread);
    return good;
}

static bool make_rows(struct sorting *t, struct reflection_table *table)
{
    size_t capacity = 0;
    bool good = true;
    table->rows = mem_array(t->nwanted, sizeof *table->rows);
    if (!table->rows)
        return false;
    for (size_t i = 0; i < t->nwanted && good; i++)
        good = add_row(t, t->wanted[i], table, &capacity);
    return good;
}

static void count_rest(const struct shares *s, struct reflection_table *table)
{
    const int64_t count = experiment_pixels(s->x);
    for (int64_t i = 0; i < count; i++)
        table->rest_photons += (double)s->pixels[i];
    for (size_t i = 0; i < table->count; i++)
        table->rest_photons -= table->rows[i].photons;
}

enum status shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                         struct reflection_table *table, struct error *e)
{
    struct share_room own = {0};
    struct sorting t = {.s = s, .room = s->room ? s->room : &own};
    const size_t pixels = (size_t)experiment_pixels(s->x);
    *table = (struct reflection_table){.present = true, .least_photons = wanted->least_photons};
    bool good = number_shares(&t) && place_pixels(&t, wanted->least_photons);
    if (good && wanted->labels) {
        t.most = mem_array(pixels, sizeof *t.most);
        table->labels = mem_array(pixels, sizeof *table->labels);
        table->nlabels = pixels;
        good = t.most && table->labels;
    }
    good = good && make_rows(&t, table);
    if (good)
        count_rest(s, table);
    mem_free(t.found);
    mem_free(t.slots);
    mem_free(t.wanted);
    mem_free(t.spare);
    mem_free(t.most);
    share_room_free(&own);
    return good ? STATUS_OK : error_memory(e, "the reflections");
}
