#include "physics/detector/footprint.h"

#include <string.h>

#include "physics/crystal/illuminated_volume.h"

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

/* Adds the covariance of the illuminated part of a crystal, averaged over its phi steps. */
static void add_crystal(const struct crystal *c, const struct lattice *l, const struct beam *beam,
                        double whole[9])
{
    for (size_t t = 0; t < l->nphi; t++) {
        double along[9], edges[9], cut[9];
        for (int i = 0; i < 3; i++) {
            vec_unit(l->cells_m + 9 * t + 3 * i, along + 3 * i);
            vec_scale(along + 3 * i, c->size_m[i], edges + 3 * i);
        }
        const bool is_cut = lit_moments(beam, edges, cut);
        for (int i = 0; i < 9 && is_cut; i++)
            whole[i] += cut[i] / (double)l->nphi;
        for (int i = 0; i < 3 && !is_cut; i++)
            add_square(along + 3 * i, BOX_VARIANCE * c->size_m[i] * c->size_m[i] / (double)l->nphi,
                       whole);
    }
}

bool footprint_lit(const struct experiment *x, const struct recipe *r, double lit[9])
{
    const struct beam *beam = &x->beam;
    double shares = 0.0;
    bool any = false;
    for (size_t i = 0; i < r->nlattices; i++)
        shares += r->lattices[i].weight;
    if (!footprint_is_wanted(x) || !(shares > 0.0))
        return false;
    memset(lit, 0, 9 * sizeof *lit);
    for (size_t i = 0; i < r->nlattices; i++) {
        const struct crystal *c = &x->crystals[r->lattices[i].crystal];
        double whole[9] = {0};
        if (!c->has_size)
            continue;
        any = true;
        add_crystal(c, &r->lattices[i], beam, whole);
        for (int k = 0; k < 9; k++)
            lit[k] += r->lattices[i].weight / shares * whole[k];
    }
    return any;
}
