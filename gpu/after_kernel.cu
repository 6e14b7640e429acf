/*
 * The CUDA kernels that run after the photons are computed: background and noise.  gpu/after.h
 * defines what a thread does.  Compile with -fmad=false, so that no multiplication is fused with an
 * addition.
 */
#include "gpu/after.h"
#include "gpu/kernel.h"

#include <cuda_runtime.h>

/* Starts gpu_background_thread in each thread. With four blocks per multiprocessor, each thread
 * has enough registers, and none is spilled to memory. */
__global__ void __launch_bounds__(GPU_THREADS, 4)
    gpu_background(const struct gpu_frame frame, const struct background_scene scene,
                   const struct gpu_rows rows, float *out)
{
    gpu_background_thread(&frame, &scene, rows.first + blockIdx.x, blockIdx.y, (int)threadIdx.x,
                          rows.first_pixel, out);
}

/* Returns the sum of numbers from 0 to 4, one of each thread of the block. */
static __device__ int sum_of_block(int mine)
{
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += __syncthreads_count(mine > i);
    return sum;
}

/* Computes four pixels per thread, in the order of memory.  Each block adds up its counts of
 * clipped pixels before it adds them to *verdict. */
__global__ void __launch_bounds__(GPU_THREADS)
    gpu_afterwards(const struct gpu_after after, int64_t first_pixel, int64_t first, int64_t end,
                   struct gpu_verdict *verdict)
{
    const struct gpu_verdict mine = gpu_after_thread(
        &after, first_pixel, first, end, (int64_t)blockIdx.x * GPU_THREADS + (int)threadIdx.x);
    if (mine.bad != GPU_GOOD)
        atomicMin((unsigned long long *)&verdict->bad, (unsigned long long)mine.bad);
    if (!__syncthreads_or(mine.saturated || mine.below))
        return;
    const int saturated = sum_of_block((int)mine.saturated);
    const int below = sum_of_block((int)mine.below);
    if (threadIdx.x == 0 && saturated)
        atomicAdd((unsigned long long *)&verdict->saturated, (unsigned long long)saturated);
    if (threadIdx.x == 0 && below)
        atomicAdd((unsigned long long *)&verdict->below, (unsigned long long)below);
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
                                int64_t end, struct gpu_verdict *verdict, void *stream)
{
    const int64_t threads = gpu_after_threads(first_pixel, first, end);
    const unsigned blocks = end > first ? (unsigned)((threads + GPU_THREADS - 1) / GPU_THREADS) : 0;
    if (blocks)
        gpu_afterwards<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*after, first_pixel, first,
                                                                         end, verdict);
    return (int)cudaGetLastError();
}
