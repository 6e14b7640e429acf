#include <string.h>

#include "base/vec.h"
#include "engine/derivatives/slopes.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/shape_slopes.h"

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
        if (!parameter_moves_points(s->frame->set->items[k].kind))
            continue;
        double *turned = s->turned[k];
        const double farther =
            panel_move_direction(p, m, layer, position, diffracted, 1.0 / r, turned);
        if (new_solid_angle)
            s->solid_angle[k] = pixel_solid_angle(p, r) *
                                panel_move_solid_angle(p, panel_move_closer(p, m), farther);
        if (new_capture)
            s->capture[k] = panel_move_capture(p, m, layer, 1.0, diffracted, turned);
    }
}

void slopes_capture(struct slopes *s, const struct panel *p, int layer, double absorb,
                    const double diffracted[3])
{
    for (size_t k = 0; k < s->frame->set->count; k++)
        if (parameter_moves_points(s->frame->set->items[k].kind))
            s->capture[k] =
                panel_move_capture(p, &s->moves[k], layer, absorb, diffracted, s->turned[k]);
}

void slopes_polarization(struct slopes *s, size_t source, const double incident[3],
                         const double diffracted[3])
{
    const struct beam *beam = &s->frame->x->beam;
    double e[3], b[3];
    if (beam->no_polarization)
        return;
    polarization_axes(incident, beam->polarization, e, b);
    for (size_t k = 0; k < s->frame->set->count; k++) {
        const double *swept = s->frame->sources[source].turned + 3 * k;
        s->polarization[k] = s->frame->set->items[k].kind == PARAMETER_POLARIZATION
                                 ? polarization_by_kahn(diffracted, e, b)
                                 : polarization_slope(beam->kahn, beam->polarization, incident,
                                                      diffracted, swept, s->turned[k], e, b);
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
    struct pull *sum = &s->pull;
    struct shape_slopes term;
    struct slopes_step at;
    term_slopes(&s->frame->x->crystals[l->crystal], hkl, F, &term);
    slopes_step(s->frame, index, step, domain, cell, &at);
    pull_add(sum, &at, q, term.by_index);
    sum->value += term.value;
    sum->by_fudge += term.by_fudge;
    for (int i = 0; i < 3; i++)
        sum->by_cells[i] += term.by_cells[i];
}

static struct factor_slopes slopes_of(const struct slopes *s, size_t k)
{
    return (struct factor_slopes){s->capture[k], s->solid_angle[k], s->polarization[k]};
}

void slopes_lattice(struct slopes *s, size_t index, size_t source, double weight, double unweighted,
                    const struct slopes_factors *f)
{
    const struct recipe *r = s->frame->recipe;
    const struct source *sources = r->nsources ? r->sources : s->frame->x->beam.sources;
    const double factor = f->capture * f->polarization * f->solid_angle;
    for (size_t k = 0; k < s->frame->set->count; k++) {
        const struct parameter *p = &s->frame->set->items[k];
        const struct slopes_source *from = &s->frame->sources[source];
        const struct pull_change by = {p->kind,          p->axis,
                                       p->unit_SI,       s->frame->lattices[index].cell + 9 * k,
                                       from->ln_wave[k], from->turned + 3 * k,
                                       s->turned[k],     sources[source].wavelength_m};
        s->sum[k] += weight * (pull_slope(&s->pull, &by) * factor +
                               s->pull.value * factors_slope(f, slopes_of(s, k)));
        if (p->kind == PARAMETER_SHARE && p->index == index)
            s->sum[k] += unweighted * s->pull.value * factor;
    }
    s->pull = (struct pull){0};
}

void slopes_water(struct slopes *s, double term, const struct slopes_factors *f)
{
    for (size_t k = 0; k < s->frame->set->count; k++)
        s->sum[k] += term * factors_slope(f, slopes_of(s, k));
}

void slopes_end(const struct slopes *s, double photons, double scale, double intensity,
                const struct slopes_factors *f, double *out)
{
    for (size_t k = 0; k < s->frame->set->count; k++) {
        out[k] = scale * pixel_slope(f, slopes_of(s, k), intensity, s->sum[k]);
        if (s->frame->set->items[k].kind == PARAMETER_SCALE)
            out[k] = photons;
    }
}
