/* A source list as payload: each source is five float64, as in memory. */
#ifndef BRAGG_WIRE_CODEC_SOURCE_H
#define BRAGG_WIRE_CODEC_SOURCE_H

#include "base/alloc.h"
#include "model/experiment.h"

_Static_assert(sizeof(struct source) == 5 * sizeof(double),
               "a source travels as it lies in memory");

/* Bytes of a list of `count` sources, SIZE_MAX when they overflow. */
static inline size_t source_bytes(size_t count)
{
    size_t bytes;
    return size_multiply(count, sizeof(struct source), &bytes) ? bytes : SIZE_MAX;
}

#endif
