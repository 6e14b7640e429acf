/*
 * Squared lattice factors of SQUARE, ROUND and GAUSS and their derivatives for one term, in the
 * precision of the file that includes this (`real`: CPU_DOUBLE).  shape_slopes.h has the formulas.
 * The only branch is by shape.  For CPUs and for CUDA.  Arithmetic limits the speed: twelve
 * polynomials and a division for SQUARE.
 */
#ifndef BRAGG_ENGINE_SLOPES_SHAPES_H
#define BRAGG_ENGINE_SLOPES_SHAPES_H

#include "engine/cpu/cpu_point.h"
#include "physics/crystal/shape.h"

#if CPU_DOUBLE
typedef double real;
#define F_SQR(table) ((table)->F_sqr_double)
#define FUSED fused
#define NEAREST_WHOLE ROUND_MAGIC
#define ROOT sqrt
#define EXP2_NEGATIVE exp2_negative
#define OFFSET_FLOOR 1e-30

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
#define F_SQR(table) ((table)->F_sqr)
#define FUSED fused_f
#define NEAREST_WHOLE 0x1.8p23f
#define ROOT sqrtf
#define EXP2_NEGATIVE exp2_negative_f
#define OFFSET_FLOOR 0x1p-33f  // its third power is not subnormal

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

/* The parts of sin(pi N d)/sin(pi d) along one axis. N d is the sum of a whole number n and a
 * fraction t. */
struct grating {
    real d, t, n, a_d, b_d, a_t, b_t;
    real below;  // sin(pi d)/pi
};

INLINE struct grating grating(real offset, real N)
{
    const real none = 0;
    const real size = offset < none ? -offset : offset;
    struct grating g;
    g.d = size < OFFSET_FLOOR ? OFFSET_FLOOR : offset;
    g.n = (N * g.d + NEAREST_WHOLE) - NEAREST_WHOLE;
    g.t = FUSED(N, g.d, -g.n);
    waves(g.d * g.d, &g.a_d, &g.b_d);
    waves(g.t * g.t, &g.a_t, &g.b_t);
    g.below = g.d * g.a_d;
    return g;
}

/* The quotient and its derivatives, all three up to one common sign; r = 1/below.  The numerator
 * of the derivative by d is
 *     n a(d) a(t) + d t (N t a(d) b(t) - d a(t) b(d))
 * which loses no digits: at a spot n is 0, and both parts are small. */
INLINE real grating_value(const struct grating *g, real r)
{
    return g->t * g->a_t * r;
}

INLINE real grating_by_d(const struct grating *g, real N, real r)
{
    const real small = N * g->t * (g->a_d * g->b_t) - g->d * (g->a_t * g->b_d);  // 0 for N = 1
    return FUSED(g->n * g->a_d, g->a_t, g->d * g->t * small) * r * r;
}

INLINE real grating_by_N(const struct grating *g, real r)
{
    return FUSED(g->t * g->t, g->b_t, g->a_t) * g->d * r;
}

/* The numbers of cells and the width of a crystal block, as the formulas use them. */
struct shape_of {
    real N[3], per_N[3];  // cells, and 1/N
    real is_grating[3];   // SQUARE: 0 for one cell
    real top, steep;      // ROUND, GAUSS: largest value, and how it falls
    real fudge;
};

/* Prepares the shape SQUARE, ROUND or GAUSS. */
INLINE struct shape_of shape_of(enum crystal_shape shape, const double N[3], double fudge)
{
    struct shape_of s;
    const double cells = N[0] * N[1] * N[2];
    const double volume = shape_is_ellipsoid(shape) ? 0.723601254558268 * cells : cells;
    for (int i = 0; i < 3; i++) {
        s.N[i] = (real)N[i];
        s.per_N[i] = 1 / s.N[i];
        s.is_grating[i] = N[i] > 1;
    }
    s.top = (real)(shape_is_gaussian(shape) ? volume * volume * 0x1p-100 : volume * volume);
    s.steep = (real)(2.0 * fudge / 0.63);
    s.fudge = (real)fudge;
    return s;
}

/* The sums over terms: F S, and its derivatives by cells and fudge. */
struct shape_sums {
    real value, by_cells[3], by_fudge;
};

/* The following functions set the derivatives of F S by indices, and add to *sums. d[] are the
 * offsets from the nearest lattice point, and F is the squared structure factor. One division
 * serves all three axes. */
