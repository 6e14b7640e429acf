/* The loops of picture.c: picture_loop.c, compiled once per instruction set. */
#ifndef BRAGG_IO_PICTURE_LOOP_H
#define BRAGG_IO_PICTURE_LOOP_H

#include "io/images/picture.h"

struct picture_kernels {
    /* reduced[p->height x p->width] = largest finite pixel of each block, 0 if it has none;
     * `row` has room for one row of the image in its type. */
    void (*reduce)(const struct picture *p, const struct image *image, int64_t fast, int64_t slow,
                   void *row, float *reduced);
    /* Gray from 255 for `white` down to 0 for white + range, linearly. */
    void (*shade)(const float *values, size_t count, double white, double range, uint8_t *gray);
};

extern const struct picture_kernels picture_baseline, picture_avx2, picture_avx512;

#endif
