/*
 * The part of a crystal that the beam illuminates.  Only this part scatters [3.10].  Its volume
 * determines how much it scatters, and its second moments how wide the spots become.
 */
#ifndef BRAGG_PHYSICS_ILLUMINATED_VOLUME_H
#define BRAGG_PHYSICS_ILLUMINATED_VOLUME_H

#include <stdbool.h>

#include "base/vec.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Sets the rows of `frame` to unit vectors in the laboratory frame: along the width size_m of the
 * beam, along its height beam_height_m(), and along its direction.  The electric field is along the
 * width. */
void illuminated_axes(const struct beam *b, double frame[9]);

/* Returns the illuminated fraction of the volume of a box, from 0 to 1.  The rows of `edges` are
 * the edges of the box in m.  The middle of the box is at aside_m[3] in the laboratory frame, from
 * the middle of the uniform beam; NULL: there.  The result is exactly 1 if the whole box is
 * illuminated, or if the beam has no size. */
double illuminated_share(const struct beam *b, const double edges[9], const double *aside_m);

/* Sets moments[], row-major, to the second moments in m^2 in the laboratory frame of the
 * illuminated part of that box, about the middle of this part.  Returns false, and leaves
 * moments[], if the beam does not cut the box. */
bool illuminated_moments(const struct beam *b, const double edges[9], const double *aside_m,
                         double moments[9]);

/* Returns how many blocks of the crystal are illuminated if its cell has the rows a, b, c of
 * `cell`, of any length.  Returns 1 for a crystal that was made as one block.  `aside_m` is as in
 * illuminated_share. */
double illuminated_blocks(const struct crystal *c, const struct beam *b, const double cell[9],
                          const double *aside_m);

/* --- the footprint ---------------------------------------------------------------- */

/*
 * The footprint of an extended crystal.  Rays of one direction leave the crystal at many points and
 * meet the panel at as many points.  A spot therefore looks like the illuminated part of the
 * crystal, seen along that direction.
 *
 * Only the second moments of the illuminated part are used, as if it were a Gaussian.  Projected
 * onto the panel they are a covariance in pixels squared.  It is applied as a chain of
 * one-dimensional convolutions along lattice directions (fast, slow).  The directions come from
 * Selling's decomposition of a quadratic form: covariance = sum over k of weight_k v_k v_k^T, with
 * three integer vectors and weights >= 0 (Selling 1874; Conway and Sloane, Proc. R. Soc. A 436, 55,
 * 1992).
 *
 * The kernel of a direction is q^(n^2) at n steps from the pixel, where q is chosen so that the
 * variance of the kernel is the weight.  Flux, centroid and second moments are therefore exact for
 * every size, also below a pixel.
 */

/* Variance of a position within a pixel.  Nothing narrower can be seen. */
#define FOOTPRINT_PIXEL_VARIANCE (1.0 / 12.0)
/* A footprint of less than a hundredth of a pixel (rms) is left out. */
#define FOOTPRINT_LEAST_VARIANCE 1e-4
#define FOOTPRINT_WIDEST_PX 100.0  // largest rms; a wider footprint is refused

/* Limits the eigenvalues of the symmetric matrix {a, b; b, c} = m[3] to [low, high]. */
HD void footprint_limit(double m[3], double low, double high)
{
    const double mean = 0.5 * (m[0] + m[2]), half = 0.5 * (m[0] - m[2]);
    const double apart = sqrt(half * half + m[1] * m[1]);
    double most = mean + apart, least = mean - apart;
    most = most < low ? low : most > high ? high : most;
    least = least < low ? low : least > high ? high : least;
    /* mean I + (m - mean I), the second part scaled from `apart` */
    const double scale = apart > 0.0 ? 0.5 * (most - least) / apart : 0.0;
    m[0] = 0.5 * (most + least) + scale * half;
    m[1] = scale * m[1];
    m[2] = 0.5 * (most + least) - scale * half;
}

/* Sets p[] so that a ray of direction s[3] which leaves the sample at x (in m from the origin) is
 * shifted on the panel by p[0..2].x pixels along fast and p[3..5].x pixels along slow.  `fast` and
 * `slow` are the edges of the pixel in m. */
HD void footprint_projection(const double fast[3], const double slow[3], const double s[3],
                             double p[6])
{
    vec_cross(slow, s, p);
    vec_cross(s, fast, p + 3);
    const double volume = vec_dot(fast, p);
    vec_scale(p, 1.0 / volume, p);
    vec_scale(p + 3, 1.0 / volume, p + 3);
}

/* Sets on[3] = {fast fast, fast slow, slow slow} to the covariance in pixels squared of an
 * illuminated part with the row-major covariance `lit` in m^2.  p[6] is from footprint_projection.
 * The variance along the narrower axis is at least that of a pixel or, if this is less, a twelfth
 * of the variance along the other axis, because a thinner line would break into dots. */
