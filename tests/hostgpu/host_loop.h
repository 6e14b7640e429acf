/* The threads of the kernels as loops on the CPU.  Loops whose bytes depend on the instruction set
 * are compiled once per instruction set. */
#ifndef BRAGG_TESTS_HOST_LOOP_H
#define BRAGG_TESTS_HOST_LOOP_H

#include "gpu/frame.h"
#include "gpu/kernel.h"

/* Runs all threads of one row, that is, of blocks (row, 0), (row, 1) ... of gpu_kernel_launch.
 * `row` counts from rows->first.  Returns the verdict on the row (see gpu_judge) for a frame in the
 * dense form, otherwise GPU_GOOD. */
typedef uint64_t gpu_host_row(const struct gpu_frame *frame, const struct gpu_rows *rows,
                              int64_t row, float *out);
gpu_host_row gpu_host_row_baseline, gpu_host_row_avx2;

/* Runs all threads of the kernels of derivatives. */
typedef void gpu_host_slopes(const struct gpu_slopes *frame, const struct gpu_slopes_batch *batch,
                             int threads);
gpu_host_slopes gpu_host_slopes_baseline, gpu_host_slopes_avx2;
gpu_host_slopes gpu_host_slopes_double_baseline, gpu_host_slopes_double_avx2;

/* Runs all threads of the kernels of reflections. */
typedef void gpu_host_shares(const struct gpu_shares *frame, const struct gpu_shares_batch *batch,
                             const struct gpu_pieces *pieces, int threads);
gpu_host_shares gpu_host_shares_baseline, gpu_host_shares_avx2;

/* Runs all threads of the kernel of frames in closed form.  The bytes are the same with any
 * instruction set. */
void gpu_host_closed(const struct gpu_closed *frame, const struct gpu_closed_batch *batch,
                     int threads);

/* Run all threads of the kernels that gpu_background_launch and gpu_after_launch start. The
 * bytes are the same with any instruction set. */
void gpu_host_background(const struct gpu_frame *frame, const struct background_scene *scene,
                         const struct gpu_rows *rows, int threads, float *out);
void gpu_host_after(const struct gpu_after *after, int64_t first_pixel, int64_t first, int64_t end,
                    int threads, struct gpu_verdict *verdict);

/* Runs all threads of the kernel that gpu_checksum_launch starts. */
void gpu_host_checksum(const struct gpu_checksum *checksum, int threads, uint32_t *sum);

/* Runs all threads of both kernels of a band of a smeared sensor.  The bytes are the same with any
 * instruction set. */
void gpu_host_smear_sums(const struct gpu_smear *smear, const struct gpu_smear_band *b,
                         int threads);
void gpu_host_smear_pixels(const struct gpu_smear *smear, const struct gpu_smear_band *b,
                           const struct gpu_smear_part *part, int threads);

#endif
