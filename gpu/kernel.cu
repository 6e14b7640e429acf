/*
 * The CUDA kernel of what is not for that of gpu/dense.h: one thread a pixel, one block GPU_THREADS
 * neighbours of a row, all rows of all panels in one launch.  Everything a thread does stands in
 * gpu/pixel.h. Compile with -fmad=false, so that a multiplication and an addition are one operation
 * only where fused() says so.
 */
#include <cuda_runtime.h>

#include "gpu/kernel.h"
#include "gpu/layout.h"
#include "gpu/pixel.h"

/* Blocks of a row are numbered by y, because x goes further.  One kernel for each kind,
 * so that the registers of the larger ones are not taken from the smaller. */
template <bool PRECISE, bool CUBIC>
__global__ void __launch_bounds__(GPU_THREADS, CUBIC ? 2 : 4)
    gpu_pixels(const struct gpu_frame frame, const struct gpu_rows rows, float *out)
{
    const struct gpu_kind kind = {PRECISE, CUBIC};
    gpu_thread(&frame, kind, rows.first + blockIdx.x, blockIdx.y, (int)threadIdx.x,
               rows.first_pixel, out);
}

extern "C" int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows,
                                 float *out, void *stream)
{
    if (frame->ndense)
        return gpu_dense_launch(frame, rows, out, stream);
    static void (*const kernels[2][2])(const struct gpu_frame, const struct gpu_rows, float *) = {
        {gpu_pixels<false, false>, gpu_pixels<false, true>},
        {gpu_pixels<true, false>, gpu_pixels<true, true>},
    };
    const dim3 grid((unsigned)rows->count,
                    (unsigned)((rows->widest + GPU_THREADS - 1) / GPU_THREADS));
    kernels[frame->kind.precise][frame->kind.cubic]<<<grid, GPU_THREADS, 0, (cudaStream_t)stream>>>(
        *frame, *rows, out);
    return (int)cudaGetLastError();
}