HD void footprint_covariance(const double lit[9], const double p[6], double on[3])
{
    double f[3], s[3];
    mat_apply(lit, p, f);
    mat_apply(lit, p + 3, s);
    on[0] = vec_dot(p, f);
    on[1] = vec_dot(p, s);
    on[2] = vec_dot(p + 3, s);
    const double half = 0.5 * (on[0] - on[2]);
    const double most = 0.5 * (on[0] + on[2]) + sqrt(half * half + on[1] * on[1]);
    footprint_limit(on, FOOTPRINT_PIXEL_VARIANCE * (most < 1.0 ? most : 1.0), HUGE_VAL);
}

/* b^T m c for the symmetric m[3]. */
HD double footprint_form(const double m[3], const int b[2], const int c[2])
{
    return m[0] * b[0] * c[0] + m[1] * (b[0] * c[1] + b[1] * c[0]) + m[2] * b[1] * c[1];
}

/* Selling's decomposition of a covariance: steps v[k] = (fast, slow) of which slow > 0, or
 * slow = 0 and fast > 0, and the variance along each, in steps squared. */
HD void footprint_directions(const double on[3], int v[3][2], double variance[3])
{
    int b[3][2] = {{1, 0}, {0, 1}, {-1, -1}};
    const double nothing = 1e-12 * (on[0] + on[2]);
    for (int pair = 0, quiet = 0; quiet < 3; pair = (pair + 1) % 3) {
        int *one = b[pair], *two = b[(pair + 1) % 3], *three = b[(pair + 2) % 3];
        quiet++;
        if (!(footprint_form(on, one, two) > nothing))
            continue;
        quiet = 0;
        for (int i = 0; i < 2; i++) {
            three[i] = one[i] - two[i];
            one[i] = -one[i];
        }
    }
    for (int k = 0; k < 3; k++) {
        const double form = footprint_form(on, b[(k + 1) % 3], b[(k + 2) % 3]);
        const int sign = b[k][0] > 0 || (b[k][0] == 0 && b[k][1] < 0) ? 1 : -1;
        variance[k] = form < -nothing ? -form : 0.0;
        v[k][0] = -sign * b[k][1];
        v[k][1] = sign * b[k][0];
    }
}

/* Steps to either side of a kernel of this variance.  Less than 1e-6 of the kernel lies beyond
 * them. */
HD int footprint_reach(double variance)
{
    return variance > 0.0 ? 1 + (int)(5.5 * sqrt(variance)) : 0;
}

/* Sets sum[] to the sum, the second and the fourth moment of q^(n^2), each over both sides. */
HD void footprint_moments(double q, int reach, double sum[3])
{
    double value = 1.0, ratio = q;
    sum[0] = 1.0;
    sum[1] = sum[2] = 0.0;
    for (int n = 1; n <= reach; n++) {
        value *= ratio;
        ratio *= q * q;
        sum[0] += 2.0 * value;
        sum[1] += 2.0 * value * n * n;
        sum[2] += 2.0 * value * n * n * n * n;
    }
}

/* Sets weight[n] of the pixels n = 0 .. reach steps away on either side.  The weights are rounded
 * to float32 in a way that keeps weight[0] + 2 sum of the others at 1.  The function uses only
 * arithmetic, so that all machines get the same bits. */
HD void footprint_kernel(double variance, int reach, float *weight)
{
    double sum[3], value = 1.0, others = 0.0;
    /* near the root: two terms of the series below, exp(-1/(2 variance)) above */
    double q = variance < 0.3 ? variance / (2.0 * (1.0 - variance))
                              : (4.0 * variance - 1.0) / (4.0 * variance + 1.0);
    for (int i = 0; i < 12 && reach > 0; i++) { /* Newton in ln q */
        footprint_moments(q, reach, sum);
        const double mean = sum[1] / sum[0], spread = sum[2] / sum[0] - mean * mean;
        const double next = q * (1.0 + (variance - mean) / spread);
        q = next > 0.0 ? next : 0.5 * q;
    }
    footprint_moments(q, reach, sum);
    double ratio = q;
    for (int n = 1; n <= reach; n++) {
        value *= ratio;
        ratio *= q * q;
        weight[n] = (float)(value / sum[0]);
        others += (double)weight[n];
    }
    weight[0] = (float)(1.0 - 2.0 * others);
}

/* Sets `lit[9]`, row-major, to the covariance in m^2 of the illuminated part of the crystals of a
 * recipe.  The crystals are boxes with the edges of struct crystal along a, b, c of the rotated
 * lattices, cut exactly by the beam.  The result is the mean over the rotation and over lattices,
 * by their weights.  Returns false if no lattice has a crystal with a size; `lit[9]` then has no
 * meaning. */
bool illuminated_covariance(const struct experiment *x, const struct recipe *r, double lit[9]);

/* Returns true if any crystal of *x has a size. */
bool footprint_is_wanted(const struct experiment *x);

#endif
