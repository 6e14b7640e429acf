/*
 * Elementary functions made of + - * / sqrt, fused() and integer operations
 * only, so that they vectorise and give the same bits wherever fused() is a
 * fused multiply-add.  No branches; arguments are assumed to be within the stated
 * range.  Coefficients are minimax fits (Remez exchange in 50 digits); stated
 * errors are of the whole function with rounding, as the unit test checks them.
 */
#ifndef BRAGG_PHYSICS_FASTMATH_H
#define BRAGG_PHYSICS_FASTMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/portable_math.h"

/* a*b + c, rounded once where the machine can; twice otherwise, because a call of
 * the C library would cost a hundred times as much.  A source that must give the same
 * bytes on every machine defines FASTMATH_UNFUSED first and has it rounded twice. */
#if (defined(__FMA__) || defined(__CUDACC__)) && !defined(FASTMATH_UNFUSED)
#define FASTMATH_FUSED
HD double fused(double a, double b, double c)
{
    return fma(a, b, c);
}
HD float fused_f(float a, float b, float c)
{
    return fmaf(a, b, c);
}
#else
HD double fused(double a, double b, double c)
{
    return a * b + c;
}
HD float fused_f(float a, float b, float c)
{
    return a * b + c;
}
#endif

/* 1.5 * 2^52: adding and subtracting it rounds |x| < 2^51 to the nearest integer,
 * halves to even. */
#define ROUND_MAGIC 6755399441055744.0

HD double round_even(double x)
{
    return (x + ROUND_MAGIC) - ROUND_MAGIC;
}

/* floor for |x| < 2^51. */
HD double floor_fast(double x)
{
    const double n = round_even(x);
    return n > x ? n - 1.0 : n;
}

/* Returns sin(pi x)/(pi x) in single precision for |x| <= 0.51, from x^2; relative error 2e-7.  The
 * result is scaled by 2^40, so that a product of three stays above the underflow for arguments down
 * to 1e-24.  Ratios do not depend on the scale.  The first coefficient is exact.  The others were
 * rounded one after the other, and after each rounding the remaining ones were fitted again. */
HD float sinc_scaled_f(float x_sqr)
{
    float p = 0x1.9409a0p-6f * 0x1p40f;
    p = fused_f(p, x_sqr, -0x1.85fa48p-3f * 0x1p40f);
    p = fused_f(p, x_sqr, 0x1.9f98ccp-1f * 0x1p40f);
    p = fused_f(p, x_sqr, -0x1.a51a58p+0f * 0x1p40f);
    return fused_f(p, x_sqr, 0x1p40f);
}

/* sin(pi x) for |x| <= 0.5; relative error 5e-16. */
HD double sinpi_reduced(double x)
{
    const double y = x * x;
    double p = 0x1.9d1b87bdd0b8cp-21;
    p = fused(p, y, -0x1.6f797715f4673p-16);
    p = fused(p, y, 0x1.e8f35e9d9abe9p-12);
    p = fused(p, y, -0x1.e3074ddd1e56bp-8);
    p = fused(p, y, 0x1.50783485190e8p-4);
    p = fused(p, y, -0x1.32d2cce627543p-1);
    p = fused(p, y, 0x1.466bc6775aa6ep+1);
    p = fused(p, y, -0x1.4abbce625be52p+2);
    p = fused(p, y, 0x1.921fb54442d18p+1);
    return p * x;
}

/* cos(pi x) for |x| <= 0.5; absolute error 4e-16. */
HD double cospi_reduced(double x)
{
    const double y = x * x;
    double p = 0x1.167970abffe63p-18;
    p = fused(p, y, -0x1.b69582d1432bep-14);
    p = fused(p, y, 0x1.f9d25488e41f4p-10);
    p = fused(p, y, -0x1.a6d1efc968bb8p-6);
    p = fused(p, y, 0x1.e1f506813c9edp-3);
    p = fused(p, y, -0x1.55d3c7e3bfc44p+0);
    p = fused(p, y, 0x1.03c1f081b5993p+2);
    p = fused(p, y, -0x1.3bd3cc9be45dbp+2);
    return fused(p, y, 1.0);
}

