#include "engine/spots/wave.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/reference/recipe_check.h"
#include "physics/detector/predict.h"

struct wave_band wave_band(const struct experiment *x, const struct recipe *r)
{
    static const double ALIKE = 1e-9;
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const struct mean_beam mean = mean_beam(x, r);
    struct wave_band b = {.mean_m = mean.weighted_m / mean.weight, .shortest_m = INFINITY};
    memcpy(b.incident, mean.incident, sizeof b.incident);
    for (size_t i = 0; i < mean.count; i++)
        if (sources[i].weight > 0.0) {
            b.shortest_m = fmin(b.shortest_m, sources[i].wavelength_m);
            b.longest_m = fmax(b.longest_m, sources[i].wavelength_m);
        }
    b.wide = b.longest_m > b.shortest_m * (1.0 + ALIKE);
    return b;
}

/* Returns the distance of a lattice point from the nearest Ewald sphere of the band, in 1/A: 0
 * between the spheres, negative outside of that of the shortest wavelength, positive inside of
 * that of the longest. */
static double distance_1_A(const struct wave_band *b, const double cell[9], const int32_t hkl[3])
{
    if (!b->wide)
        return reflection_inside_1_A(cell, hkl, b->incident, b->mean_m);
    const double large = reflection_inside_1_A(cell, hkl, b->incident, b->shortest_m);
    const double small = reflection_inside_1_A(cell, hkl, b->incident, b->longest_m);
    return large < 0.0 ? large : small > 0.0 ? small : 0.0;
}

void wave_set(const struct wave_band *band, const struct lattice *l, struct reflection_row *row)
{
    const size_t middle[2] = {(l->nphi - 1) / 2, l->nphi / 2};
    double q[3], sum[3] = {0};
    row->s_1_A = 0.0;
    for (int i = 0; i < 2; i++) {
        const double *cell = l->cells_m + 9 * middle[i];
        row->s_1_A += 0.5 * distance_1_A(band, cell, row->hkl);
        reflection_point(cell, row->hkl, q);
        for (int j = 0; j < 3; j++)
            sum[j] += 0.5 * q[j];
    }
    double wavelength_m = band->mean_m;
    const double square = vec_dot(sum, sum);
    if (band->wide && square > 0.0)  // |i/lambda + q| = 1/lambda
        wavelength_m = fmin(fmax(-2.0 * vec_dot(band->incident, sum) / square, band->shortest_m),
                            band->longest_m);
    row->wavelength_A = (float)m_to_angstrom(wavelength_m);
}

/* --- orders of a ray --------------------------------------------------------------- */

static int32_t divisor(int32_t a, int32_t b)
{
    while (b) {
        const int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return abs(a);
}

/* A row whose indices have a common divisor, and the indices of the first order of its ray. */
struct harmonic {
    int32_t lattice, first[3];
    size_t row;
};

static int compare_places(int32_t lattice, const int32_t hkl[3], int32_t other,
                          const int32_t other_hkl[3])
{
    if (lattice != other)
        return lattice < other ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (hkl[i] != other_hkl[i])
            return hkl[i] < other_hkl[i] ? -1 : 1;
    return 0;
}

static int compare_harmonics(const void *a, const void *b)
{
    const struct harmonic *x = a, *y = b;
    const int order = compare_places(x->lattice, x->first, y->lattice, y->first);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Returns the row of the first order of a ray; NULL: the table does not have it. */
static struct reflection_row *find_first(struct reflection_row *rows, size_t count,
                                         const struct harmonic *h)
{
    size_t begin = 0, end = count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const int order =
            compare_places(rows[middle].lattice, rows[middle].hkl, h->lattice, h->first);
        if (!order)
            return &rows[middle];
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

void wave_count_orders(struct reflection_row *rows, size_t count)
{
    struct harmonic *all = mem_array(count, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t *hkl = rows[i].hkl;
        const int32_t by = divisor(divisor(hkl[0], hkl[1]), hkl[2]);
        rows[i].orders = 1;
        if (by > 1)
            all[n++] =
                (struct harmonic){rows[i].lattice, {hkl[0] / by, hkl[1] / by, hkl[2] / by}, i};
    }
    if (n)
        qsort(all, n, sizeof *all, compare_harmonics);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !compare_places(all[i].lattice, all[i].first, all[end].lattice,
                                                     all[end].first);)
            end++;
        struct reflection_row *first = find_first(rows, count, &all[i]);
        const int32_t orders = (int32_t)(end - i) + (first != NULL);
        if (first)
            first->orders = orders;
        for (size_t k = i; k < end; k++)
            rows[all[k].row].orders = orders;
    }
    mem_free(all);
}
