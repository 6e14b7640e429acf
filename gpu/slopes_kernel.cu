/*
 * The CUDA kernel of derivatives: one thread a pixel, whatever the place of that.  Everything a
 * thread does stands in gpu/slopes.h.  Compile with -fmad=false, as gpu/kernel.cu.  A kernel for
 * each shape would have as many registers, 208 to 225: they are for the sums.
 */
#include <cuda_runtime.h>

#ifndef CPU_DOUBLE
#define CPU_DOUBLE 0
#endif
#include "gpu/kernel.h"
#include "gpu/layout.h"
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
