/*
 * Makes the table of reflections from shares of pixels: memory for lists of shares; position and
 * size of a reflection, from the photons of its pixels; and the table, which several threads make
 * from sorted shares.
 */
#include "engine/spots/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "engine/engine.h"
#include "engine/spots/wave.h"
#include "physics/detector/predict.h"

/* A reflection that has shares. */
struct lit_reflection {
    int32_t lattice, hkl[3];
    uint32_t key;          // of runs: unique; of lists: a number that other reflections may have,
                           // too
    double photons, turn;  // sums of struct share
    size_t count;          // number of shares
    size_t first;          // index of its first pixel in sorting.pixels; SIZE_MAX: not wanted
};

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

/* State of sorting.  The caller sets `s`, `room` and `band`, and the other members to 0. */
struct sorting {
    const struct shares *s;
    size_t nparts;               // one for each thread
    struct sorting_part *parts;  // owned
    struct share_room *room;
    struct wave_band band;
    size_t nfound;  // number in all parts
    size_t nwanted;
    struct lit_reflection **wanted;  // owned: in the order of rows
    struct lit_pixel *pixels;        // pixels of the wanted reflections, one reflection after the
                                     // other
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

/* ---- whose they are ------------------------------------------------------------- */

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

/* ---- which reflections there are ----------------------------------------------- */

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

/* Sorts the shares of t->s in t->room, and sets t->wanted and t->pixels. */
static void shares_sort(struct sorting *t, double least_photons)
{
    count_shares(t);
    place_pixels(t, least_photons);
}

/* Frees what *t owns, but not the room. */
static void shares_sort_free(struct sorting *t)
{
    for (size_t i = 0; i < t->nparts; i++) {
        mem_free(t->parts[i].found);
        mem_free(t->parts[i].slots);
    }
    mem_free(t->parts);
    mem_free(t->wanted);
}

/* ---- memory --------------------------------------------------------------------------------- */

void share_add(struct share_list *list, const struct share *share)
{
    list->items = mem_grow(list->items, list->count, 1, sizeof *list->items, &list->capacity);
    list->items[list->count++] = *share;
}

void share_pack_reserve(struct share_pack *p, size_t more)
{
    size_t same = p->capacity;
    p->pieces = mem_grow(p->pieces, p->npieces, more, sizeof *p->pieces, &p->pieces_capacity);
    p->turn = mem_grow(p->turn, p->count, more, sizeof *p->turn, &same);
    p->photons = mem_grow(p->photons, p->count, more, sizeof *p->photons, &p->capacity);
}

void share_pack_free(struct share_pack *p)
{
    mem_free(p->pieces);
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

void share_room_free(struct share_room *room)
{
    mem_free(room->pixels);
    *room = (struct share_room){0};
}

/* ---- place and size of a reflection --------------------------------------------------------- */

/* Sets *panel to the panel that contains the pixel. The search begins at the panel of the
 * previous pixel, *panel. */
static void find_panel(const struct experiment *x, int64_t pixel, size_t *panel)
{
    while (!panel_holds(&x->panels[*panel], pixel))
        *panel = (*panel + 1) % x->npanels;
}

/* Sums over the pixels of a reflection on one panel: photons, and photons times the coordinates
 * along the axes of the panel, in pixels. */
struct part {
    double photons, fast, slow;
};

/* Adds the pixels of one row from item i on; returns the first item behind them. */
static size_t sum_row(struct part *part, const struct panel *p, const struct lit_pixel *lit,
                      size_t count, size_t i)
{
    const int64_t slow = (lit[i].pixel - p->first_pixel) / p->fast_pixels;
    const int64_t begin = p->first_pixel + slow * p->fast_pixels;
    for (; i < count && lit[i].pixel < begin + p->fast_pixels; i++) {
        part->photons += lit[i].photons;
        part->fast += lit[i].photons * ((double)(lit[i].pixel - begin) + 0.5);
        part->slow += lit[i].photons * ((double)slow + 0.5);
    }
    return i;
}

/* Sets the centroid of a reflection: the mean position on the panel that has most of its
 * photons. The pixels of a panel follow each other in `lit`. */
static void find_centroid(const struct experiment *x, const struct lit_pixel *lit, size_t count,
                          struct reflection_row *row)
{
    double best = 0.0;
    size_t panel = 0;
    for (size_t i = 0; i < count;) {
        struct part part = {0};
        find_panel(x, lit[i].pixel, &panel);
        const struct panel *p = &x->panels[panel];
        while (i < count && panel_holds(p, lit[i].pixel))
            i = sum_row(&part, p, lit, count, i);
        if (!(part.photons > best))
            continue;
        best = part.photons;
        row->panel = (int32_t)panel;
        row->fast = part.fast / part.photons;
        row->slow = part.slow / part.photons;
    }
}

static int brighter(const void *a, const void *b)
{
    const struct lit_pixel *p = a, *q = b;
    if (p->photons != q->photons)
        return p->photons > q->photons ? -1 : 1;
    return p->pixel < q->pixel ? -1 : p->pixel > q->pixel;
}

/* Number of classes of brightness below the peak: 16 for each factor of 2. The last class
 * contains all darker pixels. */
enum { CLASSES = 256 };

static int brightness(float photons)
{
    uint32_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return (int)(bits >> 19);
}

static int class_of(const struct lit_pixel *lit, int peak)
{
    const int below = peak - brightness((float)lit->photons);
    return below < CLASSES ? below : CLASSES - 1;
}

/* Returns the darkest of the brightest pixels that together have the wanted part of the photons.
 * Only the pixels of its class are sorted, in `spare`. */
static struct lit_pixel find_darkest(const struct lit_pixel *lit, size_t count,
                                     struct lit_pixel *spare, const struct reflection_row *row)
{
    const int peak = brightness(row->peak);
    double held[CLASSES] = {0}, sum = 0.0;
    size_t n = 0, last = 0;
    int class = 0;
    for (size_t i = 0; i < count; i++)
        held[class_of(&lit[i], peak)] += lit[i].photons;
    while (class < CLASSES - 1 && sum + held[class] < REFLECTION_SHARE * row->photons)
        sum += held[class ++];
    for (size_t i = 0; i < count; i++)
        if (class_of(&lit[i], peak) == class)
            spare[n++] = lit[i];
    qsort(spare, n, sizeof *spare, brighter);
    for (sum += spare[0].photons; last + 1 < n && sum < REFLECTION_SHARE * row->photons;)
        sum += spare[++last].photons;
    return spare[last];
}

/* Returns the bits of a number above 0, as an integer. These integers have the order of the
 * numbers. */
static int64_t bits_of(double photons)
{
    int64_t bits;
    memcpy(&bits, &photons, sizeof bits);
    return bits;
}

/* Appends to the table the fewest pixels that together have the wanted part of the photons. */
static void find_pixels(const struct lit_pixel *lit, size_t count, struct lit_pixel *spare,
                        struct reflection_row *row, struct reflection_table *table,
                        size_t *capacity)
{
    const struct lit_pixel darkest = find_darkest(lit, count, spare, row);
    uint32_t *pixels = mem_grow(table->pixels, table->npixels, count, sizeof *pixels, capacity);
    table->pixels = pixels;
    pixels += table->npixels;
    const int64_t least = bits_of(darkest.photons);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {  // no branch: which ones they are cannot be foreseen
        pixels[n] = (uint32_t)lit[i].pixel;
        n += bits_of(lit[i].photons) + (lit[i].pixel <= darkest.pixel) > least;
    }
    table->npixels += n;
    row->pixels = (int32_t)n;
}

/* Sets the row of a reflection with these pixels, except for lattice, hkl, phi, s and F2.  Appends
 * the pixels to those of *table, in memory for *capacity pixels.  `spare` has room for `count`
 * pixels.  Returns false if memory cannot be allocated. */
static void measure_reflection(const struct experiment *x, const struct lit_pixel *lit,
                               size_t count, struct lit_pixel *spare, struct reflection_row *row,
                               struct reflection_table *table, size_t *capacity)
{
    double photons = 0.0, peak = 0.0;
    for (size_t i = 0; i < count; i++) {
        photons += lit[i].photons;
        peak = lit[i].photons > peak ? lit[i].photons : peak;
    }
    row->photons = photons;
    row->peak = (float)peak;
    find_centroid(x, lit, count, row);
    find_pixels(lit, count, spare, row, table, capacity);
}

/* Sets the labels of the pixels to which row number `row`, from 0, gives most so far;
 * most[nlabels] says how much. */
static void label_pixels(struct reflection_table *table, float *most, size_t row,
                         const struct lit_pixel *lit, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t at = lit[i].pixel;
        if (lit[i].photons < LABEL_LEAST_PHOTONS || (float)lit[i].photons <= most[at])
            continue;
        most[at] = (float)lit[i].photons;
        table->labels[at] = (uint32_t)row + 1;
    }
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Sets the columns of a row that describe the lattice point: lattice, hkl, F2, s, wavelength and
 * phi. */
static void describe(const struct shares *s, const struct wave_band *band,
                     const struct lit_reflection *f, struct reflection_row *row)
{
    const struct lattice *l = &s->recipe->lattices[f->lattice];
    row->lattice = f->lattice;
    memcpy(row->hkl, f->hkl, sizeof row->hkl);
    row->F2 = (float)reflection_F2(&s->x->crystals[l->crystal].table, f->hkl);
    wave_set(band, l, row);
    if (s->recipe->osc_rad != 0.0 || l->nphi > 1)
        row->phi_deg = rad_to_deg(f->turn / f->photons);
}

enum { ROWS = 32, REST = 1 << 16 };  // rows and pixels that one thread takes at a time

/* The rows of a table that one thread makes. */
struct making {
    const struct sorting *t;
    size_t begin, end;              // of those that are wanted
    struct reflection_table table;  // rows in the whole one, where its own is `begin`
    float *most;                    // for labels
    struct lit_pixel *spare;        // owned: as many as a reflection has at most
    size_t capacity, slopes_capacity;
};

/* Appends the derivatives of the photons by F for the pixels that a row lists: 2 photons / F,
 * because photons are proportional to F^2. */
static void add_slopes(struct reflection_table *table, const struct reflection_row *row,
                       const struct lit_pixel *lit, size_t *capacity)
{
    const size_t listed = (size_t)row->pixels, first = table->npixels - listed;
    const double per_F = 2.0 / sqrt((double)row->F2);
    float *slopes = mem_grow(table->slopes, first, listed, sizeof *slopes, capacity);
    table->slopes = slopes;
    for (size_t k = first; k < table->npixels; k++, lit++) {
        while (lit->pixel != table->pixels[k])
            lit++;
        slopes[k] = (float)(per_F * lit->photons);
    }
}

/* Appends the row of a reflection if the reflection has at least the wanted number of photons. */
static void add_row(struct making *m, const struct lit_reflection *f,
                    struct reflection_table *table)
{
    const struct shares *s = m->t->s;
    struct reflection_row *row = &table->rows[table->count];
    struct lit_pixel *lit = m->t->pixels + f->first, *spare = m->spare, *spread = NULL;
    size_t count = f->count;
    if (s->footprint) {
        footprint_spread(s->footprint, lit, count, &spread, &count);
        lit = spread;
        spare = spread + count;
    }
    *row = (struct reflection_row){0};
    describe(s, &m->t->band, f, row);
    if (count)
        measure_reflection(s->x, lit, count, spare, row, table, &m->capacity);
    if (count && table->has_slopes)
        add_slopes(table, row, lit, &m->slopes_capacity);
    if (row->photons > table->least_photons) {
        if (m->most)
            label_pixels(table, m->most, table->count, lit, count);
        table->count++;
    } else {
        table->npixels -= (size_t)row->pixels;
    }
    mem_free(spread);
}

static void make_some(struct making *m)
{
    size_t most = 0;
    for (size_t i = m->begin; i < m->end; i++)
        most = m->t->wanted[i]->count > most ? m->t->wanted[i]->count : most;
    m->spare = mem_array(most, sizeof *m->spare);
    for (size_t i = m->begin; i < m->end; i++)
        add_row(m, m->t->wanted[i], &m->table);
    mem_free(m->spare);
}

/* Copies the pixels of the reflections of *m into the table from pixel `first` on.  The table has
 * room for them. */
static void copy_pixels(const struct making *m, size_t first, struct reflection_table *table)
{
    const struct reflection_table *from = &m->table;
    if (!from->npixels)
        return;
    memcpy(table->pixels + first, from->pixels, from->npixels * sizeof *from->pixels);
    if (table->has_slopes)
        memcpy(table->slopes + first, from->slopes, from->npixels * sizeof *from->slopes);
}

/* Joins the rows of all threads, in their order, into one table. */
static void join_all(const struct making *some, size_t count, int threads,
                     struct reflection_table *table)
{
    size_t *first = mem_array(count, sizeof *first);
    for (size_t i = 0; i < count; i++) {
        const struct reflection_table *from = &some[i].table;
        memmove(table->rows + table->count, from->rows, from->count * sizeof *from->rows);
        table->count += from->count;
        first[i] = table->npixels;
        table->npixels += from->npixels;
    }
    table->pixels = mem_array(table->npixels, sizeof *table->pixels);
    table->slopes = table->has_slopes ? mem_array(table->npixels, sizeof *table->slopes) : NULL;
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < count; i++)
        copy_pixels(&some[i], first[i], table);
    mem_free(first);
}

/* Allocates the labels if they are wanted, and *most, the largest share of each pixel so far. */
static void open_labels(const struct shares *s, const struct reflections_wanted *wanted,
                        struct reflection_table *table, float **most)
{
    if (!wanted->labels)
        return;
    table->nlabels = (size_t)experiment_pixels(s->x);
    table->labels = mem_array(table->nlabels, sizeof *table->labels);
    *most = mem_array(table->nlabels, sizeof **most);
}

/* Makes all rows. If labels are wanted, a single thread makes them, because the label of a pixel
 * depends on the order of the rows. */
static void make_rows(const struct sorting *t, const struct reflections_wanted *wanted,
                      struct reflection_table *table)
{
    const int threads = t->s->threads;
    const size_t rows = wanted->labels ? t->nwanted + 1 : ROWS;
    const size_t count = (t->nwanted + rows - 1) / rows;
    float *most = NULL;
    struct making *some = mem_array(count, sizeof *some);
    table->rows = mem_array(t->nwanted, sizeof *table->rows);
    open_labels(t->s, wanted, table, &most);
    const struct reflection_table empty = *table;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < count; i++) {
        const size_t begin = i * rows, end = begin + rows;
        some[i] = (struct making){.t = t,
                                  .begin = begin,
                                  .end = end < t->nwanted ? end : t->nwanted,
                                  .table = empty,
                                  .most = most};
        some[i].table.rows += begin;
        make_some(&some[i]);
    }
    join_all(some, count, threads, table);
    for (size_t i = 0; i < count; i++) {
        mem_free(some[i].table.pixels);
        mem_free(some[i].table.slopes);
    }
    mem_free(some);
    mem_free(most);
}

