/* Replaces the kernels of the CUDA engine: their threads run on this CPU as soon as they are
 * launched. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "../hostgpu/host_loop.h"
#include "engine/cpu/cpu.h"
#include "gpu/kernel.h"
#include "tests/enginecheck/peak.h"

/* Nothing is worth measuring here; numbers let the shares be printed. */
struct card_peak card_peak(void)
{
    return (struct card_peak){1e12, 5e11, 1e11, 1e10};
}

/* What a kernel reads is what copies before it in its stream have brought. */
static void await_copies(void *stream)
{
    (void)cudaStreamSynchronize(stream);
}

static bool is_fused(void)
{
    return strcmp(cpu_kernels_choose(NULL, PRECISION_MIXED, NULL)->name, "baseline") != 0;
}

int gpu_kernel_launch(const struct gpu_frame *frame, const struct gpu_rows *rows, float *out,
                      uint64_t *worst, void *stream)
{
    if (rows->count < 1)
        return cudaErrorInvalidConfiguration;
    gpu_host_row *const compute = is_fused() ? gpu_host_row_avx2 : gpu_host_row_baseline;
    uint64_t least = GPU_GOOD;
    await_copies(stream);
#pragma omp parallel for schedule(dynamic) reduction(min : least)
    for (int64_t row = 0; row < rows->count; row++) {
        const uint64_t bad = compute(frame, rows, row, out);
        least = bad < least ? bad : least;
    }
    if (worst)
        *worst = least < *worst ? least : *worst;
    return cudaSuccess;
}

int gpu_background_launch(const struct gpu_frame *frame, const struct background_scene *scene,
                          const struct gpu_rows *rows, float *out, void *stream)
{
    await_copies(stream);
    gpu_host_background(frame, scene, rows, 2, out);
    return cudaSuccess;
}

int gpu_after_launch(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                     struct gpu_verdict *verdict, void *stream)
{
    await_copies(stream);
    gpu_host_after(after, first_pixel, first, end, 2, verdict);
    return cudaSuccess;
}

int gpu_checksum_launch(const struct gpu_checksum *checksum, uint32_t *sum, void *stream)
{
    await_copies(stream);
    gpu_host_checksum(checksum, 2, sum);
    return cudaSuccess;
}

int gpu_slopes_mixed_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                            void *stream)
{
    await_copies(stream);
    (is_fused() ? gpu_host_slopes_avx2 : gpu_host_slopes_baseline)(frame, batch, 2);
    return cudaSuccess;
}

int gpu_slopes_double_launch(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                             void *stream)
{
    await_copies(stream);
    (is_fused() ? gpu_host_slopes_double_avx2 : gpu_host_slopes_double_baseline)(frame, batch, 2);
    return cudaSuccess;
}

int gpu_shares_launch(const struct gpu_shares *frame, const struct gpu_shares_batch *batch,
                      const struct gpu_pieces *pieces, void *stream)
{
    await_copies(stream);
    (is_fused() ? gpu_host_shares_avx2 : gpu_host_shares_baseline)(frame, batch, pieces, 2);
    return cudaSuccess;
}

int gpu_closed_launch(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                      void *stream)
{
    await_copies(stream);
    gpu_host_closed(frame, batch, 2);
    return cudaSuccess;
}

int gpu_smear_sums_launch(const struct gpu_smear *smear, size_t band,
                          const struct gpu_smear_band *here, void *stream)
{
    (void)here;
    await_copies(stream);
    gpu_host_smear_sums(smear, &smear->bands[band], 2);
    return cudaSuccess;
}

int gpu_smear_pixels_launch(const struct gpu_smear *smear, size_t band,
                            const struct gpu_smear_band *here, const struct gpu_smear_part *part,
                            void *stream)
{
    (void)here;
    await_copies(stream);
    gpu_host_smear_pixels(smear, &smear->bands[band], part, 2);
    return cudaSuccess;
}
