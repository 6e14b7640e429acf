/* Fourier transforms of boxes, in single precision: for convolutions on the grid of indices. */
#ifndef BRAGG_ENGINE_FOURIER_H
#define BRAGG_ENGINE_FOURIER_H

#include <stdbool.h>

struct wave {
    float re, im;
};

/* The least number of at least n that has no prime factor above 5. */
int fourier_size(int n);

/* Transforms z[n0 n1 n2] in place, sizes as above, the last index fastest: sum over x of
 * z(x) exp(-2 pi i k x/n).  Same bytes for any number of threads.  False when memory is out. */
bool fourier_box(struct wave *z, const int n[3], int threads);

#endif
