/* Pixels of a frame in closed form: rows are distributed to threads. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "engine/closed/closed.h"
#include "physics/detector/pixel.h"

/* The row that a thread computes. */
struct row {
    const struct closed *c;
    const struct panel *panel;
    int64_t slow;
    double *sums;             // one per pixel
    struct share_list *list;  // NULL: not wanted
};

/* Computes the photons that one reflection gives to ENSEMBLE_LANES pixels from `fast` on.
 * Returns false if there are none. */
static bool photons_of(const struct row *row, const struct closed_spot *spot, int64_t fast,
                       double photons[ENSEMBLE_LANES])
{
    const struct closed *c = row->c;
    const struct closed_beam *b = &c->beams[c->steps[spot->step].beam];
    const struct sampling *each = &c->x->sampling;
    const int n = each->oversample;
    const bool single = row->panel->layers == 1 && n == 1;
    struct closed_points now, front, first;  // of the latter d alone is set, but for a single point
    struct closed_factors factors = {
        .solid_angle = single || each->each_solid_angle ? &now : &front,
        .capture = single || each->each_thickness ? &now : &first,
        .polarization = single || each->each_polarization ? &now : &front,
        .incident = b->incident,
        .e = b->e,
        .b = b->b,
        .kahn = c->x->beam.kahn,
        .no_polarization = c->x->beam.no_polarization,
        .absorb = spot->absorb};
    now.panel = row->panel;
    now.fast = fast;
    now.slow = row->slow;
    now.oversample = n;
    bool lit = false;
    for (int i = 0; i < ENSEMBLE_LANES; i++)
        photons[i] = 0.0;
    for (now.layer = 0; now.layer < row->panel->layers; now.layer++)
        for (int at = 0; at < n * n; at++) {
            now.sub_fast = at % n;
            now.sub_slow = at / n;
            c->kernels->look(&now);
            if (at == 0 && !single)
                memcpy(first.d, now.d, sizeof first.d);
            if (at == 0 && now.layer == 0 && !single)
                memcpy(front.d, now.d, sizeof front.d);
            if (!c->kernels->sum(&now, &spot->spot, b->incident, &b->waves))
                continue;
            lit = true;
            factors.layer = now.layer;
            c->kernels->add(&now, &factors, spot->scale, photons);
        }
    return lit;
}

/* Adds the photons of one reflection to a pixel.  Returns false if memory cannot be allocated. */
static bool add_photons(const struct row *row, const struct closed_spot *spot, int64_t fast,
                        double photons)
{
    row->sums[fast] += photons;
    if (!row->list)
        return true;
    const struct closed_step *step = &row->c->steps[spot->step];
    const double turn = row->c->recipe->lattices[step->lattice].phi_rad[step->step];
    struct share share = {.lattice = (int32_t)step->lattice, .photons = photons};
    share.pixel = row->panel->first_pixel + row->slow * row->panel->fast_pixels + fast;
    share.turn = photons * turn;
    memcpy(share.hkl, spot->hkl, sizeof share.hkl);
    return share_add(row->list, &share);
}

/* Adds one reflection to all pixels of the row that get photons of it.  Returns false if memory
 * cannot be allocated. */
