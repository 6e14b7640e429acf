/*
 * The kernels of what comes after photons.  Everything a thread does stands in
 * gpu/after.h.  Compile with -fmad=false: nothing is fused.
 */
#include "gpu/after.h"

#include <cuda_runtime.h>

/* With the registers of four blocks none are spilled. */
__global__ void __launch_bounds__(GPU_THREADS, 4)
    gpu_background(const struct gpu_frame frame, const struct background_scene scene,
                   const struct gpu_rows rows, float *out)
{
    gpu_background_thread(&frame, &scene, rows.first + blockIdx.x, blockIdx.y, (int)threadIdx.x,
                          rows.first_pixel, out);
}

/* One thread a pixel, in the order of memory. */
__global__ void __launch_bounds__(GPU_THREADS)
    gpu_afterwards(const struct gpu_after after, int64_t first_pixel, int64_t first, int64_t end,
                   uint64_t *bad)
{
    const int64_t i = first + (int64_t)blockIdx.x * GPU_THREADS + threadIdx.x;
    if (i >= end)
        return;
    const uint64_t verdict = gpu_after_pixel(&after, i, (uint32_t)(first_pixel + i));
    if (verdict != GPU_GOOD)
        atomicMin((unsigned long long *)bad, (unsigned long long)verdict);
}

extern "C" int gpu_background_launch(const struct gpu_frame *frame,
                                     const struct background_scene *scene,
                                     const struct gpu_rows *rows, float *out, void *stream)
{
    const dim3 grid((unsigned)rows->count,
                    (unsigned)((rows->widest + GPU_THREADS - 1) / GPU_THREADS));
    gpu_background<<<grid, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *scene, *rows, out);
    return (int)cudaGetLastError();
}

extern "C" int gpu_after_launch(const struct gpu_after *after, int64_t first_pixel, int64_t first,
                                int64_t end, uint64_t *bad, void *stream)
{
    const unsigned blocks = (unsigned)((end - first + GPU_THREADS - 1) / GPU_THREADS);
    if (blocks)
        gpu_afterwards<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*after, first_pixel, first,
                                                                         end, bad);
    return (int)cudaGetLastError();
}
