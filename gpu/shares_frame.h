/*
 * A frame whose reflections are wanted, as the threads of a GPU see it: what each reflection gives
 * to a pixel, see engine/shares.h, in as many places as a pixel has at most.
 */
#ifndef BRAGG_GPU_SHARES_FRAME_H
#define BRAGG_GPU_SHARES_FRAME_H

#include "gpu/frame.h"

enum { GPU_SHARES = 8 };  // reflections of a pixel; more are for the host

/* Photons above 0. */
struct gpu_share {
    int64_t key;  // of h, k, l: hkl_key
    double photons, turn;
    int32_t lattice;
};

/* What a lattice has beside its struct cpu_lattice. */
struct gpu_turning {
    const double *phi_rad;  // of each phi step; NULL: angles do not count
    size_t ndomains;
};

struct gpu_shares {
    struct gpu_frame frame;
    const struct gpu_turning *turning;  // [nlattices]
    double least_photons;               // terms of a pixel that may be lost are this together
};

/* Pixels to compute. */
struct gpu_shares_batch {
    const int64_t *numbers;  // of the image
    size_t count;
    struct gpu_share *shares;  // [GPU_SHARES x count]: those of a pixel are `count` apart
    int32_t *found;            // [count]: how many there are; more than GPU_SHARES: not all of them
};

#endif
