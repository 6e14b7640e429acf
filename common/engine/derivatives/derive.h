/*
 * Derivatives of an image by parameters (parameter.h): the request to an engine, and code that all
 * engines share.
 *
 * Everything that changes by jumps is taken as fixed: the nearest index of a structure factor,
 * regions of interest and masks, the blocks of a crystal that the beam meets, and the widths of
 * footprints.
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
struct panel_move;

/* Data to compare with a model of mean m = scale * photons + background + variance, where counts
 * plus variance are taken as Poisson (shifted Poisson; Snyder, Hammoud and White, J. Opt. Soc.
 * Am. A 10, 1014, 1993).  All arrays have an item for each pixel of the request. */
struct derive_data {
    const float *counts;      // photons; NaN: pixel left out; NULL: the expected counts, where they
                              // are above 0
    const float *background;  // photons; NULL: none
    double scale;             // factor on the photons of this image
    double variance;          // variance of the readout, photons^2
};

/* Sums over the pixels.  The function that allocated the arrays frees them. */
struct derive_sums {
    double *gradient;      // [count]: J^T ((counts + variance)/m - 1); 0 without counts
    double *fisher;        // [count x count]: J^T J / m
    double *shared;        // [count]: J^T background/m, the row of the Fisher matrix for a factor
                           // on the background; NULL: not wanted
    double of_background;  // sum of background^2/m: diagonal element of that row
    double likelihood;     // sum of m - (counts + variance) ln m: smaller is better; 0 without
                           // counts
    double photons;        // sum of scale * photons
    int64_t pixels;        // number of pixels that counted
};

/* A request.  An output that is not wanted is NULL. */
struct derive_request {
    const struct parameters *set;
    const int64_t *listed;  // input: numbers of pixels of the image, in any order; NULL: all
                            // pixels, in order
    size_t npixels;         // number of pixels of the request: length of the list, or
                            // experiment_pixels()
    double *photons;        // [npixels]: the image before rounding to float32; from the cpu engine
                            // in mixed precision, within the error of its image, but not with the
                            // same bytes
    float *planes;          // [set->count x npixels]: derivative images
    const float *weights;   // [npixels]: input of `product`
    double *product;        // [set->count]: J^T weights
    const struct derive_data *data;  // input of `sums`
    /* [npanels x set->count]: how a unit of each parameter moves each panel of the experiment.
     * NULL: slopes_move computes the moves.  A smeared sensor sets them, because its thin images
     * have parts of panels as their panels, and each part moves as the whole panel does. */
    const struct panel_move *moves;
    struct derive_sums *sums;
};

/* The position of a pixel on its panel. */
struct derive_place {
    int64_t number, fast, slow;
};

/* Returns the place of the next pixel.  It is often the neighbour of the last one, for which the
 * slow divisions are not needed. */
static inline struct derive_place derive_place_next(struct derive_place last, int64_t number,
                                                    int64_t fast_pixels)
{
    const bool follows = number == last.number + 1 && last.fast + 1 < fast_pixels;
    const struct derive_place neighbour = {number, last.fast + 1, last.slow};
    return follows ? neighbour
                   : (struct derive_place){number, number % fast_pixels, number / fast_pixels};
}

enum {
    DERIVE_BLOCK = 128,      // largest number of pixels that are computed together
    DERIVE_BATCH = 1 << 17,  // largest number of pixels requested from an engine at a time: whole
                             // blocks
    DERIVE_SUMS_MAX = 3 * PARAMETERS_MAX + PARAMETERS_MAX * (PARAMETERS_MAX + 1) / 2 + 4,
};

/* Computes photons and derivatives of `count` pixels of one panel, 1 .. DERIVE_BLOCK.  Pixel i gets
 * its photons in values[0][i] and its derivatives in values[1 .. set->count][i].  numbers[] count
 * the pixels of the panel, row by row; all of them are pixels to compute.  The values of a pixel
 * must not depend on the other pixels of the call.  Called by several threads. */
typedef void derive_pixels(const void *context, const struct panel *p, const int64_t *numbers,
                           int count, double (*values)[DERIVE_BLOCK]);

