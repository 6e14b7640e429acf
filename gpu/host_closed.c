/* The threads of the kernel of frames in closed form as a loop. */
#include "gpu/closed.h"

#include "gpu/host_loop.h"

void gpu_host_closed(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                     int threads)
{
#pragma omp parallel for schedule(dynamic, GPU_THREADS) num_threads(threads)
    for (size_t i = 0; i < batch->count; i++)
        gpu_closed_thread(frame, batch, i);
}
