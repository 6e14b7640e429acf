/* The check that the photons of every pixel are finite. */
#ifndef BRAGG_ENGINE_PHOTONS_H
#define BRAGG_ENGINE_PHOTONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/portable_math.h"
#include "model/experiment.h"

/* Neither infinite nor NaN: infinity less itself is NaN, and NaN equals nothing. */
HD bool photons_finite(float photons)
{
    return photons - photons == 0.0f;
}

/* Whether none of them is infinite or NaN.  Bounded by the memory that they lie in. */
HD bool photons_are_finite(const float *photons, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= photons_finite(photons[i]) ? 0 : 1;
    return !bad;
}

/* Into out[i] the sum of a[i] and b[i], and in *crc the CRC-32C of out, formed while it is in the
 * cache; false where one is not finite.  `out` may be `a`. */
bool photons_add(const float *a, const float *b, size_t count, float *out, uint32_t *crc);

/* STATUS_INPUT: says which pixel of frame `id` it is, by its panel, and what it has. */
enum status photons_refuse(const struct experiment *x, uint64_t id, int64_t pixel, float photons,
                           struct error *e);

/* STATUS_INPUT for the first pixel of frame `id`, of all panels, that is not finite. */
enum status photons_check(const struct experiment *x, uint64_t id, const float *photons,
                          struct error *e);

#endif
