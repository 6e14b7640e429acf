#include "physics/crystal/diffuse.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"

/* Sets the unit vectors a, c* x a and c* as rows. */
static void crystal_axes(const double star[9], double axes[9])
{
    vec_cross(star + 3, star + 6, axes);
    vec_unit(axes, axes);
    vec_unit(star + 6, axes + 6);
    vec_cross(axes + 6, axes, axes + 3);
}

void diffuse_metric(const struct crystal *c, const double t_A[3], double m[9])
{
    double axes[9];
    crystal_axes(c->reciprocal_A, axes);
    memset(m, 0, 9 * sizeof *m);
    for (int i = 0; i < 3; i++) {
        double along[3];
        for (int k = 0; k < 3; k++)
            along[k] = 2.0 * M_PI * t_A[i] * vec_dot(axes + 3 * i, c->reciprocal_A + 3 * k);
        for (int k = 0; k < 9; k++)
            m[k] += along[k / 3] * along[k % 3];
    }
}

double diffuse_quadratic(const double m[9], const double hkl[3])
{
    double turned[3];
    mat_apply(m, hkl, turned);
    return vec_dot(turned, hkl);
}

int diffuse_orders(double X)
{
    double term = X, rest = expm1(X) - X;
    int m = 1;
    while (rest > 1e-3 * expm1(X)) {
        term *= X / ++m;
        rest -= term;
    }
    return m;
}

double diffuse_scale(const struct crystal *c)
{
    const double *N = c->cells, *x = c->cells_across, *gamma = c->diffuse_gamma_A;
    const double cells =
        mat_determinant((const double[9]){N[0], x[0], x[2], x[0], N[1], x[1], x[2], x[1], N[2]});
    /* the volume is 1 over that of the reciprocal cell */
    return cells * fabs(mat_determinant(c->reciprocal_A)) * 8.0 * M_PI * gamma[0] * gamma[1] *
           gamma[2];
}

bool diffuse_damp(struct crystal *c)
{
    const struct hkl_table *t = &c->table;
    double m[9], *F = t->F;
    diffuse_metric(c, c->diffuse_sigma_A, m);
    for (int h = 0; h < t->count[0]; h++)
        for (int k = 0; k < t->count[1]; k++)
            for (int l = 0; l < t->count[2]; l++, F++) {
                const double hkl[3] = {t->min[0] + h, t->min[1] + k, t->min[2] + l};
                const double X = diffuse_quadratic(m, hkl);
                if (*F != 0.0 && X > DIFFUSE_MOST_X)
                    return false;
                *F *= exp(-0.5 * X);
            }
    return true;
}
