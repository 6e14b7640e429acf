/* Kernels that only load the CPU, to measure its peak performance. */
#ifndef BRAGG_BENCH_PEAK_H
#define BRAGG_BENCH_PEAK_H

/* Runs `repeats` rounds; returns the operations done, and leaves in *sink something
 * that depends on them. */
double peak_flops_baseline(long repeats, float *sink);
double peak_flops_avx2(long repeats, float *sink);
double peak_flops_avx512(long repeats, float *sink);

#endif
