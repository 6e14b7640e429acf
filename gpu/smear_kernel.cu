/*
 * The CUDA kernels of a smeared sensor.  gpu/smear.h defines what a thread does.  Compile with
 * -fmad=false, so that no multiplication is fused with an addition.
 */
#include "gpu/smear.h"

#include <cuda_runtime.h>

/* The rows are blockIdx.x, because its range is larger than that of blockIdx.y. */
__global__ void __launch_bounds__(GPU_THREADS)
    gpu_smear_sums(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    __shared__ struct gpu_smear_columns room;
    const struct gpu_team team = {(int)threadIdx.x, GPU_THREADS};
    gpu_smear_sum_block(&smear, band, blockIdx.x, blockIdx.y, team, &room);
}

enum { WARPS = GPU_THREADS / GPU_LANES };  // of a block

/* With six blocks per multiprocessor, each thread has enough registers, and none is spilled to
 * memory.
 */
__global__ void __launch_bounds__(GPU_THREADS, 6)
    gpu_smear_pixels(const struct gpu_smear smear, const struct gpu_smear_band *band)
{
    __shared__ struct gpu_smear_taps room[WARPS];
    const int thread = (int)threadIdx.x, warp = thread / GPU_LANES;
    const struct gpu_team lanes = {thread % GPU_LANES, GPU_LANES};
    gpu_smear_warp(&smear, band, blockIdx.x, (int)blockIdx.y * WARPS + warp, lanes, &room[warp]);
}

static unsigned pieces(int64_t size, int64_t of)
{
    return (unsigned)((size + of - 1) / of);
}

extern "C" int gpu_smear_launch(const struct gpu_smear *smear, size_t band,
                                const struct gpu_smear_band *here, void *stream)
{
    const dim3 sums(pieces(here->size[1], GPU_SMEAR_ROWS),
                    pieces(here->size[0], gpu_smear_width(here->oversample)));
    const dim3 pixels(pieces(here->end[1] - here->begin[1], GPU_SMEAR_DEEP),
                      pieces(here->end[0] - here->origin[0], GPU_THREADS));
    gpu_smear_sums<<<sums, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear, smear->bands + band);
    gpu_smear_pixels<<<pixels, GPU_THREADS, 0, (cudaStream_t)stream>>>(*smear, smear->bands + band);
    return (int)cudaGetLastError();
}
