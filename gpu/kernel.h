/* The kernel's launch, callable from C. */
#ifndef BRAGG_GPU_KERNEL_H
#define BRAGG_GPU_KERNEL_H

#include <stdint.h>

#include "engine/detector/noise_loop.h"
#include "gpu/frame.h"
#include "physics/background/background_pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run of rows of a frame. */
struct gpu_rows {
    int64_t first, count;  // rows, numbered through all panels
    int64_t first_pixel;   // number of the pixel that is at the beginning of the output
    int64_t widest;        // most pixels of a row
    int64_t each;          // pixels that a thread computes one after the other, where it may
};

/* Starts the kernel on `stream` (a cudaStream_t): the rows' pixels are written to `out`,
 * device memory; so are what *frame points to and `worst`, see gpu_judge, which the dense form
 * does. Returns a cudaError_t. */
int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                      uint64_t *worst, void *stream);

/* The same for frames in the dense form. */
int gpu_dense_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                     uint64_t *worst, void *stream);

#ifdef __cplusplus
}
#endif

/* The launch of the kernel of frames in closed form, callable from C. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the kernel on `stream` (a cudaStream_t): what *frame and *batch point to is device memory.
 * Returns a cudaError_t. */
int gpu_closed_launch(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                      void *stream);

#ifdef __cplusplus
}
#endif

/* The launches of the kernels of reflections, callable from C. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the kernels on `stream` (a cudaStream_t), that of shares, then that of pieces: what
 * *frame, *batch and *pieces point to is device memory.  Returns a cudaError_t. */
int gpu_shares_launch(const struct gpu_shares *frame, const struct gpu_shares_batch *batch,
                      const struct gpu_pieces *pieces, void *stream);

#ifdef __cplusplus
}
#endif

/* The launches of kernels of derivatives, callable from C. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the kernel of a precision on `stream` (a cudaStream_t): what *frame and *batch point to is
 * device memory.  Returns a cudaError_t. */
typedef int gpu_slopes_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                              void *stream);
gpu_slopes_launch gpu_slopes_mixed_launch, gpu_slopes_double_launch;

#ifdef __cplusplus
}
#endif

/* Starts the kernels that run after the photons are computed.  C code can call them. */

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
