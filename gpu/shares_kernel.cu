/*
 * The CUDA kernels of reflections.  In the first kernel a thread computes one pixel of a list of
 * pixels.  In the second kernel a thread processes a run of these pixels.  gpu/shares.h and
 * gpu/shares.h define what a thread does.  Compile with -fmad=false, like gpu/kernel.cu.
 */
#include <cuda_runtime.h>

#include "gpu/kernel.h"
#include "gpu/shares.h"

/* Computes the shares of one pixel per thread. A multiprocessor runs 4 blocks at a time if all
 * crystals are SQUARE, otherwise 3, or 2 if structure factors are interpolated. This number
 * limits the registers of a thread. */
template <int SHAPE, bool CUBIC>
__global__ void __launch_bounds__(GPU_THREADS, SHAPE == GPU_ANY_SHAPE ? 3 - CUBIC : 4)
    gpu_shares_of_pixels(const struct gpu_shares frame, const struct gpu_shares_batch batch)
{
    const struct gpu_kind kind = {false, CUBIC, SHAPE};
    const size_t i = (size_t)blockIdx.x * GPU_THREADS + threadIdx.x;
    if (i < batch.count)
        gpu_shares_thread(&frame, kind, &batch, i);
}

typedef void kernel(const struct gpu_shares, const struct gpu_shares_batch);

/* Returns the kernel for a kind. The frequent kind, SQUARE without interpolation, has a kernel
 * of its own. */
static kernel *choose_kernel(struct gpu_kind kind)
{
    if (kind.cubic)
        return gpu_shares_of_pixels<GPU_ANY_SHAPE, true>;
    return kind.shape == SHAPE_SQUARE ? gpu_shares_of_pixels<SHAPE_SQUARE, false>
                                      : gpu_shares_of_pixels<GPU_ANY_SHAPE, false>;
}

/* Number of runs that a block, which is a single warp, processes. There are few runs: with
 * larger blocks some multiprocessors would have no work. */
enum { RUNS = 32 };

__global__ void __launch_bounds__(RUNS)
    gpu_pieces_of_runs(const struct gpu_shares frame, const struct gpu_shares_batch batch,
                       const struct gpu_pieces pieces)
{
    const size_t i = (size_t)blockIdx.x * RUNS + threadIdx.x;
    if (i * GPU_SHARES_RUN < batch.count)
        gpu_pieces_thread(&frame, &batch, &pieces, i);
}

static unsigned blocks_of(size_t items, size_t each)
{
    return (unsigned)((items + each - 1) / each);
}

extern "C" int gpu_shares_launch(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch,
                                 const struct gpu_pieces *pieces, void *stream)
{
    const unsigned blocks = blocks_of(batch->count, GPU_THREADS);
    const unsigned runs = blocks_of(batch->count, (size_t)RUNS * GPU_SHARES_RUN);
    choose_kernel(frame->frame.kind)<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame,
                                                                                       *batch);
    gpu_pieces_of_runs<<<runs, RUNS, 0, (cudaStream_t)stream>>>(*frame, *batch, *pieces);
    return (int)cudaGetLastError();
}