/* sin and cos of an angle of at most 1e5 rad; absolute error 4e-16 times the
 * larger of 1 and |angle|. */
HD void sincos_fast(double angle, double *sine, double *cosine)
{
    const double turns = angle * 0x1.45f306dc9c883p-2;  // half turns: angle/pi
    const double n = round_even(turns);
    const double half = 0.5 * n;
    const double sign = half == round_even(half) ? 1.0 : -1.0;  // n even or odd
    *sine = sign * sinpi_reduced(turns - n);
    *cosine = sign * cospi_reduced(turns - n);
}

/* 2^n for whole -1022 <= n <= 1023. */
HD double exp2_whole(double n)
{
    const double biased = n + (ROUND_MAGIC + 1023.0);  // low bits: n + 1023
    uint64_t bits;
    double power;
    memcpy(&bits, &biased, sizeof bits);
    bits <<= 52;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* e^x; relative error 4e-16.  0 below -708 (where doubles lose precision) and
 * infinity above 709. */
HD double exp_fast(double x)
{
    const double n = round_even(x * 0x1.71547652b82fep+0);
    const double r = fused(n, -0x1.a39ef35793c76p-33, fused(n, -0x1.62e42feep-1, x));
    double p = 0x1.ad660b047550bp-26;
    p = fused(p, r, 0x1.28b311ae22a29p-22);
    p = fused(p, r, 0x1.71df452bb4abap-19);
    p = fused(p, r, 0x1.a01992d11d068p-16);
    p = fused(p, r, 0x1.a01a01105222dp-13);
    p = fused(p, r, 0x1.6c16c1878104dp-10);
    p = fused(p, r, 0x1.1111111130de6p-7);
    p = fused(p, r, 0x1.555555554f370p-5);
    p = fused(p, r, 0x1.55555555554a2p-3);
    p = fused(p, r, 0x1.0000000000010p-1);
    p = fused(p, r, 1.0);
    p = fused(p, r, 1.0);
    const double value = p * exp2_whole(n);
    return x > 709.0 ? HUGE_VAL : x < -708.0 ? 0.0 : value;
}

/* Returns 2^-t * 2^EXP2_BIAS in single precision for t >= 0, and 0 for t > EXP2_LIMIT.  At this
 * limit the value is 5e-20 of the largest value, which is nothing compared with the rounding of a
 * sum.  The bias makes room for later factors, photons and structure factors.  Relative error 3e-7
 * (t is reduced in double precision). */
#define EXP2_LIMIT 64.0
enum { EXP2_BIAS = 100 };
HD float exp2_negative_f(double t)
{
    const double bounded = t < EXP2_LIMIT + 1.0 ? t : EXP2_LIMIT + 1.0;
    const double n = round_even(bounded);
    const float f = (float)(n - bounded);
    float p = 0x1.41d332p-13f;
    p = fused_f(p, f, 0x1.5f456ap-10f);
    p = fused_f(p, f, 0x1.3b2dbcp-7f);
    p = fused_f(p, f, 0x1.c6aed4p-5f);
    p = fused_f(p, f, 0x1.ebfbdap-3f);
    p = fused_f(p, f, 0x1.62e430p-1f);
    p = fused_f(p, f, 1.0f);
    const uint32_t bits = (uint32_t)(127 + EXP2_BIAS - (int32_t)n) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return t <= EXP2_LIMIT ? p * power : 0.0f;
}

/* The same in double precision, but not 0 before e^x is; relative error 3e-14. */
HD double exp2_negative(double t)
{
    return exp_fast(t * -0x1.62e42fefa39efp-1) * 0x1p100;
}

/* 1/sqrt(x) for 1e-30 < x < 1e30: a single-precision start and two steps of
 * Newton's iteration, cheaper than a double root and division; relative error 3e-16. */
HD double inverse_sqrt(double x)
{
    double y = (double)(1.0f / sqrtf((float)x));
    y = fused(0.5 * y, fused(-x * y, y, 1.0), y);
    return fused(0.5 * y, fused(-x * y, y, 1.0), y);
}

#endif
