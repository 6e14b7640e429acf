/*
 * The CUDA kernel of reflections: one thread a pixel, whatever the place of that.  Everything a
 * thread does stands in gpu/shares.h.  Compile with -fmad=false, as gpu/kernel.cu.
 */
#include <cuda_runtime.h>

#include "gpu/layout.h"
#include "gpu/shares.h"
#include "gpu/shares_kernel.h"

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

/* What is frequent has a kernel of its own. */
static kernel *choose(struct gpu_kind kind)
{
    if (kind.cubic)
        return gpu_shares_of_pixels<GPU_ANY_SHAPE, true>;
    return kind.shape == SHAPE_SQUARE ? gpu_shares_of_pixels<SHAPE_SQUARE, false>
                                      : gpu_shares_of_pixels<GPU_ANY_SHAPE, false>;
}

extern "C" int gpu_shares_launch(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch, void *stream)
{
    const unsigned blocks = (unsigned)((batch->count + GPU_THREADS - 1) / GPU_THREADS);
    choose(frame->frame.kind)<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *batch);
    return (int)cudaGetLastError();
}
