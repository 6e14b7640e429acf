/* Inverses of counts, for searches through probabilities: a table is faster than a division, on a
 * card in the memory that all threads read at once. */
#ifndef BRAGG_ENGINE_NOISE_INVERSE_H
#define BRAGG_ENGINE_NOISE_INVERSE_H

#include "physics/noise/poisson.h"

enum { INVERSES = POISSON_NEAR_END + 8 };  // and ends of vectors

/* 1/k. */
#ifdef __CUDACC__
__constant__
#endif
    static const float inverse[INVERSES] = {
#define I(k) 1.0f / (k)
#define I10(k) \
    I(k), I(k + 1), I(k + 2), I(k + 3), I(k + 4), I(k + 5), I(k + 6), I(k + 7), I(k + 8), I(k + 9)
        0.0f, I10(1), I10(11), I10(21), I10(31), I10(41),
#undef I10
#undef I
};

#endif
