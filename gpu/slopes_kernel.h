/* The launches of kernels of derivatives, callable from C. */
#ifndef BRAGG_GPU_SLOPES_KERNEL_H
#define BRAGG_GPU_SLOPES_KERNEL_H

#include "gpu/slopes_frame.h"

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

#endif
