/*
 * Structure factors at real-valued indices: nearest neighbour or tricubic over
 * the dense table of model/experiment.h [3.8].
 */
#ifndef BRAGG_PHYSICS_HKL_H
#define BRAGG_PHYSICS_HKL_H

#include "model/experiment.h"
#include "physics/crystal/shape.h"

/* Returns true if the whole-numbered index h is in the box along axis i. */
HD int hkl_inside(const struct hkl_table *t, int i, double h)
{
    return h >= t->min[i] && h <= (double)t->min[i] + t->count[i] - 1;
}

/* Returns the item of the table at indices that are in the box. */
HD double hkl_at(const struct hkl_table *t, long h, long k, long l)
{
    return t->F[((h - t->min[0]) * t->count[1] + (k - t->min[1])) * t->count[2] + (l - t->min[2])];
}

/* Returns F in electrons at the nearest whole indices. Outside the box it is default_F. */
HD double hkl_nearest(const struct hkl_table *t, const double hkl[3])
{
    const double h = index_nearest(hkl[0]), k = index_nearest(hkl[1]), l = index_nearest(hkl[2]);
    if (!hkl_inside(t, 0, h) || !hkl_inside(t, 1, k) || !hkl_inside(t, 2, l))
        return t->default_F;
    return hkl_at(t, (long)h, (long)k, (long)l);
}

/* Returns true if the tricubic formula can be used: the box has two nodes on either side, with
 * the margins of nanoBragg. Its upper margin is one node wider than necessary. */
HD int hkl_can_interpolate(const struct hkl_table *t, const double hkl[3])
{
    for (int i = 0; i < 3; i++)
        if (hkl[i] - t->min[i] + 3.0 > t->count[i] || hkl[i] - 2.0 < t->min[i])
            return 0;
    return 1;
}

/* Returns the value at `at` of Lagrange's cubic through (x[j], y[j]), j = 0..3. */
HD double cubic_lagrange(const double x[4], const double y[4], double at)
{
    const double t0 = (at - x[1]) * (at - x[2]) * (at - x[3]) * y[0] /
                      ((x[0] - x[1]) * (x[0] - x[2]) * (x[0] - x[3]));
    const double t1 = (at - x[0]) * (at - x[2]) * (at - x[3]) * y[1] /
                      ((x[1] - x[0]) * (x[1] - x[2]) * (x[1] - x[3]));
    const double t2 = (at - x[0]) * (at - x[1]) * (at - x[3]) * y[2] /
                      ((x[2] - x[0]) * (x[2] - x[1]) * (x[2] - x[3]));
    const double t3 = (at - x[0]) * (at - x[1]) * (at - x[2]) * y[3] /
                      ((x[3] - x[0]) * (x[3] - x[1]) * (x[3] - x[2]));
    return t0 + t1 + t2 + t3;
}

/* Returns the tricubic F in electrons: along l, then k, then h, over the nodes floor-1 to
 * floor+2. Requires hkl_can_interpolate. */
HD double hkl_tricubic(const struct hkl_table *t, const double hkl[3])
{
    const double base[3] = {floor(hkl[0]), floor(hkl[1]), floor(hkl[2])};
    double node[3][4];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            node[i][j] = base[i] + (j - 1);
    double along_h[4];
    for (int i = 0; i < 4; i++) {
        double along_k[4];
        for (int j = 0; j < 4; j++) {
            double along_l[4];
            for (int m = 0; m < 4; m++)
                along_l[m] = hkl_at(t, (long)node[0][i], (long)node[1][j], (long)node[2][m]);
            along_k[j] = cubic_lagrange(node[2], along_l, hkl[2]);
        }
        along_h[i] = cubic_lagrange(node[1], along_k, hkl[1]);
    }
    return cubic_lagrange(node[0], along_h, hkl[0]);
}

#endif
