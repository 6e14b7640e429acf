/*
 * Derivatives of an image by parameters (parameter.h): what is asked of an engine, and what all
 * engines share.  All of it is of the branch in use: F at the nearest index does not see the
 * index switch, regions and masks are fixed, and so are the blocks that the beam meets and the
 * widths of footprints.
 */
#ifndef BRAGG_ENGINE_DERIVE_H
#define BRAGG_ENGINE_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/derivatives/parameter.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct footprint;

/* Data to compare with a model of mean m = scale * photons + background + variance, where counts
 * plus variance are taken as Poisson (shifted Poisson; Snyder, Hammoud and White, J. Opt. Soc.
 * Am. A 10, 1014, 1993).  All arrays have an item for each pixel of the request. */
struct derive_data {
    const float *counts;      // photons; NaN: left out; NULL: as expected, where that is above 0
    const float *background;  // photons; NULL: none
    double scale;             // of the photons of this image
    double variance;          // of readout, photons^2
};

/* Sums over the pixels.  The function that allocated the arrays frees them. */
struct derive_sums {
    double *gradient;      // [count]: J^T ((counts + variance)/m - 1); 0 without counts
    double *fisher;        // [count x count]: J^T J / m
    double *shared;        // [count]: J^T background/m, of the Fisher matrix with the background,
                           // to a factor; NULL: not wanted
    double of_background;  // sum of background^2/m: likewise
    double likelihood;     // sum of m - (counts + variance) ln m: smaller is better; 0 without
    double photons;        // sum of scale * photons
    int64_t pixels;        // that counted
};

/* The outputs that are asked for; NULL for an output that is not wanted. */
struct derive_request {
    const struct parameters *set;
    const int64_t *listed;  // numbers of pixels of the image, in any order; NULL: all, in order
    size_t npixels;         // of the request: of the list, or experiment_pixels()
    double *photons;        // [npixels]: the image, not yet rounded to float32; of the cpu engine
                            // in mixed precision within that of its image, not its bytes
    float *planes;          // [set->count x npixels]
    const float *weights;   // [npixels]: of `product`
    double *product;        // [set->count]: J^T weights
    const struct derive_data *data;  // of `sums`
    struct derive_sums *sums;
};

/* Where a pixel of a panel is. */
struct derive_place {
    int64_t number, fast, slow;
};

/* The next one, often the neighbour: divisions are slow. */
static inline struct derive_place derive_place_next(struct derive_place last, int64_t number,
                                                    int64_t fast_pixels)
{
    const bool follows = number == last.number + 1 && last.fast + 1 < fast_pixels;
    const struct derive_place neighbour = {number, last.fast + 1, last.slow};
    return follows ? neighbour
                   : (struct derive_place){number, number % fast_pixels, number / fast_pixels};
}

enum {
    DERIVE_BLOCK = 128,      // pixels that are computed together, at most
    DERIVE_BATCH = 1 << 17,  // ... and that an engine is asked for at a time: whole blocks
    DERIVE_SUMS_MAX = 3 * PARAMETERS_MAX + PARAMETERS_MAX * (PARAMETERS_MAX + 1) / 2 + 4,
};

/* Photons, then derivatives, of `count` pixels of one panel, 1 .. DERIVE_BLOCK: pixel i has
 * values[k][i], k = 0 .. set->count.  numbers[] count within the panel, row by row.  The pixels
 * are computed; what a pixel gets may not depend on those beside it.  Called by several threads. */
typedef void derive_pixels(const void *context, const struct panel *p, const int64_t *numbers,
                           int count, double (*values)[DERIVE_BLOCK]);

/* Whether nothing but planes is asked. */
static inline bool derive_planes_only(const struct derive_request *q)
{
    return !q->photons && !q->weights && !q->data;
}

/* Many pixels at a time, of which two batches are under way at once: one is computed while the host
 * takes the other.  Called by the thread of derive_run. */
struct derive_batches {
    /* Begins with items first .. first + count - 1 of the request, DERIVE_BATCH at most and never
     * more than at the first call, in place 0 or 1.  *values will be there after `wait`, until
     * that place is begun with again: doubles, photons, then derivatives, or, of planes only,
     * floats, derivatives.  Pixel i has [k * count + i], 0 where it is not computed. */
    enum status (*begin)(const void *context, const struct derive_request *q, size_t first,
                         size_t count, int place, const void **values, struct error *e);
    /* After an error nothing is under way. */
    enum status (*wait)(const void *context, int place, struct error *e);
};

/* What an engine hands over to derive_run. */
struct derive_job {
    const struct experiment *x;
    const struct recipe *recipe;
    struct footprint *footprint;  // NULL: of points
    int threads;
    derive_pixels *pixels;                 // or ...
    const struct derive_batches *batches;  // ... for an engine that wants many at a time
    const void *context;
};

/* STATUS_INPUT for a request that the recipe cannot serve: no such lattice, one mosaic domain, no
 * such pixel. */
enum status derive_check(const struct experiment *x, const struct recipe *recipe,
                         const struct derive_request *request, struct error *e);

/* Serves a request that is checked by calls of job->pixels, in blocks, on its threads;
 * the same numbers for any number of them.  STATUS_INPUT for a model that is not positive where
 * there are data, STATUS_FAILED when memory is out. */
enum status derive_run(const struct derive_job *job, const struct derive_request *request,
                       struct error *e);

/* Sums of a request whose photons and planes come from elsewhere; begins as {0}. */
struct derive_total {
    double sums[DERIVE_SUMS_MAX];
};

/* Adds `count` items of a request, from `first` on: photons[count], planes[set->count x count].
 * STATUS_INPUT as derive_run. */
enum status derive_total_add(struct derive_total *t, const struct derive_request *request,
                             size_t first, size_t count, const double *photons, const float *planes,
                             struct error *e);

/* Gives the request its product and sums. */
void derive_total_give(const struct derive_total *t, const struct derive_request *request);

#endif
