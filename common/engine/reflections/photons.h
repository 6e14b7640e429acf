/* The check that the photons of every pixel are finite. */
#ifndef BRAGG_ENGINE_PHOTONS_H
#define BRAGG_ENGINE_PHOTONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/portable_math.h"
#include "model/experiment.h"

/* Returns true if the number is neither infinite nor NaN: infinity minus infinity is NaN, and
 * NaN is not equal to any number. */
HD bool photons_finite(float photons)
{
    return photons - photons == 0.0f;
}

/* Returns true if all numbers are finite. The speed of the memory limits this loop. */
HD bool photons_are_finite(const float *photons, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count; i++)
        bad |= photons_finite(photons[i]) ? 0 : 1;
    return !bad;
}

/* Sets out[i] to a[i] + b[i], and *crc to the CRC-32C of out, which is computed while out[] is
 * in the cache. Uses the threads of program_threads, unless the images are small. Returns false if
 * a sum is not finite. `out` may be `a`. */
bool photons_add(const float *a, const float *b, size_t count, float *out, uint32_t *crc);

/* Returns the number of threads, of `threads`, for a program that only adds images of `count`
 * pixels. More threads are not faster, because the memory limits them, and take more CPU time. */
int photons_threads(int threads, size_t count);

/* Returns STATUS_INPUT. The error names the pixel of frame `id`, its panel and its value. */
enum status photons_refuse(const struct experiment *x, uint64_t id, int64_t pixel, float photons,
                           struct error *e);

/* Returns STATUS_INPUT for the first pixel of frame `id`, of all panels, that is not finite. */
enum status photons_check(const struct experiment *x, uint64_t id, const float *photons,
                          struct error *e);

#endif
