/*
 * Quotients without a way aside for numbers that are hardly ever there: the bits of a / b, rounded
 * correctly, where all that is between is normal.  What the compiler makes of this operator on a
 * card is the same operations, and a test and a call for all other numbers.
 */
#ifndef BRAGG_GPU_QUOTIENT_H
#define BRAGG_GPU_QUOTIENT_H

#include "base/hd.h"

/* a / b from an approximation of 1/b that is an ulp off at most. */
HD float quotient_refined(float a, float b, float rough)
{
    const float near = fmaf(rough, fmaf(-b, rough, 1.0f), rough);
    const float q = a * near;
    return fmaf(near, fmaf(-b, q, a), q);
}

/* a / b for 2^-100 < |b| < 2^100 and a quotient in these bounds, or one that does not matter. */
HD float gpu_quotient(float a, float b)
{
#ifdef __CUDA_ARCH__
    float rough;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(b));
    return quotient_refined(a, b, rough);
#else
    return a / b;
#endif
}

#endif
