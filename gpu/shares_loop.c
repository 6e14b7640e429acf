#include "gpu/host_loop.h"
#include "gpu/shares.h"

void NAME(gpu_host_shares_, ISA)(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch, int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_shares_thread(frame, frame->frame.kind, batch, i);
}
