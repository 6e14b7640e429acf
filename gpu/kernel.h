/* The kernel's launch, callable from C. */
#ifndef BRAGG_GPU_KERNEL_H
#define BRAGG_GPU_KERNEL_H

#include <stdint.h>

#include "gpu/frame.h"

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

#endif