/* Returns true if the request asks only for derivative images. */
static inline bool derive_planes_only(const struct derive_request *q)
{
    return !q->photons && !q->weights && !q->data;
}

/* Callbacks that compute many pixels at a time.  Two batches are under way at once: one is computed
 * while the host processes the other.  The thread of derive_run calls them. */
struct derive_batches {
    /* Starts to compute items first .. first + count - 1 of the request as batch 0 or 1 (`place`).
     * The first call has the largest `count`, at most DERIVE_BATCH.  *values is valid from `wait`
     * until the next `begin` for this place.  It has doubles, photons and then derivatives, or, if
     * only derivative images are requested, floats, derivatives.  The values of pixel i are in item
     * [k * count + i]; they are 0 for a pixel that is not computed. */
    enum status (*begin)(const void *context, const struct derive_request *q, size_t first,
                         size_t count, int place, const void **values, struct error *e);
    /* Waits for the batch in `place`.  After an error no batch is under way. */
    enum status (*wait)(const void *context, int place, struct error *e);
};

/* Input of derive_run from an engine. */
struct derive_job {
    const struct experiment *x;
    const struct recipe *recipe;
    struct footprint *footprint;  // NULL: the crystals are points
    int threads;
    derive_pixels *pixels;                 // NULL: use `batches`
    const struct derive_batches *batches;  // for an engine that computes many pixels at a time;
                                           // else NULL
    const void *context;
};

/* Returns STATUS_INPUT if the recipe cannot serve the request: no such lattice, only one mosaic
 * domain, or no such pixel. */
enum status derive_check(const struct experiment *x, const struct recipe *recipe,
                         const struct derive_request *request, struct error *e);

/* Serves a request that derive_check has accepted, with calls of job->pixels for blocks, on the
 * threads of the job.  The numbers are the same for any number of threads.  STATUS_INPUT: the model
 * is not positive in a pixel with data.  STATUS_FAILED: memory cannot be allocated. */
enum status derive_run(const struct derive_job *job, const struct derive_request *request,
                       struct error *e);

/* Sums of a request whose photons and derivative images come from other code.  Initial value:
 * {0}. */
struct derive_total {
    double sums[DERIVE_SUMS_MAX];
};

/* Adds `count` items of a request, from item `first` on: photons[count] and planes[set->count x
 * count].  STATUS_INPUT: as derive_run. */
enum status derive_total_add(struct derive_total *t, const struct derive_request *request,
                             size_t first, size_t count, const double *photons, const float *planes,
                             struct error *e);

/* Stores the product and the sums in the request. */
void derive_total_give(const struct derive_total *t, const struct derive_request *request);

/* Inside the engines: what pixels add to the sums of a request for derivatives. */

/* The layout of the array of sums for `count` parameters: [count] items of the product, of the
 * gradient and of the terms shared with the background, then the lower half of the Fisher
 * matrix, row by row, then single numbers. */
enum derive_single {
    DERIVE_LIKELIHOOD,
    DERIVE_PIXELS,
    DERIVE_PHOTONS,
    DERIVE_OF_BACKGROUND,
    DERIVE_SINGLES,
};

static inline size_t derive_at_gradient(size_t count)
{
    return count;
}

static inline size_t derive_at_shared(size_t count)
{
    return 2 * count;
}

static inline size_t derive_at_fisher(size_t count)
{
    return 3 * count;
}

static inline size_t derive_at_singles(size_t count)
{
    return derive_at_fisher(count) + count * (count + 1) / 2;
}

static inline size_t derive_sums_size(size_t count)
{
    return derive_at_singles(count) + DERIVE_SINGLES;
}

/* Adds items first .. first + items - 1 of the request, DERIVE_BLOCK at most, whose photons and
 * derivatives are values[]; those of items that are not there may be changed.  False where data
 * meet a mean that is not positive.  The same bytes wherever products are fused with sums. */
typedef bool derive_add(const struct derive_request *q, size_t first, int items,
                        double (*values)[DERIVE_BLOCK], double *sums);

extern derive_add derive_add_baseline, derive_add_avx2, derive_add_avx512;

#endif
