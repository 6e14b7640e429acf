/* The kernel's threads as a loop, compiled once per instruction set. */
#ifndef BRAGG_GPU_HOST_LOOP_H
#define BRAGG_GPU_HOST_LOOP_H

#include "gpu/kernel.h"

/* All threads of one row: what blocks (row, 0), (row, 1) ... of gpu_kernel_launch do;
 * `row` counts from rows->first. */
void gpu_host_row_baseline(const struct gpu_frame *frame, const struct gpu_rows *rows, int64_t row,
                           float *out);
void gpu_host_row_avx2(const struct gpu_frame *frame, const struct gpu_rows *rows, int64_t row,
                       float *out);

#endif
