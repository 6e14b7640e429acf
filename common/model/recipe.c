#include "model/recipe.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

void recipe_free(struct recipe *r)
{
    for (size_t i = 0; i < r->nlattices; i++) {
        mem_free(r->lattices[i].phi_rad);
        mem_free(r->lattices[i].cells_m);
        mem_free(r->lattices[i].domains);
    }
    mem_free(r->lattices);
    mem_free(r->sources);
    memset(r, 0, sizeof *r);
}

/* Computes the rows a, b, c of the cell with the reciprocal rows r.  Returns false if the cell
 * has no volume. */
static bool invert_rows(const double r[9], double direct[9])
{
    static const double FLAT = 1e-9;
    for (int i = 0; i < 3; i++)
        vec_cross(r + (i + 1) % 3 * 3, r + (i + 2) % 3 * 3, direct + 3 * i);
    const double volume = vec_dot(r, direct);
    const double box = sqrt(vec_dot(r, r) * vec_dot(r + 3, r + 3) * vec_dot(r + 6, r + 6));
    for (int i = 0; i < 9; i++)
        direct[i] /= volume;
    return fabs(volume) > FLAT * box;
}

void lattice_cell(const struct experiment *x, const struct lattice *l, double cell[6])
{
    static const double SAME = 1e-8;
    double direct[9], own[6];
    crystal_cell(&x->crystals[l->crystal], cell);
    if (x->physics == PHYSICS_FAITHFUL || !x->crystals[l->crystal].has_cell ||
        !invert_rows(l->reciprocal_A, direct))
        return;
    for (int i = 0; i < 3; i++)
        own[i] = sqrt(vec_dot(direct + 3 * i, direct + 3 * i));
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        own[3 + i] = rad_to_deg(acos(vec_dot(direct + 3 * j, direct + 3 * k) / (own[j] * own[k])));
    }
    bool other = false;
    for (int i = 0; i < 6; i++)
        other = other || fabs(own[i] - cell[i]) > SAME * fabs(cell[i]);
    if (other)
        memcpy(cell, own, sizeof own);
}

bool lattice_reserve(struct lattice *l, size_t nphi, size_t ndomains)
{
    l->phi_rad = mem_array(nphi, sizeof(double));
    l->cells_m = mem_array(nphi, 9 * sizeof(double));
    l->domains = mem_array(ndomains, 9 * sizeof(double));
    l->nphi = nphi;
    l->ndomains = ndomains;
    return l->phi_rad && l->cells_m && l->domains;
}

bool recipe_copy(struct recipe *to, const struct recipe *from)
{
    *to = *from;
    to->nlattices = 0;
    to->lattices = mem_array(from->nlattices + 1, sizeof *to->lattices);
    to->sources =
        from->nsources ? mem_copy(from->sources, from->nsources, sizeof *to->sources) : NULL;
    if (!to->lattices || (from->nsources && !to->sources))
        return false;
    for (size_t i = 0; i < from->nlattices; i++) {
        const struct lattice *l = &from->lattices[i];
        struct lattice *copy = &to->lattices[to->nlattices++];
        *copy = *l;
        if (!lattice_reserve(copy, l->nphi, l->ndomains))
            return false;
        memcpy(copy->phi_rad, l->phi_rad, l->nphi * sizeof *l->phi_rad);
        memcpy(copy->cells_m, l->cells_m, l->nphi * 9 * sizeof *l->cells_m);
        memcpy(copy->domains, l->domains, l->ndomains * 9 * sizeof *l->domains);
    }
    return true;
}

/* --- where the detector stood -------------------------------------------- */

bool moved_open(struct moved *m, const struct experiment *of)
{
    *m = (struct moved){.of = of, .x = *of};
    m->x.panels = mem_copy(of->panels, of->npanels, sizeof *of->panels);
    return m->x.panels;
}

void moved_close(struct moved *m)
{
    mem_free(m->x.panels);
    *m = (struct moved){0};
}

const struct experiment *moved_to(struct moved *m, const struct recipe *r)
{
    static const double none[3];
    const double *by_m = r->has_shift ? r->shift_m : none;
    if (memcmp(m->by_m, by_m, sizeof m->by_m) == 0)
        return &m->x;
    memcpy(m->by_m, by_m, sizeof m->by_m);
    for (size_t i = 0; i < m->x.npanels; i++) {
        m->x.panels[i] = m->of->panels[i];
        if (r->has_shift)
            panel_shift(&m->x, &m->x.panels[i], by_m);
    }
    return &m->x;
}

void panel_shift(const struct experiment *x, struct panel *p, const double by_m[3])
{
    for (int i = 0; i < 3; i++) {
        p->origin_m[i] += by_m[i];
        p->grid_m[i] += by_m[i];
    }
    const double fast_m = vec_dot(by_m, p->fast), slow_m = vec_dot(by_m, p->slow);
    const double along_m = vec_dot(by_m, x->beam.direction);
    p->distance_m += along_m;
    p->close_distance_m += vec_dot(p->normal, by_m);
    p->close_fast_m -= fast_m;
    p->close_slow_m -= slow_m;
    p->beam_fast_m -= fast_m - along_m * vec_dot(x->beam.direction, p->fast);
    p->beam_slow_m -= slow_m - along_m * vec_dot(x->beam.direction, p->slow);
}
