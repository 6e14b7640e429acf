/*
 * The CUDA kernels of the dense form.  A block of threads computes some pixels of a row; one launch
 * computes all rows of all panels.  gpu/dense.h defines what a block does.
 *
 * Each frequent case has a kernel of its own, with a short loop and few registers.  One more kernel
 * computes all other cases.  Compile with -fmad=false, like gpu/kernel.cu.
 */
#include <cuda_runtime.h>

#include "gpu/dense.h"
#include "gpu/kernel.h"

/* Number of blocks that a multiprocessor runs at a time.  It limits the registers of a thread: 10
 * blocks leave 48 registers, 8 blocks leave 64.  GPUs from 2025 on need 64. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define PLAIN_BLOCKS 8
#else
#define PLAIN_BLOCKS 10
#endif

/* A thread of a kernel of one term keeps more data in registers, at most 72. */
#define ONE_BLOCKS 7

template <bool LONE, bool ANY, bool FINE, bool FLAT, bool ONE>
__global__ void __launch_bounds__(GPU_THREADS, ONE    ? ONE_BLOCKS
                                               : LONE ? 10
                                               : ANY  ? 6
                                                      : PLAIN_BLOCKS)
    gpu_dense(const struct gpu_frame frame, const struct gpu_rows rows, float *out, uint64_t *worst)
{
    __shared__ struct gpu_room room;
    __shared__ struct gpu_dense_pixel pixel[ANY ? GPU_THREADS : 1];
    const struct gpu_dense_kind kind = {LONE, ANY, FINE, FLAT, ONE};
    const struct gpu_team team = {(int)threadIdx.x, GPU_THREADS};
    gpu_dense_block(&frame, kind, rows.first + blockIdx.x, blockIdx.y,
                    gpu_dense_pixels(kind, rows.each), team, rows.first_pixel, &room, pixel, out,
                    worst);
}

typedef void kernel(const struct gpu_frame, const struct gpu_rows, float *, uint64_t *);

static kernel *choose_kernel(struct gpu_dense_kind kind)
{
#define KERNELS(lone, one)                                                                       \
    {                                                                                            \
        {gpu_dense<lone, false, false, false, one>, gpu_dense<lone, false, false, true, one>},   \
            {gpu_dense<lone, false, true, false, one>, gpu_dense<lone, false, true, true, one>}, \
    }
    static kernel *const one[2][2] = KERNELS(true, true);
    static kernel *const lone[2][2] = KERNELS(true, false);
    static kernel *const plain[2][2] = KERNELS(false, false);
#undef KERNELS
    if (kind.any)
        return gpu_dense<false, true, false, false, false>;
    return (kind.one ? one : kind.lone ? lone : plain)[kind.fine][kind.flat];
}

extern "C" int gpu_dense_launch(const struct gpu_frame *frame, const struct gpu_rows *rows,
                                float *out, uint64_t *worst, void *stream)
{
    const int pixels = gpu_dense_pixels(frame->dense_kind, rows->each);
    const dim3 grid((unsigned)rows->count, (unsigned)((rows->widest + pixels - 1) / pixels));
    choose_kernel(frame->dense_kind)<<<grid, GPU_THREADS, 0, (cudaStream_t)stream>>>(*frame, *rows,
                                                                                     out, worst);
    return (int)cudaGetLastError();
}