/* Sums the photons without a reflection. Each partial sum has fixed pixels, so that the result
 * does not depend on the number of threads. */
static void count_rest(const struct shares *s, struct reflection_table *table)
{
    enum { SUMS = 8 };  // partial sums side by side: a single sum would wait for its last addition
    const int64_t pixels = experiment_pixels(s->x), count = (pixels + REST - 1) / REST;
    double *sums = mem_array((size_t)count, sizeof *sums);
#pragma omp parallel for num_threads(s->threads)
    for (int64_t k = 0; k < count; k++) {
        const int64_t end = (k + 1) * REST < pixels ? (k + 1) * REST : pixels;
        double sum[SUMS] = {0};
        for (int64_t i = k * REST; i < end; i++)
            sum[i % SUMS] += (double)s->pixels[i];
        for (int i = 0; i < SUMS; i++)
            sums[k] += sum[i];
    }
    for (int64_t k = 0; k < count; k++)
        table->rest_photons += sums[k];
    for (size_t i = 0; i < table->count; i++)
        table->rest_photons -= table->rows[i].photons;
    mem_free(sums);
}

void shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                  struct reflection_table *table)
{
    struct share_room own = {0};
    struct sorting t = {
        .s = s, .room = s->room ? s->room : &own, .band = wave_band(s->x, s->recipe)};
    *table = (struct reflection_table){
        .present = true, .least_photons = wanted->least_photons, .has_slopes = wanted->slopes};
    shares_sort(&t, wanted->least_photons);
    make_rows(&t, wanted, table);
    wave_count_orders(table->rows, table->count);
    count_rest(s, table);
    shares_sort_free(&t);
    share_room_free(&own);
}
