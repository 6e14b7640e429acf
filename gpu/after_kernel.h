/* Starts the kernels that run after the photons are computed.  C code can call them. */
#ifndef BRAGG_GPU_AFTER_KERNEL_H
#define BRAGG_GPU_AFTER_KERNEL_H

#include "engine/detector/noise_loop.h"
#include "gpu/kernel.h"
#include "physics/background/background_pixel.h"

/* What the kernels found out about the pixels. */
struct gpu_verdict {
    uint64_t bad;               // number << 32 | bits of the photons; GPU_GOOD: none is bad
    uint64_t saturated, below;  // pixels that noise has to cut: at the largest value, below 0
};

/* All pointers are of the card. */
struct gpu_after {
    const float *photons;
    float *background;  // NULL: none
    float *sum;         // of both, where they are not counted; may be `photons`
    void *counts;       // of `type`; PIXEL_F32: not used
    enum pixel_type type;
    struct noise_pixels noise;  // PIXEL_U16 and PIXEL_U32
};

#ifdef __cplusplus
extern "C" {
#endif

/* Background of the rows into `out`, device memory, as are sources and materials of *scene;
 * all panels are flat.  Returns a cudaError_t. */
int gpu_background_launch(const struct gpu_frame *frame, const struct background_scene *scene,
                          const struct gpu_rows *rows, float *out, void *stream);

/* Items first to end - 1 of the arrays, of which item 0 is pixel `first_pixel` of the frame;
 * *verdict, on the card: `bad` becomes the least value of a bad one, the numbers are added to.
 * Returns a cudaError_t. */
int gpu_after_launch(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                     struct gpu_verdict *verdict, void *stream);

#ifdef __cplusplus
}
#endif

#endif
