/*
 * Squared lattice factors and their derivatives for blocks of pixels, in the precision of the file
 * that includes this (`real`): see shape_slopes.h for the formulas.  What bounds them: arithmetic.
 * SQUARE and GAUSS have files of their own.
 */
#ifndef BRAGG_ENGINE_CPU_SLOPES_SHAPE_H
#define BRAGG_ENGINE_CPU_SLOPES_SHAPE_H

#include "engine/cpu_point.h"
#include "engine/cpu_slopes.h"

#if CPU_DOUBLE
typedef double real;
#define TERMS(scratch) (&(scratch)->terms.in_double)
#define F_SQR(table) ((table)->F_sqr_double)
#define FUSED fused
#define NEAREST_WHOLE ROUND_MAGIC
#define ROOT sqrt
static const size_t TERMS_MOST = SIZE_MAX;  // summed up before they are weighted

/* sin(pi t)/(pi t) = a and cos(pi t) = a + t^2 b from t^2, for |t| <= 1/2.  Chebyshev fits in 40
 * digits; errors below 1e-18 before rounding. */
INLINE void waves(double z, double *a, double *b)
{
    double p = 0x1.07192db714f81p-22;
    p = fused(p, z, -0x1.d3e3c296a65cfp-18);
    p = fused(p, z, 0x1.37469730d3391p-13);
    p = fused(p, z, -0x1.3381697088111p-9);
    p = fused(p, z, 0x1.ac6805cbe14f0p-6);
    p = fused(p, z, -0x1.86a8e472088a4p-3);
    p = fused(p, z, 0x1.9f9cb402bc3ebp-1);
    p = fused(p, z, -0x1.a51a6625307d3p+0);
    *a = fused(p, z, 1.0);
    p = -0x1.122ee54e139fap-23;
    p = fused(p, z, 0x1.0fab0c3bd7fc5p-18);
    p = fused(p, z, -0x1.999f8a88e8e8fp-14);
    p = fused(p, z, 0x1.d2eaa5d612e42p-10);
    p = fused(p, z, -0x1.8061c54be76b2p-6);
    p = fused(p, z, 0x1.ac6805cf329aap-3);
    p = fused(p, z, -0x1.24feab558a46fp+0);
    p = fused(p, z, 0x1.9f9cb402bc46cp+1);
    *b = fused(p, z, -0x1.a51a6625307d3p+1);
}
#else
typedef float real;
#define TERMS(scratch) (&(scratch)->terms.in_float)
#define F_SQR(table) ((table)->F_sqr)
#define FUSED fused_f
#define NEAREST_WHOLE 0x1.8p23f
#define ROOT sqrtf
static const size_t TERMS_MOST = SLOPES_TERMS;

/* sin(pi t)/(pi t) = a and cos(pi t) = a + t^2 b from t^2, for |t| <= 1/2.  The first as
 * sinc_scaled_f, the other a Chebyshev fit; errors 2e-7 and 3e-9 before rounding. */
INLINE void waves(float z, float *a, float *b)
{
    float p = 0x1.9409a0p-6f;
    p = fused_f(p, z, -0x1.85fa48p-3f);
    p = fused_f(p, z, 0x1.9f98ccp-1f);
    p = fused_f(p, z, -0x1.a51a58p+0f);
    *a = fused_f(p, z, 1.0f);
    p = -0x1.6e8b2cp-6f;
    p = fused_f(p, z, 0x1.abec0ap-3f);
    p = fused_f(p, z, -0x1.24fd4ap+0f);
    p = fused_f(p, z, 0x1.9f9caep+1f);
    *b = fused_f(p, z, -0x1.a51a66p+1f);
}
#endif

/* j = 3 (sin x - x cos x)/x^3 and its derivative over x, both up to one common sign, from x^2 =
 * pi^2 r: by the power series up to 1, where differences of the closed forms cancel. */
INLINE void ball(real r, real *j, real *slope)
{
    const real z = r * (real)(M_PI * M_PI), one = 1, three = 3, two = 2;
    real p = (real)-1.1743764638034757e-18, q = 0;
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)4.439143033177138e-16);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)-1.34949948208585e-13);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)3.2118087673643229e-11);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)-5.7812557812557813e-9);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)7.5156325156325156e-7);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)-6.6137566137566138e-5);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)0.0035714285714285714);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)-0.1);
    q = FUSED(q, z, p);
    p = FUSED(p, z, (real)1.0);
    const real s = ROOT(r), n = (s + NEAREST_WHOLE) - NEAREST_WHOLE, f = s - n;
    real a, b;
    waves(f * f, &a, &b);
    const real sine = f * a / s, closed = three * (sine - FUSED(f * f, b, a)) / z;
    const real steep = three * (sine - closed) / z;
    *j = z < one ? p : closed;
    *slope = z < one ? two * q : steep;
}

/* ROUND from offsets to the nearest lattice point, times F_sqr: slopes by indices, sums of the
 * rest: K j^2, r = fudge R. */
INLINE void round_slopes(const struct cpu_slopes_lattice *l, bool cells, int n,
                         struct cpu_slopes_scratch *s)
{
    const double volume = 0.723601254558268 * l->N[0] * l->N[1] * l->N[2];
    const real top = (real)(volume * volume), fudge = (real)l->fudge, half = (real)0.5, two = 2;
    const real pi_sqr = (real)(M_PI * M_PI);
    const real N0 = (real)l->N[0], N1 = (real)l->N[1], N2 = (real)l->N[2];
    const real per0 = 1 / N0, per1 = 1 / N1, per2 = 1 / N2;
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const real x = TERMS(s)->d[0][i] * N0, y = TERMS(s)->d[1][i] * N1;
        const real z = TERMS(s)->d[2][i] * N2;
        const real R = FUSED(x, x, FUSED(y, y, z * z));
        real j, by_x;
        ball(R * fudge, &j, &by_x);
        const real F = TERMS(s)->F_sqr[i] * top * j, steep = two * F * by_x * pi_sqr;
        const real slope = steep * fudge, twice = two * F * j;
        TERMS(s)->by_index[0][i] = slope * x * N0;
        TERMS(s)->by_index[1][i] = slope * y * N1;
        TERMS(s)->by_index[2][i] = slope * z * N2;
        TERMS(s)->sums[SLOPES_VALUE][i] = FUSED(F, j, TERMS(s)->sums[SLOPES_VALUE][i]);
        TERMS(s)->sums[SLOPES_FUDGE][i] = FUSED(half * steep, R, TERMS(s)->sums[SLOPES_FUDGE][i]);
        if (cells) {
            TERMS(s)->sums[SLOPES_CELLS + 0][i] =
                FUSED(per0, FUSED(slope * x, x, twice), TERMS(s)->sums[SLOPES_CELLS + 0][i]);
            TERMS(s)->sums[SLOPES_CELLS + 1][i] =
                FUSED(per1, FUSED(slope * y, y, twice), TERMS(s)->sums[SLOPES_CELLS + 1][i]);
            TERMS(s)->sums[SLOPES_CELLS + 2][i] =
                FUSED(per2, FUSED(slope * z, z, twice), TERMS(s)->sums[SLOPES_CELLS + 2][i]);
        }
    }
}

#endif
