/*
 * The CUDA kernel of derivatives.  A thread computes one pixel of a list or of a range of pixels.
 * gpu/slopes.h defines what a thread does.  Compile with -fmad=false, like gpu/kernel.cu.
 *
 * There are no kernels for single shapes, because they would need nearly the same number of
 * registers, 208 to 225: most registers hold sums.
 */
#include <cuda_runtime.h>

#ifndef CPU_DOUBLE
#define CPU_DOUBLE 0
#endif
#include "gpu/kernel.h"
#include "gpu/slopes.h"

#if CPU_DOUBLE
#define KERNEL gpu_slopes_double
#define LAUNCH gpu_slopes_double_launch
#else
#define KERNEL gpu_slopes_mixed
#define LAUNCH gpu_slopes_mixed_launch
#endif

__global__ void __launch_bounds__(GPU_THREADS, 2)
    KERNEL(const struct gpu_slopes frame, const struct gpu_slopes_batch batch)
{
    const size_t i = (size_t)blockIdx.x * GPU_THREADS + threadIdx.x;
    if (i < batch.count)
        gpu_slopes_thread(&frame, &batch, i);
}

extern "C" int LAUNCH(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                      void *stream)
{
    const unsigned blocks = (unsigned)((batch->count + GPU_THREADS - 1) / GPU_THREADS);
    KERNEL<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *batch);
    return (int)cudaGetLastError();
}
