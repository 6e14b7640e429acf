/*
 * A logarithm and an exponential that give the same bits on every machine and with every compiler.
 *
 * C and CUDA compile the functions from the same text.  The macro HD marks functions for the host
 * and, in CUDA, also for the device.
 *
 * The functions use only + - * / and bit operations, because the functions of the C library differ
 * between processors.  Their error is about 1 ulp.  They are for counts and noise, not for
 * geometry.  They must be compiled without contraction and reassociation.
 */
#ifndef BRAGG_BASE_PORTABLE_MATH_H
#define BRAGG_BASE_PORTABLE_MATH_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define HD static inline __host__ __device__
#else
#define HD static inline
#endif

/* ln 2 as the sum of two parts.  The first part ends with 32 zero bits, so that its product with
 * a small whole number is exact. */
#define PORTABLE_LN2_HIGH 0x1.62e42feep-1
#define PORTABLE_LN2_LOW 0x1.a39ef35793c76p-33

/* Returns ln x for normal x > 0.  x = m 2^k with m in [sqrt(1/2), sqrt(2)), and ln m = 2 atanh(s)
 * with s = (m-1)/(m+1), |s| < 0.1716, from the power series of atanh.  The function has no
 * branch, so that compilers can vectorise loops that call it. */
HD double portable_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t biased = bits >> 52 | 0x4330000000000000u;  // 2^52 + exponent
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double k, m;
    memcpy(&k, &biased, sizeof k);
    memcpy(&m, &bits, sizeof m);
    const double above = m > 0x1.6a09e667f3bcdp+0 ? 1.0 : 0.0;
    k = k - (0x1p52 + 1023.0) + above;
    m = m * (1.0 - 0.5 * above);
    const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double sum = 0.0;
    for (int n = 23; n >= 3; n -= 2)
        sum = (sum + 1.0 / n) * s2;
    return k * PORTABLE_LN2_HIGH + (2.0 * s + (2.0 * s * sum + k * PORTABLE_LN2_LOW));
}

/* Returns e^x for finite x < 700, or e^-700, which is practically 0, for x below -700. x = k ln 2 +
 * r with |r| < 0.35, and e^r is computed from its power series.  The limit is arithmetic because
 * compilers do not vectorise loops over a branch to a constant. */
HD double portable_exp(double x)
{
    const double far = x < -700.0 ? 1.0 : 0.0;
    x = x * (1.0 - far) - 700.0 * far;
    const int k = (int)(x / (PORTABLE_LN2_HIGH + PORTABLE_LN2_LOW) + (x < 0.0 ? -0.5 : 0.5));
    const double r = (x - k * PORTABLE_LN2_HIGH) - k * PORTABLE_LN2_LOW;
    double sum = 1.0;
    for (int n = 14; n >= 1; n--)
        sum = 1.0 + sum * (r * (1.0 / n));
    const uint64_t bits = (uint64_t)(1023 + k) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

#endif
