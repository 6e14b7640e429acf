/* The launches of the kernels of reflections, callable from C. */
#ifndef BRAGG_GPU_SHARES_KERNEL_H
#define BRAGG_GPU_SHARES_KERNEL_H

#include "gpu/shares_frame.h"

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

#endif
