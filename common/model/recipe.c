#include "model/recipe.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"

void lattice_free(struct lattice *l)
{
    mem_free(l->phi_rad);
    mem_free(l->cells_m);
    mem_free(l->domains);
    memset(l, 0, sizeof *l);
}

void recipe_free(struct recipe *r)
{
    for (size_t i = 0; i < r->nlattices; i++)
        lattice_free(&r->lattices[i]);
    mem_free(r->lattices);
    mem_free(r->sources);
    memset(r, 0, sizeof *r);
}

double recipe_exposed(const struct recipe *r)
{
    static const double WHOLE = 1.0 - 1e-9;
    if (!r->nlattices || r->lattices[0].nphi == 0 || r->osc_rad == 0.0)
        return 1.0;
    const struct lattice *l = &r->lattices[0];
    const double part = 2.0 * (double)l->nphi * (l->phi_rad[0] - r->phi_rad) / r->osc_rad;
    return part > 0.0 && part < WHOLE ? part : 1.0;
}

const double *lattice_aside(const struct experiment *x, const struct lattice *l, size_t t,
                            double aside_m[3])
{
    if (!l->is_aside)
        return NULL;
    vec_copy(aside_m, l->aside_m);
    vec_rotate_axis(aside_m, x->spindle, l->phi_rad[t]);
    return aside_m;
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

const double *lattice_cells(const struct experiment *x, const struct lattice *l)
{
    return l->has_cells ? l->cells : x->crystals[l->crystal].cells;
}

const struct crystal *lattice_crystal(const struct experiment *x, const struct lattice *l,
                                      struct crystal *own)
{
    const struct crystal *of = &x->crystals[l->crystal];
    const bool spread = l->has_spread && of->has_ensemble;
    if (!l->has_cells && !spread)
        return of;
    *own = *of;
    if (l->has_cells)
        memcpy(own->cells, l->cells, sizeof own->cells);
    for (int i = 0; i < 3 && spread; i++)
        own->mosaic_rms_rad[i] = l->spread_rad;
    return own;
}

double lattice_damping_m2(const struct lattice *l)
{
    static const double ANGSTROM_SQR_M2 = 1e-20;
    return l->has_b_factor ? 0.5 * l->b_factor_A2 * ANGSTROM_SQR_M2 : 0.0;
}

struct crystal *recipe_crystals(const struct experiment *x, const struct recipe *r)
{
    struct crystal own, *all = mem_array(r->nlattices, sizeof *all);
    for (size_t i = 0; i < r->nlattices; i++)
        all[i] = *lattice_crystal(x, &r->lattices[i], &own);
    return all;
}

bool lattice_reserve(struct lattice *l, size_t nphi, size_t ndomains)
{
    l->phi_rad = mem_try_array(nphi, sizeof(double));
    l->cells_m = mem_try_array(nphi, 9 * sizeof(double));
    l->domains = mem_try_array(ndomains, 9 * sizeof(double));
    l->nphi = nphi;
    l->ndomains = ndomains;
    return l->phi_rad && l->cells_m && l->domains;
}

void recipe_copy(struct recipe *to, const struct recipe *from)
{
    *to = *from;
    to->lattices = mem_copy(from->lattices, from->nlattices, sizeof *to->lattices);
    to->sources = mem_copy(from->sources, from->nsources, sizeof *to->sources);
    for (size_t i = 0; i < from->nlattices; i++) {
        const struct lattice *l = &from->lattices[i];
        struct lattice *copy = &to->lattices[i];
        copy->phi_rad = mem_copy(l->phi_rad, l->nphi, sizeof *l->phi_rad);
        copy->cells_m = mem_copy(l->cells_m, l->nphi, 9 * sizeof *l->cells_m);
        copy->domains = mem_copy(l->domains, l->ndomains, 9 * sizeof *l->domains);
    }
}

/* --- the experiment of a frame: detector and sample moved ---------------- */

void moved_open(struct moved *m, const struct experiment *of)
{
    *m = (struct moved){.of = of, .x = *of};
    m->x.panels = mem_copy(of->panels, of->npanels, sizeof *of->panels);
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

struct incident incident_beam(const struct experiment *x, const struct recipe *r)
{
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    struct incident b = {.sources = r->nsources ? r->nsources : x->beam.nsources,
                         .mean_m = x->beam.wavelength_m,
                         .share = 1.0};
    double weights = 0.0, sum_m = 0.0;
    for (size_t i = 0; i < r->nsources; i++) {
        weights += r->sources[i].weight;
        sum_m += r->sources[i].weight * r->sources[i].wavelength_m;
    }
    if (r->nsources)
        b.share = weights / (double)r->nsources;
    if (weights > 0.0)
        b.mean_m = sum_m / weights;
    b.shortest_m = b.longest_m = b.sources ? sources[0].wavelength_m : b.mean_m;
    for (size_t i = 1; i < b.sources; i++) {
        const double wavelength_m = sources[i].wavelength_m;
        b.shortest_m = wavelength_m < b.shortest_m ? wavelength_m : b.shortest_m;
        b.longest_m = wavelength_m > b.longest_m ? wavelength_m : b.longest_m;
    }
    b.fluence_ph_m2 = x->beam.fluence_ph_m2 * b.share;
    return b;
}

void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4])
{
    double field[3];
    vec_across(b->polarization, b->direction, field);
    const double h = vec_dot(field, horizontal), v = vec_dot(field, vertical),
                 length = vec_dot(field, field);
    stokes[0] = 1.0;
    stokes[1] = length > 0.0 ? b->kahn * (h * h - v * v) / length : 0.0;
    stokes[2] = length > 0.0 ? b->kahn * 2.0 * h * v / length : 0.0;
    stokes[3] = 0.0;
}

double beam_fraction_along(const struct beam *b, const double horizontal[3])
{
    double h[3], field[3];
    vec_across(horizontal, b->direction, h);
    vec_across(b->polarization, b->direction, field);
    const double lengths = vec_dot(h, h) * vec_dot(field, field), along = vec_dot(h, field);
    /* with cos(2 a) = 2 cos(a)^2 - 1, where a is the angle between h and the field */
    const double q = lengths > 0.0 ? b->kahn * (2.0 * along * along / lengths - 1.0) : 0.0;
    return (1.0 + q) / 2.0;
}
