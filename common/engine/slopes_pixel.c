#include <string.h>

#include "base/vec.h"
#include "engine/slopes.h"
#include "physics/polarization.h"
#include "physics/shape_slopes.h"

void slopes_begin(struct slopes *s, const struct slopes_frame *frame, size_t panel)
{
    memset(s, 0, sizeof *s);
    s->frame = frame;
    s->moves = frame->moves + panel * frame->set->count;
}

void slopes_point(struct slopes *s, const struct panel *p, int layer, const double position[3],
                  bool new_solid_angle, bool new_capture)
{
    double diffracted[3];
    const double r = vec_unit(position, diffracted);
    for (size_t k = 0; k < s->frame->set->count; k++) {
        const struct panel_move *m = &s->moves[k];
        if (s->frame->set->items[k].kind < PARAMETER_DISTANCE)
            continue;
        double *moved = s->moved[k], *turned = s->turned[k];
        panel_move_point(p, m, panel_move_deeper(p, m, layer), position, moved);
        const double along = vec_dot(diffracted, moved);
        for (int i = 0; i < 3; i++)
            turned[i] = (moved[i] - along * diffracted[i]) / r;
        if (new_solid_angle)
            s->solid_angle[k] = pixel_solid_angle(p, r) *
                                panel_move_solid_angle(p, panel_move_closer(p, m), along / r);
        if (new_capture)
            s->capture[k] = panel_move_capture(p, m, layer, diffracted, turned);
    }
}

void slopes_polarization(struct slopes *s, size_t source, const double incident[3],
                         const double diffracted[3])
{
    const struct beam *beam = &s->frame->x->beam;
    double e[3], b[3];
    if (beam->no_polarization)
        return;
    polarization_axes(incident, beam->polarization, e, b);
    const double in = vec_dot(incident, diffracted);
    const double along_e = vec_dot(e, diffracted), along_b = vec_dot(b, diffracted);
    for (size_t k = 0; k < s->frame->set->count; k++) {
        const double *turned = s->turned[k], *swept = s->frame->sources[source].turned + 3 * k;
        double de[3], db[3];
        polarization_axes_slopes(incident, swept, beam->polarization, de, db);
        const double din = vec_dot(incident, turned) + vec_dot(swept, diffracted);
        const double dalong_e = vec_dot(e, turned) + vec_dot(de, diffracted);
        const double dalong_b = vec_dot(b, turned) + vec_dot(db, diffracted);
        s->polarization[k] = in * din - beam->kahn * (along_e * dalong_e - along_b * dalong_b);
        if (s->frame->set->items[k].kind == PARAMETER_POLARIZATION)
            s->polarization[k] = -0.5 * (along_e * along_e - along_b * along_b);
    }
}

/* F^2 S and its slopes; `by_index` of the product. */
static void term_slopes(const struct crystal *c, const double hkl[3], double F,
                        struct shape_slopes *out)
{
    shape_slopes(c, hkl, out);
    double by_F[3] = {0.0, 0.0, 0.0};
    if (c->interpolate && hkl_can_interpolate(&c->table, hkl))
        hkl_tricubic_slopes(&c->table, hkl, by_F);
    for (int i = 0; i < 3; i++) {
        out->by_index[i] = F * F * out->by_index[i] + 2.0 * F * by_F[i] * out->value;
        out->by_cells[i] *= F * F;
    }
    out->by_fudge *= F * F;
    out->value *= F * F;
}

void slopes_term(struct slopes *s, size_t index, size_t step, size_t domain, const double cell[9],
                 const double q[3], const double hkl[3], double F)
{
    const struct lattice *l = &s->frame->recipe->lattices[index];
    const struct slopes_lattice *known = &s->frame->lattices[index];
    const double *turn = known->turn + 9 * step, *domains = l->domains + 9 * domain;
    struct pull *sum = &s->pull;
    struct shape_slopes term;
    term_slopes(&s->frame->x->crystals[l->crystal], hkl, F, &term);
    const double *g = term.by_index;
    double spindle[3], back[3], v[3], torque[3];
    vec_copy(spindle, s->frame->x->spindle);
    vec_copy(back, q);
    if (l->mosaic) {
        mat_apply(domains, s->frame->x->spindle, spindle);
        for (int i = 0; i < 3; i++)
            back[i] = domains[i] * q[0] + domains[3 + i] * q[1] + domains[6 + i] * q[2];
    }
    for (int j = 0; j < 3; j++) {
        const double at = turn[j] * back[0] + turn[3 + j] * back[1] + turn[6 + j] * back[2];
        for (int i = 0; i < 3; i++)
            sum->by_cell[3 * i + j] += g[i] * at;
        v[j] = g[0] * cell[j] + g[1] * cell[3 + j] + g[2] * cell[6 + j];
        sum->v[j] += v[j];
        sum->by_cells[j] += term.by_cells[j];
    }
    vec_cross(v, q, torque);
    const double by_phi = vec_dot(spindle, torque);
    sum->value += term.value;
    sum->by_fudge += term.by_fudge;
    sum->by_wave -= vec_dot(v, q);
    sum->by_mosaic += vec_dot(known->turn_axis + 3 * domain, torque);
    sum->by_phi += by_phi;
    sum->by_osc += by_phi * ((double)step + 0.5) / (double)l->nphi;
}

