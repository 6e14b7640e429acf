/* Inside the engines: what pixels add to the sums of a request for derivatives. */
#ifndef BRAGG_ENGINE_DERIVE_SUMS_H
#define BRAGG_ENGINE_DERIVE_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/derivatives/derive.h"

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
