/* Pixels that do not read what falls on them. */
#ifndef BRAGG_ENGINE_NOISE_BAD_H
#define BRAGG_ENGINE_NOISE_BAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/detector/noise.h"
#include "engine/detector/noise_loop.h"

/* Those of n->bad in the `count` pixels of *c, which hold photons: the dead forget theirs, all
 * get counts of their own, drawn for this frame if n->poisson. */
void noise_bad_read(const struct noise *n, uint64_t seed, uint64_t id, struct noise_chunk *c,
                    int count);

/* Whether no light reaches the counter of a pixel. */
bool noise_bad_is_dead(const struct noise *n, int64_t pixel);

#endif
