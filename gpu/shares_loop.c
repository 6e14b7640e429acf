#include "gpu/host_loop.h"
#include "gpu/pieces.h"
#include "gpu/shares.h"

void NAME(gpu_host_shares_, ISA)(const struct gpu_shares *frame,
                                 const struct gpu_shares_batch *batch,
                                 const struct gpu_pieces *pieces, int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_shares_thread(frame, frame->frame.kind, batch, i);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < batch->count; i += GPU_SHARES_RUN)
        gpu_pieces_thread(frame, batch, pieces, i / GPU_SHARES_RUN);
}
