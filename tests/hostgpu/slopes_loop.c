#ifndef CPU_DOUBLE
#define CPU_DOUBLE 0
#endif
#include "gpu/slopes.h"
#include "host_loop.h"

#if CPU_DOUBLE
#define HOST(isa) NAME(gpu_host_slopes_double_, isa)
#else
#define HOST(isa) NAME(gpu_host_slopes_, isa)
#endif

void HOST(ISA)(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch, int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_slopes_thread(frame, batch, i);
}