/* d(F^2 S) by parameter k, summed over the terms of a lattice under a source. */
static double pull_slope(const struct slopes *s, size_t k, size_t index, size_t source,
                         double wavelength_m)
{
    const struct parameter *p = &s->frame->set->items[k];
    const struct slopes_source *from = &s->frame->sources[source];
    const struct pull *sum = &s->pull;
    const double *change = s->frame->lattices[index].cell + 9 * k;
    double slope = 0.0;
    switch (p->kind) {
    case PARAMETER_ROTATION:
    case PARAMETER_CELL:
        for (int i = 0; i < 9; i++)
            slope += sum->by_cell[i] * change[i];
        return slope;
    case PARAMETER_CELLS:
        return sum->by_cells[p->axis];
    case PARAMETER_FUDGE:
        return sum->by_fudge;
    case PARAMETER_MOSAIC:
        return sum->by_mosaic;
    case PARAMETER_PHI0:
        return sum->by_phi * p->unit_SI;
    case PARAMETER_OSC:
        return sum->by_osc * p->unit_SI;
    case PARAMETER_WAVELENGTH:
    case PARAMETER_DISPERSION:
        return sum->by_wave * from->ln_wave[k];
    case PARAMETER_DIVERGENCE:
        return -vec_dot(from->turned + 3 * k, sum->v) / wavelength_m;
    case PARAMETER_SCALE:
    case PARAMETER_SHARE:
    case PARAMETER_POLARIZATION:
        return 0.0;
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
    case PARAMETER_TILT:
    case PARAMETER_THICKNESS:
    case PARAMETER_ABSORPTION:
        return vec_dot(s->turned[k], sum->v) / wavelength_m;
    }
    return 0.0;
}

/* The factors of a term by parameter k. */
static double factors_slope(const struct slopes *s, size_t k, const struct slopes_factors *f)
{
    double slope = s->capture[k] * f->polarization * f->solid_angle;
    if (f->each_polarization)
        slope += f->capture * s->polarization[k] * f->solid_angle;
    if (f->each_solid_angle)
        slope += f->capture * f->polarization * s->solid_angle[k];
    return slope;
}

void slopes_lattice(struct slopes *s, size_t index, size_t source, double weight, double unweighted,
                    const struct slopes_factors *f)
{
    const struct recipe *r = s->frame->recipe;
    const struct source *sources = r->nsources ? r->sources : s->frame->x->beam.sources;
    const double factor = f->capture * f->polarization * f->solid_angle;
    for (size_t k = 0; k < s->frame->set->count; k++) {
        const struct parameter *p = &s->frame->set->items[k];
        const double slope = pull_slope(s, k, index, source, sources[source].wavelength_m);
        s->sum[k] += weight * (slope * factor + s->pull.value * factors_slope(s, k, f));
        if (p->kind == PARAMETER_SHARE && p->index == index)
            s->sum[k] += unweighted * s->pull.value * factor;
    }
    s->pull = (struct pull){0};
}

void slopes_water(struct slopes *s, double term, const struct slopes_factors *f)
{
    for (size_t k = 0; k < s->frame->set->count; k++)
        s->sum[k] += term * factors_slope(s, k, f);
}

void slopes_end(const struct slopes *s, double photons, double scale, double intensity,
                const struct slopes_factors *f, double *out)
{
    for (size_t k = 0; k < s->frame->set->count; k++) {
        double slope = s->sum[k] * f->polarization * f->solid_angle;
        if (!f->each_polarization)
            slope += intensity * s->polarization[k] * f->solid_angle;
        if (!f->each_solid_angle)
            slope += intensity * f->polarization * s->solid_angle[k];
        out[k] = scale * slope;
        if (s->frame->set->items[k].kind == PARAMETER_SCALE)
            out[k] = photons;
    }
}
