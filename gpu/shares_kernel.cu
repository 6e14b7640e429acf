/*
 * The CUDA kernel of reflections: one thread a pixel, whatever the place of that.  Everything a
 * thread does stands in gpu/shares.h.  Compile with -fmad=false, as gpu/kernel.cu.
 */
#include <cuda_runtime.h>

#include "gpu/layout.h"
#include "gpu/shares.h"
#include "gpu/shares_kernel.h"

template <bool CUBIC>
__global__ void __launch_bounds__(GPU_THREADS, CUBIC ? 2 : 3)
    gpu_shares_of_pixels(const struct gpu_shares frame, const struct gpu_shares_batch batch)
{
    const size_t i = (size_t)blockIdx.x * GPU_THREADS + threadIdx.x;
    if (i < batch.count)
        gpu_shares_thread(&frame, CUBIC, &batch, i);
}

extern "C" int gpu_shares_launch(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch, void *stream)
{
    const unsigned blocks = (unsigned)((batch->count + GPU_THREADS - 1) / GPU_THREADS);
    (frame->frame.kind.cubic
         ? gpu_shares_of_pixels<true>
         : gpu_shares_of_pixels<false>)<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame,
                                                                                          *batch);
    return (int)cudaGetLastError();
}
