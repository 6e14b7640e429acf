/* The table of reflections of a frame, from its sorted shares. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/mean_beam.h"
#include "engine/shares_sort.h"
#include "physics/reflection.h"

/* What a row says of the lattice point itself. */
static void describe(const struct shares *s, const struct lit_reflection *f,
                     struct reflection_row *row)
{
    const struct lattice *l = &s->recipe->lattices[f->lattice];
    const struct mean_beam beam = mean_beam(s->x, s->recipe);
    const double wavelength_m = beam.weighted_m / beam.weight;
    row->lattice = f->lattice;
    memcpy(row->hkl, f->hkl, sizeof row->hkl);
    row->F2 = (float)reflection_F2(&s->x->crystals[l->crystal].table, f->hkl);
    const size_t middle[2] = {(l->nphi - 1) / 2, l->nphi / 2};
    for (int i = 0; i < 2; i++)
        row->s_1_A += 0.5 * reflection_inside_1_A(l->cells_m + 9 * middle[i], f->hkl, beam.incident,
                                                  wavelength_m);
    if (s->recipe->osc_rad != 0.0 || l->nphi > 1)
        row->phi_deg = rad_to_deg(f->turn / f->photons);
}

/* What rows are made with. */
struct making {
    const struct sorting *t;
    struct lit_pixel *spare;  // owned: as many as a reflection has at most
    float *most;              // owned: for labels
    size_t capacity, slopes_capacity;
};

/* Photons go with |F|^2, and pixels with their derivatives are those that the row lists. */
static bool add_slopes(struct reflection_table *table, const struct reflection_row *row,
                       const struct lit_pixel *lit, size_t *capacity)
{
    const size_t listed = (size_t)row->pixels, first = table->npixels - listed;
    const double per_F = 2.0 / sqrt((double)row->F2);
    float *slopes = mem_grow(table->slopes, first, listed, sizeof *slopes, capacity);
    if (!slopes)
        return false;
    table->slopes = slopes;
    for (size_t k = first; k < table->npixels; k++, lit++) {
        while (lit->pixel != table->pixels[k])
            lit++;
        slopes[k] = (float)(per_F * lit->photons);
    }
    return true;
}

/* One row, if it has photons enough. */
static bool add_row(struct making *m, const struct lit_reflection *f,
                    struct reflection_table *table)
{
    const struct shares *s = m->t->s;
    struct reflection_row *row = &table->rows[table->count];
    struct lit_pixel *lit = m->t->pixels + f->first, *spare = m->spare, *spread = NULL;
    size_t count = f->count;
    bool good = true;
    if (s->footprint) {
        good = footprint_spread(s->footprint, lit, count, &spread, &count);
        lit = spread;
        spare = good ? spread + count : NULL;
    }
    *row = (struct reflection_row){0};
    describe(s, f, row);
    if (good && count)
        good = reflection_measure(s->x, lit, count, spare, row, table, &m->capacity);
    if (good && count && table->has_slopes)
        good = add_slopes(table, row, lit, &m->slopes_capacity);
    if (good && row->photons > table->least_photons) {
        if (m->most)
            reflection_label(table, m->most, table->count, lit, count);
        table->count++;
    } else if (good) {
        table->npixels -= (size_t)row->pixels;
    }
    mem_free(spread);
    return good;
}

static bool make_rows(const struct sorting *t, const struct reflections_wanted *wanted,
                      struct reflection_table *table)
{
    struct making m = {.t = t};
    table->rows = mem_array(t->nwanted, sizeof *table->rows);
    m.spare = mem_array(t->most, sizeof *m.spare);
    bool good = table->rows && m.spare;
    if (good && wanted->labels) {
        table->nlabels = (size_t)experiment_pixels(t->s->x);
        table->labels = mem_array(table->nlabels, sizeof *table->labels);
        m.most = mem_array(table->nlabels, sizeof *m.most);
        good = m.most && table->labels;
    }
    for (size_t i = 0; i < t->nwanted && good; i++)
        good = add_row(&m, t->wanted[i], table);
    mem_free(m.spare);
    mem_free(m.most);
    return good;
}

static void count_rest(const struct shares *s, struct reflection_table *table)
{
    enum { SUMS = 8 };  // beside each other: one waits for its last addition
    const int64_t count = experiment_pixels(s->x);
    double sum[SUMS] = {0};
    for (int64_t i = 0; i < count; i++)
        sum[i % SUMS] += (double)s->pixels[i];
    for (int i = 0; i < SUMS; i++)
        table->rest_photons += sum[i];
    for (size_t i = 0; i < table->count; i++)
        table->rest_photons -= table->rows[i].photons;
}

enum status shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                         struct reflection_table *table, struct error *e)
{
    struct share_room own = {0};
    struct sorting t = {.s = s, .room = s->room ? s->room : &own};
    *table = (struct reflection_table){
        .present = true, .least_photons = wanted->least_photons, .has_slopes = wanted->slopes};
    const bool good = shares_sort(&t, wanted->least_photons) && make_rows(&t, wanted, table);
    if (good)
        count_rest(s, table);
    shares_sort_free(&t);
    share_room_free(&own);
    return good ? STATUS_OK : error_memory(e, "the reflections");
}
