/*
 * Measures the peak performance of one core, and is compiled once per instruction set.  It computes
 * independent fused multiply-adds in registers, which count as two operations each.  Without such
 * instructions it computes a multiplication and an addition.
 */

#include "base/isa.h"

enum { LANES = 16, CHAINS = 10 };
typedef float vector __attribute__((vector_size(4 * LANES)));

double NAME(peak_flops_, ISA)(long repeats, float *sink)
{
    vector sum[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++)
            sum[c][i] = 1.0f + 0.01f * (float)(c + i);
    for (long r = 0; r < repeats; r++)
#pragma GCC unroll 10
        for (int c = 0; c < CHAINS; c++)
            for (int i = 0; i < LANES; i++)
#ifdef __FMA__
                sum[c][i] = __builtin_fmaf(sum[c][i], 0.999f, 0.001f);
#else
                sum[c][i] = sum[c][i] * 0.999f + 0.001f;
#endif
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++)
            *sink += sum[c][i];
    return 2.0 * CHAINS * LANES * (double)repeats;
}
