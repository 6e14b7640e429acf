#define FASTMATH_UNFUSED
#include "engine/detector/noise_bad.h"

#include "engine/detector/noise_pixel.h"

/* The first of n->bad that is no earlier pixel than `pixel`. */
static size_t first_from(const struct noise *n, int64_t pixel)
{
    size_t low = 0, high = n->nbad;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (n->bad[middle].pixel < pixel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool noise_bad_is_dead(const struct noise *n, int64_t pixel)
{
    const size_t i = first_from(n, pixel);
    return i < n->nbad && n->bad[i].pixel == pixel && n->bad[i].dead;
}

static double own_counts(const struct noise *n, const struct noise_key *key,
                         const struct bad_pixel *b)
{
    const double mean = (double)b->dark;
    const uint32_t pixel = (uint32_t)b->pixel;
    if (!n->poisson || mean <= 0.0)
        return mean;
    return b->dark < (float)POISSON_SMALL_MEAN
               ? noise_count_small(key, pixel, mean, poisson_table())
               : noise_count_large(key, pixel, mean);
}

void noise_bad_read(const struct noise *n, uint64_t seed, uint64_t id, struct noise_chunk *c,
                    int count)
{
    const struct noise_key key = {seed, id, RNG_DARK};
    for (size_t i = first_from(n, c->first); i < n->nbad && n->bad[i].pixel < c->first + count;
         i++) {
        double *value = &c->value[n->bad[i].pixel - c->first];
        *value = (n->bad[i].dead ? 0.0 : *value) + own_counts(n, &key, &n->bad[i]);
    }
}