INLINE void square_term(const struct shape_of *of, const real d[3], real F, bool cells,
                        real by_index[3], struct shape_sums *sums)
{
    const real one = 1;
    const struct grating x = grating(d[0], of->N[0]);
    const struct grating y = grating(d[1], of->N[1]);
    const struct grating z = grating(d[2], of->N[2]);
    const real pair = x.below * y.below, inverse = one / (pair * z.below);
    const real rest = inverse * z.below;
    const real r0 = rest * y.below, r1 = rest * x.below, r2 = inverse * pair;
    const real s0 = grating_value(&x, r0), s1 = grating_value(&y, r1);
    const real s2 = grating_value(&z, r2), s01 = s0 * s1;
    const real product = s01 * s2, twice = (F + F) * product;
    const real e0 = twice * s1 * s2, e1 = twice * s0 * s2, e2 = twice * s01;
    sums->value = FUSED(F * product, product, sums->value);
    by_index[0] = e0 * grating_by_d(&x, of->N[0], r0);
    by_index[1] = e1 * grating_by_d(&y, of->N[1], r1);
    by_index[2] = e2 * grating_by_d(&z, of->N[2], r2);
    if (!cells)
        return;
    sums->by_cells[0] = FUSED(e0 * of->is_grating[0], grating_by_N(&x, r0), sums->by_cells[0]);
    sums->by_cells[1] = FUSED(e1 * of->is_grating[1], grating_by_N(&y, r1), sums->by_cells[1]);
    sums->by_cells[2] = FUSED(e2 * of->is_grating[2], grating_by_N(&z, r2), sums->by_cells[2]);
}

/* K j^2, r = fudge R, R = sum (N_i d_i)^2. */
INLINE void round_term(const struct shape_of *of, const real d[3], real F, bool cells,
                       real by_index[3], struct shape_sums *sums)
{
    const real half = (real)0.5, two = 2, pi_sqr = (real)(M_PI * M_PI);
    const real x = d[0] * of->N[0], y = d[1] * of->N[1], z = d[2] * of->N[2];
    const real R = FUSED(x, x, FUSED(y, y, z * z));
    real j, by_x;
    ball(R * of->fudge, &j, &by_x);
    const real part = F * of->top * j, steep = two * part * by_x * pi_sqr;
    const real slope = steep * of->fudge, twice = two * part * j;
    by_index[0] = slope * x * of->N[0];
    by_index[1] = slope * y * of->N[1];
    by_index[2] = slope * z * of->N[2];
    sums->value = FUSED(part, j, sums->value);
    sums->by_fudge = FUSED(half * steep, R, sums->by_fudge);
    if (!cells)
        return;
    sums->by_cells[0] = FUSED(of->per_N[0], FUSED(slope * x, x, twice), sums->by_cells[0]);
    sums->by_cells[1] = FUSED(of->per_N[1], FUSED(slope * y, y, twice), sums->by_cells[1]);
    sums->by_cells[2] = FUSED(of->per_N[2], FUSED(slope * z, z, twice), sums->by_cells[2]);
}

/* V^2 exp(-steep R), R as above. */
INLINE void gauss_term(const struct shape_of *of, const real d[3], real F, bool cells,
                       real by_index[3], struct shape_sums *sums)
{
    const real exponent = of->steep * (real)M_LOG2E, by_fudge = (real)(-2.0 / 0.63);
    const real x = d[0] * of->N[0], y = d[1] * of->N[1], z = d[2] * of->N[2];
    const real R = FUSED(x, x, FUSED(y, y, z * z));
    const real value = EXP2_NEGATIVE(R * exponent) * of->top * F;
    const real lean = value * -of->steep, slope = lean + lean;
    sums->value += value;
    by_index[0] = slope * x * of->N[0];
    by_index[1] = slope * y * of->N[1];
    by_index[2] = slope * z * of->N[2];
    sums->by_fudge = FUSED(by_fudge * R, value, sums->by_fudge);
    if (!cells)
        return;
    const real two = 2;
    sums->by_cells[0] = FUSED(two * of->per_N[0], FUSED(lean * x, x, value), sums->by_cells[0]);
    sums->by_cells[1] = FUSED(two * of->per_N[1], FUSED(lean * y, y, value), sums->by_cells[1]);
    sums->by_cells[2] = FUSED(two * of->per_N[2], FUSED(lean * z, z, value), sums->by_cells[2]);
}

/* Sets the slopes, and adds to *sums, for one of these shapes.  `shape` is constant, or the same
 * for all terms of a loop. */
INLINE void shape_term(enum crystal_shape shape, const struct shape_of *of, const real d[3], real F,
                       bool cells, real by_index[3], struct shape_sums *sums)
{
    CRYSTAL_SHAPES_ARE(4);
    if (shape_is_grating(shape))
        square_term(of, d, F, cells, by_index, sums);
    else if (shape_is_ellipsoid(shape))
        round_term(of, d, F, cells, by_index, sums);
    else
        gauss_term(of, d, F, cells, by_index, sums);
}

#endif
