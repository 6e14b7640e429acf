/*
 * Makes the table of reflections from shares of pixels: memory for lists of shares; position and
 * size of a reflection, from the photons of its pixels; and the table, which several threads make
 * from sorted shares (shares_sort.h).
 */
#include "engine/spots/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/engine.h"
#include "engine/spots/shares_sort.h"
#include "engine/spots/wave.h"
#include "physics/detector/predict.h"

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
 * pixels. */
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
