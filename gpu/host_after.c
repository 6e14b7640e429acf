/* The kernels of gpu/after_kernel.cu as loops of this processor. */
#include "gpu/after.h"
#include "gpu/host_loop.h"

void gpu_host_background(const struct gpu_frame *frame, const struct background_scene *scene,
                         const struct gpu_rows *rows, int threads, float *out)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t row = 0; row < rows->count; row++)
        for (int64_t block = 0; block * GPU_THREADS < rows->widest; block++)
            for (int thread = 0; thread < GPU_THREADS; thread++)
                gpu_background_thread(frame, scene, rows->first + row, block, thread,
                                      rows->first_pixel, out);
}

void gpu_host_after(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                    int threads, struct gpu_verdict *verdict)
{
    uint64_t bad = verdict->bad, saturated = verdict->saturated, below = verdict->below;
#pragma omp parallel for num_threads(threads) reduction(min : bad) reduction(+ : saturated, below)
    for (int64_t i = first; i < end; i++) {
        const struct gpu_verdict v = gpu_after_pixel(after, i, (uint32_t)(first_pixel + i));
        bad = v.bad < bad ? v.bad : bad;
        saturated += v.saturated;
        below += v.below;
    }
    *verdict = (struct gpu_verdict){bad, saturated, below};
}
