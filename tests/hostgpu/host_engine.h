/* The CUDA engine with the CPU as a stand-in for the GPU, for tests on a host without a GPU. */
#ifndef BRAGG_TESTS_HOST_ENGINE_H
#define BRAGG_TESTS_HOST_ENGINE_H

#include "gpu/gpu.h"

/* The engine `cuda` with the kernels as loops on the CPU, which are slow.  The option `isa` is
 * "baseline" or "avx2".  NULL: the best instruction set of the CPU. */
extern struct engine engine_cuda_host;

/* Size of the memory that engine_cuda_host uses as GPU memory, in bytes.  Default: SIZE_MAX.
 * Do not change it while a frame is computed. */
extern size_t gpu_host_memory;

#endif
