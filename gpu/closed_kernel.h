/* The launch of the kernel of frames in closed form, callable from C. */
#ifndef BRAGG_GPU_CLOSED_KERNEL_H
#define BRAGG_GPU_CLOSED_KERNEL_H

#include "gpu/closed_frame.h"

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

#endif
