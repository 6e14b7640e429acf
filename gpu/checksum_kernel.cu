/* The CUDA kernel of checksums.  gpu/checksum.h defines what a thread does. */
#include "gpu/checksum.h"

#include <cuda_runtime.h>

__global__ void __launch_bounds__(GPU_THREADS)
    gpu_checksums(const struct gpu_checksum checksum, uint32_t *sum)
{
    __shared__ struct gpu_checksum_tables tables;
    __shared__ uint32_t all;
    const struct gpu_team team = {(int)threadIdx.x, GPU_THREADS};
    if (threadIdx.x == 0)
        all = 0;
    gpu_checksum_prepare(&tables, team);
    (void)atomicXor(&all, gpu_checksum_thread(&checksum, &tables, blockIdx.x, team.thread));
    gpu_team_wait(team);
    if (threadIdx.x == 0)
        (void)atomicXor(sum, gpu_checksum_block(&checksum, blockIdx.x, all));
}

extern "C" int gpu_checksum_launch(const struct gpu_checksum *checksum, uint32_t *sum, void *stream)
{
    const unsigned blocks = (unsigned)gpu_checksum_blocks(checksum);
    if (blocks)
        gpu_checksums<<<blocks, GPU_THREADS, 0, (cudaStream_t)stream>>>(*checksum, sum);
    return (int)cudaGetLastError();
}
