/*
 * The CUDA kernels of a smeared sensor.  gpu/smear.h defines what a thread does.  Compile with
 * -fmad=false, so that no multiplication is fused with an addition.
 */
#include "gpu/smear.h"

#include <cuda_runtime.h>

enum { WARPS = GPU_THREADS / GPU_LANES };  // of a block

/* The rows are blockIdx.x, because its range is larger than that of blockIdx.y. */
__global__ void __launch_bounds__(GPU_THREADS)
    gpu_smear_sums_usual(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    const int thread = (int)threadIdx.x, warp = thread / GPU_LANES;
    const struct gpu_team lanes = {thread % GPU_LANES, GPU_LANES};
    gpu_smear_sum_warp(&smear, band, (int)blockIdx.x, (int)blockIdx.y * WARPS + warp, lanes);
}

__global__ void __launch_bounds__(GPU_THREADS)
    gpu_smear_sums(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    __shared__ struct gpu_smear_columns room;
    const struct gpu_team team = {(int)threadIdx.x, GPU_THREADS};
    gpu_smear_sum_block(&smear, band, blockIdx.x, blockIdx.y, team, &room);
}

/* Number of blocks that a multiprocessor runs at a time.  It limits the registers of a thread: 6
 * blocks leave 80 registers, and 5 leave 96.  GPUs from 2025 on need 5 blocks. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define PIXEL_BLOCKS 5
#else
#define PIXEL_BLOCKS 6
#endif

__global__ void __launch_bounds__(GPU_THREADS, PIXEL_BLOCKS)
    gpu_smear_pixels(const struct gpu_smear smear, const struct gpu_smear_band *band,
                     const struct gpu_smear_part part)
{
    __shared__ struct gpu_smear_taps room[WARPS];
    const int thread = (int)threadIdx.x, warp = thread / GPU_LANES;
    const struct gpu_team lanes = {thread % GPU_LANES, GPU_LANES};
    const int64_t group = gpu_smear_group(band, part.rows[0]) + blockIdx.x;
    gpu_smear_warp(&smear, band, &part, group, (int)blockIdx.y * WARPS + warp, lanes, &room[warp]);
}

static unsigned pieces(int64_t size, int64_t of)
{
    return (unsigned)((size + of - 1) / of);
}

extern "C" int gpu_smear_sums_launch(const struct gpu_smear *smear, size_t band,
                                     const struct gpu_smear_band *here, void *stream)
{
    const bool usual = here->oversample == GPU_SMEAR_USUAL;
    const int64_t width =
        usual ? WARPS * GPU_SMEAR_PIXELS * GPU_SMEAR_USUAL : gpu_smear_width(here->oversample);
    const dim3 blocks(pieces(here->size[1], GPU_SMEAR_ROWS), pieces(here->size[0], width));
    (usual ? gpu_smear_sums_usual
           : gpu_smear_sums)<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear,
                                                                               smear->bands + band);
    return (int)cudaGetLastError();
}

extern "C" int gpu_smear_pixels_launch(const struct gpu_smear *smear, size_t band,
                                       const struct gpu_smear_band *here,
                                       const struct gpu_smear_part *part, void *stream)
{
    const dim3 pixels((unsigned)gpu_smear_groups(here, part),
                      pieces(here->end[0] - here->origin[0], GPU_THREADS));
    gpu_smear_pixels<<<pixels, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear, smear->bands + band,
                                                                       *part);
    return (int)cudaGetLastError();
}
