/*
 * The CUDA kernels of reflections: one thread a pixel, whatever the place of that, then one a run
 * of them.  Everything a thread does stands in gpu/shares.h and gpu/pieces.h.  Compile with
 * -fmad=false, as gpu/kernel.cu.
 */
#include <cuda_runtime.h>

#include "gpu/kernel.h"
#include "gpu/layout.h"
#include "gpu/pieces.h"
#include "gpu/shares.h"

/* With the registers of 3 blocks on a multiprocessor at once, or of 4. */
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

/* The frequent case has a kernel of its own. */
static kernel *choose(struct gpu_kind kind)
{
    if (kind.cubic)
        return gpu_shares_of_pixels<GPU_ANY_SHAPE, true>;
    return kind.shape == SHAPE_SQUARE ? gpu_shares_of_pixels<SHAPE_SQUARE, false>
                                      : gpu_shares_of_pixels<GPU_ANY_SHAPE, false>;
}

/* Of a block, a warp: there are so few runs that blocks of more would leave processors without. */
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
    choose(frame->frame.kind)<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *batch);
    gpu_pieces_of_runs<<<runs, RUNS, 0, (cudaStream_t)stream>>>(*frame, *batch, *pieces);
    return (int)cudaGetLastError();
}
