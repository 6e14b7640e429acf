#include "score/alignment.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

/* v = u + shift + scale u + turn (-u_y, u_x) + (tilt . u) u, for the tangents u of the truth and v
 * of the model: a row for x and one for y.  The tilts are to first order, of a plane turned about
 * the sample. */
static void terms_of(const double u[2], double x[ALIGNMENT_TERMS], double y[ALIGNMENT_TERMS])
{
    const double to_x[] = {1.0, 0.0, u[0], -u[1], u[0] * u[0], u[1] * u[0]},
                 to_y[] = {0.0, 1.0, u[1], u[0], u[0] * u[1], u[1] * u[1]};
    memcpy(x, to_x, sizeof to_x);
    memcpy(y, to_y, sizeof to_y);
}

void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m)
{
    double x[ALIGNMENT_TERMS], y[ALIGNMENT_TERMS];
    if (!(truth_m[2] > 0.0 && model_m[2] > 0.0))
        return;
    const double u[2] = {truth_m[0] / truth_m[2], truth_m[1] / truth_m[2]},
                 off[2] = {model_m[0] / model_m[2] - u[0], model_m[1] / model_m[2] - u[1]};
    terms_of(u, x, y);
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        for (int k = 0; k < ALIGNMENT_TERMS; k++)
            a->products[i][k] += x[i] * x[k] + y[i] * y[k];
        a->measured[i] += x[i] * off[0] + y[i] * off[1];
    }
    a->n++;
    a->distance_m += truth_m[2];
    a->radius2 += u[0] * u[0] + u[1] * u[1];
    a->pixel_m = pixel_m;
}

/* Solves m x = b in the place of b by Cholesky's decomposition; false where a term is not told. */
static bool solve(double m[ALIGNMENT_TERMS][ALIGNMENT_TERMS], double b[ALIGNMENT_TERMS])
{
    static const double LEAST = 1e-9;
    double scale[ALIGNMENT_TERMS];
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        scale[i] = 1.0 / sqrt(m[i][i]);
        if (!isfinite(scale[i]))
            return false;
    }
    for (int i = 0; i < ALIGNMENT_TERMS; i++) {
        for (int k = 0; k <= i; k++) {
            double sum = m[i][k] * scale[i] * scale[k];
            for (int j = 0; j < k; j++)
                sum -= m[i][j] * m[k][j];
            if (i == k && !(sum > LEAST))
                return false;
            m[i][k] = i == k ? sqrt(sum) : sum / m[k][k];
        }
        b[i] *= scale[i];
        for (int j = 0; j < i; j++)
            b[i] -= m[i][j] * b[j];
        b[i] /= m[i][i];
    }
    for (int i = ALIGNMENT_TERMS; i-- > 0;) {
        for (int j = i + 1; j < ALIGNMENT_TERMS; j++)
            b[i] -= m[j][i] * b[j];
        b[i] /= m[i][i];
    }
    for (int i = 0; i < ALIGNMENT_TERMS; i++)
        b[i] *= scale[i];
    return true;
}

struct alignment_off alignment_solve(const struct alignment *a)
{
    struct alignment_off off = {NAN, NAN, NAN, {NAN, NAN}, NAN};
    double m[ALIGNMENT_TERMS][ALIGNMENT_TERMS], x[ALIGNMENT_TERMS];
    if (!a->n)
        return off;
    memcpy(m, a->products, sizeof m);
    memcpy(x, a->measured, sizeof x);
    off.distance_m = a->distance_m / (double)a->n;
    off.radius_px = sqrt(a->radius2 / (double)a->n) * off.distance_m / a->pixel_m;
    if (!solve(m, x))
        return off;
    off.camera_length = 1.0 / hypot(1.0 + x[2], x[3]) - 1.0;
    off.turn_deg = rad_to_deg(atan2(x[3], 1.0 + x[2]));
    off.tilt_deg[0] = rad_to_deg(0.0 - x[5]);
    off.tilt_deg[1] = rad_to_deg(x[4]);
    return off;
}
