/*
 * The CUDA kernels of frames that are not in the dense form (gpu/dense.h).  A thread computes one
 * pixel, a block GPU_THREADS neighbours of a row, and one launch all rows of all panels.
 * gpu/pixel.h defines what a thread does.  Compile with -fmad=false, so that a multiplication and
 * an addition are one operation only in fused().
 *
 * A pixel needs about 345 issue slots before its first step.  That is 0.2 ms for 4096 x 4096
 * pixels, less than the 1.2 ms of their copy over the bus, which runs at the same time.
 */
#include <cuda_runtime.h>

#include "gpu/kernel.h"
#include "gpu/pixel.h"

/* Number of blocks that a multiprocessor runs at a time.  It limits the registers of a thread: 5
 * blocks leave 96 registers, 4 leave 128, and 3 leave 168.  GPUs from 2025 on need 4 blocks. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define ONE_SHAPE 4
#else
#define ONE_SHAPE 5
#endif
#define BLOCKS(cubic, shape) ((cubic) ? 3 : (shape) == GPU_ANY_SHAPE ? 4 : ONE_SHAPE)

/* Computes one pixel per thread. The row is blockIdx.x and the block in the row is blockIdx.y,
 * because the range of x is larger. Each kind has a kernel of its own, so that a simple kind
 * does not get the number of registers of the most complex one. Interpolation needs the same
 * number of registers with any shape, and therefore has no kernels for single shapes. */
template <int SHAPE, bool PRECISE, bool CUBIC>
__global__ void __launch_bounds__(GPU_THREADS, BLOCKS(CUBIC, SHAPE))
    gpu_pixels(const struct gpu_frame frame, const struct gpu_rows rows, float *out)
{
    const struct gpu_kind kind = {PRECISE, CUBIC, SHAPE};
    gpu_thread(&frame, kind, rows.first + blockIdx.x, blockIdx.y, (int)threadIdx.x,
               rows.first_pixel, out);
}

typedef void kernel(const struct gpu_frame, const struct gpu_rows, float *);

static kernel *choose_kernel(struct gpu_kind kind)
{
#define BOTH(shape)                                                     \
    {                                                                   \
        gpu_pixels<shape, false, false>, gpu_pixels<shape, true, false> \
    }
#define BOTH_OF_SHAPE(shape) BOTH(shape),
    static kernel *const of_one_shape[][2] = {CRYSTAL_SHAPES(BOTH_OF_SHAPE)};
    static kernel *const of_any[2] = BOTH(GPU_ANY_SHAPE);
#undef BOTH_OF_SHAPE
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
    choose_kernel(frame->kind)<<<grid, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *rows, out);
    return (int)cudaGetLastError();
}
