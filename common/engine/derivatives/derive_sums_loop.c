/*
 * Sums over pixels of products of their derivatives, compiled once per instruction set: eight
 * partial sums of each, whatever the registers hold, so that bytes are the same.  What bounds them:
 * loads from the first cache, nine for eight products.
 */
#include "engine/derivatives/derive.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "engine/cpu/lanes.h"

enum {
    WIDTH = 8,                   // partial sums
    PARTS = 2 * WIDTH / LANES,   // registers of them
    DOTS = LANES >= 16 ? 8 : 4,  // products at a time: what registers hold
};

/* The factors of the items of a block. They are 0 for items that do not count. */
struct factors {
    alignas(MEM_ALIGNMENT) double counts[DERIVE_BLOCK];  // 1
    double mean[DERIVE_BLOCK];                           // 1 where they do not count
    double seen[DERIVE_BLOCK], background[DERIVE_BLOCK];
    double by_photons[DERIVE_BLOCK];   // likelihood by photons
    double information[DERIVE_BLOCK];  // scale^2/mean
    double shared[DERIVE_BLOCK];       // scale background/mean
};

static double total(const doubles parts[PARTS])
{
    double v[WIDTH];
    memcpy(v, parts, sizeof v);
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

/* Adds the scalar product of one[] and others[k] to to[k] for `count` <= DOTS vectors.  All DOTS
 * pointers in others[] must be valid. */
static void add_dots(const double *one, const double *const others[DOTS], int items, size_t count,
                     double *to)
{
    doubles sums[DOTS][PARTS] = {{{0}}};
    for (int i = 0; i < items; i += WIDTH)
        for (int part = 0; part < PARTS; part++) {
            const int at = i + part * LANES / 2;
            const doubles a = doubles_load(one + at);
            for (int k = 0; k < DOTS; k++)
                sums[k][part] = doubles_fused(a, doubles_load(others[k] + at), sums[k][part]);
        }
    for (size_t k = 0; k < count; k++)
        to[k] += total(sums[k]);
}

/* to[k] += one . rows[k], k < count. */
static void add_products(const double *one, double (*rows)[DERIVE_BLOCK], int items, size_t count,
                         double *to)
{
    for (size_t first = 0; first < count; first += DOTS) {
        const size_t left = count - first < DOTS ? count - first : DOTS;
        const double *others[DOTS];
        for (size_t k = 0; k < DOTS; k++)
            others[k] = rows[first + (k < left ? k : left - 1)];
        add_dots(one, others, items, left, to + first);
    }
}

/* Computes the means of the model, and loads the data. */
static void take_data(const struct derive_data *d, size_t first, int items, const double *photons,
                      struct factors *f)
{
    for (int i = 0; i < items; i++) {
        const size_t item = first + (size_t)i;
        const double background = d->background ? (double)d->background[item] : 0.0;
        const double mean = d->scale * photons[i] + background + d->variance;
        const double seen = d->counts ? (double)d->counts[item] + d->variance : mean;
        const bool counts = d->counts ? !isnan(seen) : mean > 0.0;
        f->counts[i] = counts ? 1.0 : 0.0;
        f->mean[i] = counts ? mean : 1.0;
        f->seen[i] = counts ? seen : 0.0;
        f->background[i] = counts ? background : 0.0;
    }
    for (int i = items; i < DERIVE_BLOCK; i++) {
        f->mean[i] = 1.0;
        f->counts[i] = f->seen[i] = f->background[i] = 0.0;
    }
}

/* Computes the factors that follow from means and data. Returns true if all means are positive. */
static bool weigh(double scale, struct factors *f)
{
    int bad = 0;
    for (int i = 0; i < DERIVE_BLOCK; i++) {  // vectorised
        const double by_mean = f->counts[i] / f->mean[i];
        f->by_photons[i] = scale * (f->seen[i] * by_mean - f->counts[i]);
        f->information[i] = scale * scale * by_mean;
        f->shared[i] = scale * f->background[i] * by_mean;
        bad += f->mean[i] > 0.0 ? 0 : 1;
    }
    return !bad;
}

static void add_singles(const struct derive_data *d, int items, double (*photons)[DERIVE_BLOCK],
                        struct factors *f, double singles[DERIVE_SINGLES])
{
    double seen = 0.0, of_background = 0.0;
    add_products(f->counts, photons, items, 1, &seen);
    add_products(f->counts, &f->counts, items, 1, &singles[DERIVE_PIXELS]);
    singles[DERIVE_PHOTONS] += d->scale * seen;
    for (int i = 0; i < items && d->counts; i++)
        singles[DERIVE_LIKELIHOOD] += f->counts[i] * f->mean[i] - f->seen[i] * log(f->mean[i]);
    if (d->background)
        add_products(f->shared, &f->background, items, 1, &of_background);
    singles[DERIVE_OF_BACKGROUND] += of_background / d->scale;
}

/* Adds to the lower half of the Fisher matrix. */
static void add_fisher(const double *information, int items, size_t count,
                       double (*slopes)[DERIVE_BLOCK], double *to)
{
    alignas(MEM_ALIGNMENT) double row[DERIVE_BLOCK];
    for (size_t k = 0; k < count; k++) {
        for (int i = 0; i < items; i++)  // vectorised
            row[i] = information[i] * slopes[k][i];
        add_products(row, slopes, items, k + 1, to + k * (k + 1) / 2);
    }
}

static bool add_data(const struct derive_request *q, size_t first, int items, int padded,
                     double (*values)[DERIVE_BLOCK], double *sums)
{
    struct factors f;
    const size_t count = q->set->count;
    const struct derive_data *d = q->data;
    take_data(d, first, items, values[0], &f);
    const bool good = weigh(d->scale, &f);
    add_singles(d, padded, values, &f, sums + derive_at_singles(count));
    if (d->counts)
        add_products(f.by_photons, values + 1, padded, count, sums + derive_at_gradient(count));
    if (d->background)
        add_products(f.shared, values + 1, padded, count, sums + derive_at_shared(count));
    add_fisher(f.information, padded, count, values + 1, sums + derive_at_fisher(count));
    return good;
}

bool NAME(derive_add_, ISA)(const struct derive_request *q, size_t first, int items,
                            double (*values)[DERIVE_BLOCK], double *sums)
{
    const int padded = (items + WIDTH - 1) / WIDTH * WIDTH;
    for (size_t k = 0; k <= q->set->count; k++)
        for (int i = items; i < padded; i++)
            values[k][i] = 0.0;
    if (q->weights) {
        alignas(MEM_ALIGNMENT) double weights[DERIVE_BLOCK] = {0.0};
        for (int i = 0; i < items; i++)
            weights[i] = (double)q->weights[first + (size_t)i];
        add_products(weights, values + 1, padded, q->set->count, sums);
    }
    return !q->data || add_data(q, first, items, padded, values, sums);
}
