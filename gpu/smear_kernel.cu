/*
 * The CUDA kernels of a smeared sensor.  gpu/smear.h defines what a thread does.  Compile with
 * -fmad=false, so that no multiplication is fused with an addition.
 */
#include "gpu/smear.h"

#include <cuda_runtime.h>

/* The row is blockIdx.x, because its range is larger than that of blockIdx.y. */
__global__ void __launch_bounds__(GPU_THREADS)
    gpu_smear_sums(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    gpu_smear_sum_thread(&smear, band, blockIdx.x, blockIdx.y, (int)threadIdx.x);
}

/* With 8 blocks per multiprocessor, each thread has enough registers, and none is spilled to
 * memory.
 */
__global__ void __launch_bounds__(GPU_THREADS, 8)
    gpu_smear_pixels(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    gpu_smear_pixel_thread(&smear, band, blockIdx.x, blockIdx.y, (int)threadIdx.x);
}

static dim3 grid_of(int64_t rows, int64_t columns)
{
    return dim3((unsigned)rows, (unsigned)((columns + GPU_THREADS - 1) / GPU_THREADS));
}

extern "C" int gpu_smear_launch(const struct gpu_smear *smear, size_t band,
                                const struct gpu_smear_band *here, void *stream)
{
    const dim3 sums = grid_of(here->size[1], here->size[0]);
    const dim3 pixels = grid_of(here->end[1] - here->begin[1], here->end[0] - here->begin[0]);
    gpu_smear_sums<<<sums, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear, smear->bands + band);
    gpu_smear_pixels<<<pixels, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear, smear->bands + band);
    return (int)cudaGetLastError();
}
