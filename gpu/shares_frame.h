/*
 * A frame whose reflections are wanted, as the threads of a GPU see it: what each reflection gives
 * to a pixel, see engine/spots/shares.h, in as many places as a pixel has at most; then pieces of
 * it.
 */
#ifndef BRAGG_GPU_SHARES_FRAME_H
#define BRAGG_GPU_SHARES_FRAME_H

#include "engine/spots/share_pieces.h"
#include "gpu/frame.h"

enum {
    GPU_SHARES = 16,             // reflections of a pixel; frames with more are not for the card
    GPU_SHARES_RUN = 32,         // pixels of a batch whose pieces are made by one thread
    GPU_SHARES_BATCH = 1 << 19,  // pixels of a batch, at most: whole runs
};

struct gpu_share {
    uint32_t key;  // of the reflection, see struct gpu_keys
    float photons, turn;
};

/* What a lattice has beside its struct cpu_lattice: h, k, l have the key zero - h stride[0] -
 * k stride[1] - l, which no other lattice has. */
struct gpu_keys {
    const double *phi_rad;  // of each phi step; NULL: angles do not count
    size_t ndomains;
    uint32_t zero, stride[2];
};

struct gpu_shares {
    struct gpu_frame frame;
    const struct gpu_keys *keys;  // [nlattices]
    double least_photons;         // terms of a pixel that may be lost are this together
};

/* Pixels to compute. */
struct gpu_shares_batch {
    const uint32_t *numbers;  // [count]: of the image, ascending
    size_t count;
    struct gpu_share *shares;  // [GPU_SHARES x count]: those of a pixel are `count` apart
    int32_t *found;            // [count]: how many there are; more than GPU_SHARES: not all of them
};

/* How much there is of them. */
struct gpu_pieces_used {
    uint64_t pieces, photons;  // of all runs
    uint64_t beyond;           // pixels with more than GPU_SHARES
};

/* Pieces of all batches, in an order that is not known before, in runs whose order is that of the
 * pixels. */
struct gpu_pieces {
    struct share_run *runs;         // [count / GPU_SHARES_RUN, rounded up]
    const struct share_pack *pack;  // of them, here
    struct share_piece *pieces;     // room for `most_pieces`
    float *photons, *turn;          // room for `most`; turn NULL: angles do not count
    uint64_t most_pieces, most;     // runs beyond that are not written
    struct gpu_pieces_used *used;   // is counted from the value that is there
};

/* A copy here. */
struct gpu_pieces_here {
    struct gpu_pieces_used used;
    struct share_pack pack;
    const struct share_run *runs;
};

/* Whether all are there. */
HD bool gpu_pieces_fit(const struct gpu_pieces *p, const struct gpu_pieces_used *used)
{
    return used->pieces <= p->most_pieces && used->photons <= p->most;
}

/* The batch of all that begins with pixel `first`; moves the runs of *pieces there. */
HD struct gpu_shares_batch gpu_shares_cut(const struct gpu_shares_batch *all, size_t first,
                                          const struct gpu_pieces *there, struct gpu_pieces *pieces)
{
    const size_t left = all->count - first;
    const struct gpu_shares_batch batch = {all->numbers + first,
                                           left < GPU_SHARES_BATCH ? left : GPU_SHARES_BATCH,
                                           all->shares, all->found};
    *pieces = *there;
    pieces->runs += first / GPU_SHARES_RUN;
    return batch;
}

#endif
