#include "physics/footprint.h"

#include <string.h>

#include "physics/lit.h"

#define BOX_VARIANCE (1.0 / 12.0)  // of a uniform box of edge 1

bool footprint_is_wanted(const struct experiment *x)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].has_size)
            return true;
    return false;
}

/* Adds factor v v^T. */
static void add_square(const double v[3], double factor, double m[9])
{
    for (int i = 0; i < 9; i++)
        m[i] += factor * v[i / 3] * v[i % 3];
}

/* Adds the covariance of a crystal, in the mean over its phi steps. */
static void add_crystal(const struct crystal *c, const struct lattice *l, double whole[9])
{
    for (size_t t = 0; t < l->nphi; t++)
        for (int i = 0; i < 3; i++) {
            double along[3];
            vec_unit(l->cells_m + 9 * t + 3 * i, along);
            add_square(along, BOX_VARIANCE * c->size_m[i] * c->size_m[i] / (double)l->nphi, whole);
        }
}

/* Limits covariance m across the beam to that of a uniform beam of this width and height, along
 * unit vectors `h` and `v`; what lies along the beam follows as far as it goes with them. */
static void cut(const double h[3], const double v[3], double width_m, double height_m, double m[9])
{
    double to_h[3], to_v[3];
    mat_apply(m, h, to_h);
    mat_apply(m, v, to_v);
    const double across[3] = {vec_dot(h, to_h), vec_dot(h, to_v), vec_dot(v, to_v)};
    const double rms_h = width_m * sqrt(BOX_VARIANCE), rms_v = height_m * sqrt(BOX_VARIANCE);
    const double determinant = across[0] * across[2] - across[1] * across[1];
    if (!(determinant > 0.0))
        return;
    double kept[3] = {across[0] / rms_h / rms_h, across[1] / rms_h / rms_v,
                      across[2] / rms_v / rms_v};
    footprint_limit(kept, 0.0, 1.0);
    const double lost[3] = {across[0] - kept[0] * rms_h * rms_h,
                            across[1] - kept[1] * rms_h * rms_v,
                            across[2] - kept[2] * rms_v * rms_v};
    /* m -= K lost K^T, K = m (h v) across^-1 */
    double k[2][3];
    for (int i = 0; i < 3; i++) {
        k[0][i] = (to_h[i] * across[2] - to_v[i] * across[1]) / determinant;
        k[1][i] = (to_v[i] * across[0] - to_h[i] * across[1]) / determinant;
    }
    for (int i = 0; i < 9; i++) {
        const int a = i / 3, b = i % 3;
        m[i] -= lost[0] * k[0][a] * k[0][b] + lost[2] * k[1][a] * k[1][b] +
                lost[1] * (k[0][a] * k[1][b] + k[1][a] * k[0][b]);
    }
}

bool footprint_lit(const struct experiment *x, const struct recipe *r, double lit[9])
{
    const struct beam *beam = &x->beam;
    double shares = 0.0, frame[9];
    bool any = false;
    for (size_t i = 0; i < r->nlattices; i++)
        shares += r->lattices[i].weight;
    if (!footprint_is_wanted(x) || !(shares > 0.0))
        return false;
    memset(lit, 0, 9 * sizeof *lit);
    lit_frame(beam, frame);
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct crystal *c = &x->crystals[r->lattices[i].crystal];
        double whole[9] = {0};
        if (!c->has_size)
            continue;
        any = true;
        add_crystal(c, &r->lattices[i], whole);
        if (beam->size_m > 0.0)
            cut(frame, frame + 3, beam->size_m, beam_height_m(beam), whole);
        for (int k = 0; k < 9; k++)
            lit[k] += r->lattices[i].weight / shares * whole[k];
    }
    return any;
}
