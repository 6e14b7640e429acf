#include "physics/noise/ran1.h"

#include <math.h>

/* Each (float) below is a rounding of the original program. Images change if one is removed, or
 * if a product stays in double precision. */

enum { WARM_UP = 8 };  // steps thrown away before the table is filled

static const long MODULUS = 2147483647;
static const long BUCKET = 67108864;  // 1 + (MODULUS - 1) / RAN1_TABLE

/* Makes one step of s := 16807 s mod 2147483647 by the method of Schrage, without overflow. */
static long minimal_standard(long s)
{
    long k = s / 127773;
    s = 16807 * (s - k * 127773) - 2836 * k;
    return s < 0 ? s + MODULUS : s;
}

static void fill_table(struct ran1 *r, long *seed)
{
    long s = *seed > -1 ? 1 : -*seed;
    for (int j = RAN1_TABLE + WARM_UP - 1; j >= 0; j--) {
        s = minimal_standard(s);
        if (j < RAN1_TABLE)
            r->iv[j] = s;
    }
    r->iy = r->iv[0];
    *seed = s;
}

float ran1_uniform(struct ran1 *r, long *seed)
{
    static const double largest = 1.0 - 1.2e-7;
    if (*seed <= 0 || r->iy == 0)
        fill_table(r, seed);
    *seed = minimal_standard(*seed);
    int j = (int)(r->iy / BUCKET) & (RAN1_TABLE - 1);
    r->iy = r->iv[j];
    r->iv[j] = *seed;
    float t = (float)((1.0 / 2147483647) * (double)r->iy);
    return (double)t > largest ? (float)largest : t;
}

float ran1_gauss(struct ran1 *r, long *seed)
{
    if (r->has_spare) {
        r->has_spare = false;
        return r->spare;
    }
    float v1, v2, rsq;
    do {
        v1 = (float)(2.0 * (double)ran1_uniform(r, seed) - 1.0);
        v2 = (float)(2.0 * (double)ran1_uniform(r, seed) - 1.0);
        rsq = v1 * v1 + v2 * v2;
    } while (rsq >= 1.0f || rsq == 0.0f);
    float fac = (float)sqrt(-2.0 * log((double)rsq) / (double)rsq);
    r->spare = v1 * fac;
    r->has_spare = true;
    return v2 * fac;
}

/* Returns ln gamma(x) for x > 0, from the series of Lanczos. */
static float ran1_gammln(float x)
{
    static const double c[6] = {76.18009172947146,  -86.50532032941677,    24.01409824083091,
                                -1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5};
    double y = (double)x;
    double tmp = (double)x + 5.5;
    tmp -= ((double)x + 0.5) * log(tmp);
    double ser = 1.000000000190015;
    for (int j = 0; j < 6; j++)
        ser += c[j] / ++y;
    return (float)(-tmp + log(2.5066282746310005 * ser / (double)x));
}

/* Multiplies uniforms until the product falls below exp(-mean). */
static float poisson_small(struct ran1 *r, float mean, bool same, long *seed)
{
    if (!same)
        r->g = (float)exp(-(double)mean);
    float em = -1.0f, t = 1.0f;
    do {
        em += 1.0f;
        t *= ran1_uniform(r, seed);
    } while (t > r->g);
    return em;
}

/* Draws by rejection from a Lorentzian. */
static float poisson_large(struct ran1 *r, float mean, bool same, long *seed)
{
    if (!same) {
        r->sq = (float)sqrt(2.0 * (double)mean);
        r->alxm = (float)log((double)mean);
        r->g = (float)(mean * r->alxm) - ran1_gammln((float)((double)mean + 1.0));
    }
    float y, em, t;
    do {
        do {
            y = (float)tan(M_PI * (double)ran1_uniform(r, seed));
            em = r->sq * y + mean;
        } while (em < 0.0f);
        em = floorf(em);
        float exponent = em * r->alxm - ran1_gammln((float)((double)em + 1.0)) - r->g;
        t = (float)(0.9 * (1.0 + (double)(y * y)) * exp((double)exponent));
    } while (ran1_uniform(r, seed) > t);
    return em;
}

float ran1_poisson(struct ran1 *r, float mean, long *seed)
{
    if ((double)mean > 1e6)
        return (float)((double)mean + sqrt((double)mean) * (double)ran1_gauss(r, seed));
    bool same = r->has_mean && r->mean == mean;
    r->has_mean = true;
    r->mean = mean;
    return mean < 12.0f ? poisson_small(r, mean, same, seed) : poisson_large(r, mean, same, seed);
}

void ran1_rotation(struct ran1 *r, float cap_rad, long *seed, double rotation[9])
{
    double r1 = 2.0 * (double)ran1_uniform(r, seed) - 1.0;
    double r2 = 2.0 * (double)ran1_uniform(r, seed) - 1.0;
    double r3 = 2.0 * (double)ran1_uniform(r, seed) - 1.0;
    double xy = sqrt(1.0 - r2 * r2);
    float angle = cap_rad * powf((float)(1.0 - r3 * r3), (float)(1.0 / 3.0));
    double v1 = xy * sin(M_PI * r1), v2 = xy * cos(M_PI * r1), v3 = r2;
    double C = cos((double)angle), S = sin((double)angle), T = 1.0 - C;
    rotation[0] = C + T * v1 * v1;
    rotation[1] = T * v1 * v2 - S * v3;
    rotation[2] = T * v1 * v3 + S * v2;
    rotation[3] = T * v1 * v2 + S * v3;
    rotation[4] = C + T * v2 * v2;
    rotation[5] = T * v2 * v3 - S * v1;
    rotation[6] = T * v1 * v3 - S * v2;
    rotation[7] = T * v2 * v3 + S * v1;
    rotation[8] = C + T * v3 * v3;
}
