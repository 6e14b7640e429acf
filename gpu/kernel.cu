/*
 * The CUDA kernels of what is not for those of gpu/dense.h: one thread a pixel, one block
 * GPU_THREADS neighbours of a row, all rows of all panels in one launch.  Everything a thread does
 * stands in gpu/pixel.h. Compile with -fmad=false, so that a multiplication and an addition are one
 * operation only where fused() says so.
 *
 * What a pixel takes before its first step, about 345 slots, is 0.2 ms for 4096 x 4096 of them:
 * their way over the bus, 1.2 ms, hides it.
 */
#include <cuda_runtime.h>

#include "gpu/kernel.h"
#include "gpu/layout.h"
#include "gpu/pixel.h"

/* Blocks of a multiprocessor at once, which bounds the registers: with 5 there are 96, with 4,
 * which cards from 2025 on take, 128, with 3 168. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define ONE_SHAPE 4
#else
#define ONE_SHAPE 5
#endif
#define BLOCKS(cubic, shape) ((cubic) ? 3 : (shape) == GPU_ANY_SHAPE ? 4 : ONE_SHAPE)

/* Blocks of a row are numbered by y, because x goes further.  One kernel for each kind, so that the
 * registers of the larger ones are not taken from the smaller; interpolation needs as many whatever
 * the shape. */
template <int SHAPE, bool PRECISE, bool CUBIC>
__global__ void __launch_bounds__(GPU_THREADS, BLOCKS(CUBIC, SHAPE))
    gpu_pixels(const struct gpu_frame frame, const struct gpu_rows rows, float *out)
{
    const struct gpu_kind kind = {PRECISE, CUBIC, SHAPE};
    gpu_thread(&frame, kind, rows.first + blockIdx.x, blockIdx.y, (int)threadIdx.x,
               rows.first_pixel, out);
}

typedef void kernel(const struct gpu_frame, const struct gpu_rows, float *);

static kernel *choose(struct gpu_kind kind)
{
#define BOTH(shape)                                                     \
    {                                                                   \
        gpu_pixels<shape, false, false>, gpu_pixels<shape, true, false> \
    }
    static kernel *const of_one_shape[4][2] = {BOTH(SHAPE_SQUARE), BOTH(SHAPE_ROUND),
                                               BOTH(SHAPE_GAUSS), BOTH(SHAPE_TOPHAT)};
    static kernel *const of_any[2] = BOTH(GPU_ANY_SHAPE);
#undef BOTH
    if (kind.cubic)
        return kind.precise ? gpu_pixels<GPU_ANY_SHAPE, true, true>
                            : gpu_pixels<GPU_ANY_SHAPE, false, true>;
    return kind.shape == GPU_ANY_SHAPE ? of_any[kind.precise]
                                       : of_one_shape[kind.shape][kind.precise];
}

extern "C" int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows,
                                 float *out, uint64_t *worst, void *stream)
{
    if (frame->ndense)
        return gpu_dense_launch(frame, rows, out, worst, stream);
    const dim3 grid((unsigned)rows->count,
                    (unsigned)((rows->widest + GPU_THREADS - 1) / GPU_THREADS));
    choose(frame->kind)<<<grid, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *rows, out);
    return (int)cudaGetLastError();
}
