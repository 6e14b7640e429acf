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

/* ---- which reflections there are ----------------------------------------------- */

struct found {
    int32_t lattice, hkl[3];
    double photons, turn;  // sums of struct share
    size_t count;          // shares
    size_t first;          // place of the first of them; SIZE_MAX: not wanted
};

struct sorting {
    const struct shares *s;
    size_t nfound, capacity;
    struct found *found;  // owned
    size_t nslots;        // a power of 2, 0 at first
    uint32_t *slots;      // owned: numbers in found, from 1; 0: free
    uint32_t *number;     // owned: of each share, in order, in found
    size_t nwanted;
    struct found **wanted;     // owned: in the order of rows
    struct lit_pixel *pixels;  // owned: those of wanted reflections, one after the other
    struct lit_pixel *spare;   // owned: as many as one of them has at most
    float *most;               // owned: for labels
};

static bool is_of(const struct found *f, const struct share *s)
{
    return f->lattice == s->lattice && memcmp(f->hkl, s->hkl, sizeof s->hkl) == 0;
}

static size_t slot_of(const struct sorting *t, int32_t lattice, const int32_t hkl[3])
{
    const uint64_t low = (uint64_t)(uint32_t)lattice << 32 | (uint32_t)hkl[0];
    const uint64_t high = (uint64_t)(uint32_t)hkl[1] << 32 | (uint32_t)hkl[2];
    return (size_t)hash_finish(hash_finish(low) ^ high) & (t->nslots - 1);
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
        size_t at = slot_of(t, t->found[i].lattice, t->found[i].hkl);
        while (slots[at])
            at = (at + 1) & (nslots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The number of the reflection that a share is of; false when memory is out. */
static bool find(struct sorting *t, const struct share *s, uint32_t *number)
{
    if (2 * (t->nfound + 1) > t->nslots && !grow_slots(t))
        return false;
    size_t at = slot_of(t, s->lattice, s->hkl);
    while (t->slots[at] && !is_of(&t->found[t->slots[at] - 1], s))
        at = (at + 1) & (t->nslots - 1);
    if (!t->slots[at]) {
        struct found *found = mem_grow(t->found, t->nfound, 1, sizeof *found, &t->capacity);
        if (!found)
            return false;
        t->found = found;
        t->found[t->nfound++] =
            (struct found){.lattice = s->lattice, .hkl = {s->hkl[0], s->hkl[1], s->hkl[2]}};
        t->slots[at] = (uint32_t)t->nfound;
    }
    *number = t->slots[at] - 1;
    return true;
}

/* Sums run in the order of the image. */
static bool number_shares(struct sorting *t)
{
    size_t total = 0;
    for (size_t i = 0; i < t->s->nlists; i++)
        total += t->s->lists[i].count;
    t->number = mem_array(total, sizeof *t->number);
    uint32_t *number = t->number;
    for (size_t i = 0; number && i < t->s->nlists; i++)
        for (size_t k = 0; k < t->s->lists[i].count; k++) {
            const struct share *s = &t->s->lists[i].items[k];
            if (!find(t, s, number))
                return false;
            struct found *f = &t->found[*number++];
            f->photons += s->photons;
            f->turn += s->turn;
            f->count++;
        }
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
    t->pixels = mem_array(total, sizeof *t->pixels);
    t->spare = mem_array(most, sizeof *t->spare);
    const uint32_t *number = t->number;
    for (size_t i = 0; t->pixels && i < t->s->nlists; i++)
        for (size_t k = 0; k < t->s->lists[i].count; k++) {
            const struct share *s = &t->s->lists[i].items[k];
            struct found *f = &t->found[*number++];
            if (f->first != SIZE_MAX)
                t->pixels[f->first + f->count++] = (struct lit_pixel){s->pixel, s->photons};
        }
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
    struct sorting t = {.s = s};
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
    mem_free(t.number);
    mem_free(t.wanted);
    mem_free(t.pixels);
    mem_free(t.spare);
    mem_free(t.most);
    return good ? STATUS_OK : error_memory(e, "the reflections");
}
