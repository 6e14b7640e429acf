/*
 * The CUDA kernel of frames in closed form: one thread per pixel.  gpu/closed.h defines what a
 * thread does.  Compile with -fmad=false, like gpu/kernel.cu.
 */
#include "gpu/closed.h"

#include <cuda_runtime.h>

#include "gpu/kernel.h"

__global__ void __launch_bounds__(GPU_THREADS, 3)
    gpu_closed_pixels(const struct gpu_closed frame, const struct gpu_closed_batch batch)
{
    const size_t i = (size_t)blockIdx.x * GPU_THREADS + threadIdx.x;
    if (i < batch.count)
        gpu_closed_thread(&frame, &batch, i);
}

extern "C" int gpu_closed_launch(const struct gpu_closed *frame,
                                 const struct gpu_closed_batch *batch, void *stream)
{
    const unsigned blocks = (unsigned)((batch->count + GPU_THREADS - 1) / GPU_THREADS);
    gpu_closed_pixels<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *batch);
    return (int)cudaGetLastError();
}
