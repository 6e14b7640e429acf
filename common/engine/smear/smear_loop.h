/*
 * The loops of a smeared sensor, compiled once per instruction set.  First the subpixels of a thin
 * image are summed, then the weights of a cell are listed, then the sums are added to pixels.  No
 * multiplication is fused with an addition, so that all instruction sets and the GPU (gpu/smear.h)
 * give the same bytes.
 */
#ifndef BRAGG_ENGINE_SMEAR_LOOP_H
#define BRAGG_ENGINE_SMEAR_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "physics/detector/smear.h"

/* A row of a thin image and the rows below it, which are summed to squares of subpixels. */
struct smear_squares {
    int oversample;      // subpixels along the edge of a square
    const float *from;   // the first subpixel of the first square
    int64_t stride;      // from a subpixel to the one below it
    int first, rows;     // the rows that there are, of `oversample`: the others are dark
    int64_t begin, end;  // the columns that there are: the others are dark
    int64_t columns;     // number of squares whose first subpixels are `oversample` apart
    float *down;         // room for (columns + 1) * oversample sums
    float *phase;        // likewise
    float *to;           // [oversample][columns]: squares that begin at subpixels 0, 1, ...
};

/* The taps of a cell: subpixels along slow and then along fast to which one of the kernels around
 * gives a weight.  Loops store up to SMEAR_ROOM more items of `weight` and `place`, and read as
 * many of `column`.  The weights of kernels have the surroundings of SMEAR_NODES_PAD. */
struct smear_taps {
    const struct smear_kernel *around[4];  // as in smear_tap.weight
    int top, left;                         // subpixels along slow and fast, relative to a pixel
    int64_t stride;                        // place of a tap at slow top + 1, if that at `top` is 0
    const int64_t *column;                 // places of taps along fast: of `left` and after it
    double *weight[4];  // at the left nodes, and how much larger below; likewise at the right
    int64_t *place;
};

/* A row of pixels of a cell.  Tap number i adds sums[place[i]] to the first pixel, and the sums
 * after it to the next pixels.  Its weight is that of smear_tap_weight for `left` and `right`: the
 * weights at the upper nodes and how much larger they are at the lower ones. */
struct smear_row {
    size_t taps;
    const double *left[2], *right[2];  // [taps]
    const int64_t *place;              // [taps]
    const float *sums;
    double down, across, step;  // see smear_tap_weight
    float *weight, *slope;      // room, [taps]
};

struct smear_loops {
    void (*squares)(const struct smear_squares *s);
    /* Lists the taps of a cell.  Returns their number. */
    size_t (*taps)(const struct smear_taps *t);
    /* Computes `pixels` pixels, of SMEAR_NODE at most, into photons[SMEAR_NODE].  Reads and stores
     * SMEAR_ROOM more. */
    void (*row)(const struct smear_row *r, int pixels, float *photons);
    /* Does the same for two rows of a cell, with the same members but `sums`, `down`, `weight` and
     * `slope`. */
    void (*two_rows)(const struct smear_row r[2], int pixels, float *const photons[2]);
};

enum { SMEAR_ROOM = 16 };

extern const struct smear_loops smear_loops_baseline, smear_loops_avx2, smear_loops_avx512;

/* Returns the loops of an instruction set. */
const struct smear_loops *smear_loops_of(enum isa isa);

#endif