static bool add_place(const struct row *row, const struct closed_place *place)
{
    const struct closed_spot *spot = &row->c->spots[place->spot];
    double photons[ENSEMBLE_LANES];
    bool good = true;
    for (int64_t from = place->fast_min; from <= place->fast_max; from += ENSEMBLE_LANES) {
        if (!photons_of(row, spot, from, photons))
            continue;
        for (int i = 0; i < ENSEMBLE_LANES && from + i <= place->fast_max && good; i++)
            if (photons[i] > 0.0 && pixel_is_computed(row->panel, from + i, row->slow))
                good = add_photons(row, spot, from + i, photons[i]);
    }
    return good;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int same_share(const struct share *a, const struct share *b)
{
    int order = compare(a->pixel, b->pixel);
    order = order ? order : compare(a->lattice, b->lattice);
    for (int i = 0; i < 3 && !order; i++)
        order = compare(a->hkl[i], b->hkl[i]);
    return order;
}

/* Compares shares by pixel, then by their content, so that sums always have the same order. */
static int by_pixel(const void *a, const void *b)
{
    const struct share *p = a, *q = b;
    const int order = same_share(p, q);
    if (order)
        return order;
    const double d = p->photons - q->photons, t = p->turn - q->turn;
    return d != 0.0 ? (d > 0.0) - (d < 0.0) : (t > 0.0) - (t < 0.0);
}

/* Sorts shares by pixel, and joins shares of the same reflection. */
static void sort_shares(struct share_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_pixel);
    for (size_t i = 0; i < list->count; i++) {
        struct share *last = kept ? &list->items[kept - 1] : NULL;
        if (last && same_share(last, &list->items[i]) == 0) {
            last->photons += list->items[i].photons;
            last->turn += list->items[i].turn;
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

/* Computes one row. sums[] is 0 before and after the call. */
static bool run_row(const struct row *row, const struct closed_row_places *places, int64_t number,
                    float *pixels)
{
    const size_t begin = places->begin[number], end = places->begin[number + 1];
    float *out = pixels + row->panel->first_pixel + row->slow * row->panel->fast_pixels;
    bool good = true;
    memset(out, 0, (size_t)row->panel->fast_pixels * sizeof *out);
    for (size_t i = begin; i < end && good; i++)
        good = add_place(row, &row->c->places[places->items[i]]);
    for (size_t i = begin; i < end; i++) {
        const struct closed_place *place = &row->c->places[places->items[i]];
        for (int64_t fast = place->fast_min; fast <= place->fast_max; fast++)
            if (row->sums[fast] != 0.0) {
                out[fast] = (float)row->sums[fast];
                row->sums[fast] = 0.0;
            }
    }
    if (row->list)
        sort_shares(row->list);
    return good;
}

/* Returns the number of rows of the frame before panel `index`. */
static int64_t rows_above(const struct experiment *x, int32_t index)
{
    int64_t rows = 0;
    for (int32_t i = 0; i < index; i++)
        rows += x->panels[i].slow_pixels;
    return rows;
}

bool closed_sort_places(const struct closed *c, struct closed_row_places *places)
{
    const int64_t nrows = experiment_rows(c->x);
    size_t total = 0;
    places->begin = mem_array((size_t)nrows + 2, sizeof *places->begin);
    if (!places->begin)
        return false;
    size_t *next = places->begin + 1;
    for (size_t i = 0; i < c->nplaces; i++) {
        const struct closed_place *p = &c->places[i];
        const int64_t above = rows_above(c->x, p->panel);
        for (int64_t row = p->row_min; row <= p->row_max; row++, total++)
            next[above + row + 1]++;
    }
    for (int64_t row = 0; row < nrows; row++)
        next[row + 1] += next[row];
    places->items = mem_array(total, sizeof *places->items);
    for (size_t i = 0; places->items && i < c->nplaces; i++) {
        const struct closed_place *p = &c->places[i];
        const int64_t above = rows_above(c->x, p->panel);
        for (int64_t row = p->row_min; row <= p->row_max; row++)
            places->items[next[above + row]++] = i;
    }
    return places->items;
}

/* Computes all rows of a panel.  Returns false if memory cannot be allocated. */
static bool run_panel(const struct closed *c, const struct closed_row_places *places, int threads,
                      size_t index, float *pixels, struct share_list *lists,
                      atomic_uint_fast64_t *rows)
{
    const struct panel *p = &c->x->panels[index];
    const int64_t above = rows_above(c->x, (int32_t)index);
    bool good = true;
#pragma omp parallel num_threads(threads) reduction(&& : good)
    {
        double *sums = mem_array((size_t)p->fast_pixels, sizeof *sums);
        good = sums;
#pragma omp for schedule(dynamic, 8)
        for (int64_t slow = 0; slow < p->slow_pixels; slow++) {
            const struct row row = {c, p, slow, sums, lists ? &lists[above + slow] : NULL};
            good = good && run_row(&row, places, above + slow, pixels);
            if (rows)
                atomic_fetch_add_explicit(rows, 1, memory_order_relaxed);
        }
        mem_free(sums);
    }
    return good;
}

enum status closed_rows(const struct closed *c, int threads, float *pixels,
                        struct share_list *lists, atomic_uint_fast64_t *rows, struct error *e)
{
    struct closed_row_places places = {0};
    bool good = closed_sort_places(c, &places);
    for (size_t i = 0; i < c->x->npanels && good; i++)
        good = run_panel(c, &places, threads, i, pixels, lists, rows);
    mem_free(places.begin);
    mem_free(places.items);
    return good ? STATUS_OK : error_memory(e, "the pixels of the reflections");
}
