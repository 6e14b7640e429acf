/* What background.c and the loop of background_loop.c share. */
#ifndef BRAGG_PHYSICS_BACKGROUND_LOOP_H
#define BRAGG_PHYSICS_BACKGROUND_LOOP_H

#include <stdint.h>

#include "physics/background/background_pixel.h"

enum { BACKGROUND_RUN = 256 };  // pixels whose arrays stay in the first cache

/* Compiled for one instruction set; every one gives the bytes of background_photons. */
struct background_kernels {
    /* Photons of `count` pixels of a row, at most BACKGROUND_RUN, from (fast, slow) on, whether
     * they are computed or not. */
    void (*run)(const struct background_scene *scene, const struct panel *p, int64_t fast,
                int64_t slow, int count, float *photons);
};

extern const struct background_kernels background_kernels_baseline, background_kernels_avx2,
    background_kernels_avx512;

#endif
