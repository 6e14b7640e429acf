/*
 * Derivatives of one pixel: what a frame prepares for each parameter, for all engines, and the sums
 * of a pixel while its terms are added, for the reference engine.
 */
#include "engine/derivatives/slopes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/derive.h"
#include "engine/derivatives/parameter.h"
#include "physics/beam/polarization.h"
#include "physics/crystal/cell.h"
#include "physics/crystal/shape_slopes.h"

/* ---- frames --------------------------------------------------------------------------------- */

/* Computes the change of the direct vectors of a lattice per unit of *p: the vectors turn, or
 * the cell changes while the orientation of the crystal stays. */
static void change_cell(const struct parameter *p, const double direct[9], double change[9])
{
    memset(change, 0, 9 * sizeof *change);
    if (p->kind == PARAMETER_ROTATION) {
        double axis[3] = {0.0, 0.0, 0.0};
        axis[p->axis] = p->unit_SI;
        for (int i = 0; i < 3; i++)
            vec_cross(axis, direct + 3 * i, change + 3 * i);
    } else if (p->kind == PARAMETER_CELL) {
        double cell[6], turn[9], rows[9], by[6][9], sum[9] = {0.0};
        direct_split(direct, cell, turn);
        direct_rows(cell, rows, by);
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < 9; i++)
                sum[i] += p->members[k] * p->unit_SI * by[k][i];
        mat_multiply(sum, turn, change);
    }
}

static void open_lattice(const struct slopes_frame *f, const struct lattice *l,
                         struct slopes_lattice *out)
{
    out->turn = mem_array(l->nphi, 9 * sizeof *out->turn);
    out->turn_axis = mem_array(l->ndomains, 3 * sizeof *out->turn_axis);
    out->cell = mem_array(f->set->count + 1, 9 * sizeof *out->cell);
    for (size_t t = 0; t < l->nphi; t++)
        for (int j = 0; j < 3; j++) {
            double v[3] = {j == 0, j == 1, j == 2};
            vec_rotate_axis(v, f->x->spindle, l->phi_rad[t]);
            for (int i = 0; i < 3; i++)
                out->turn[9 * t + (size_t)(3 * i + j)] = v[i];
        }
    for (size_t k = 0; k < l->ndomains && l->mosaic; k++)
        rotation_vector(l->domains + 9 * k, out->turn_axis + 3 * k);
    double reciprocal_A[9], direct[9];
    memcpy(reciprocal_A, l->reciprocal_A, sizeof reciprocal_A);
    cell_direct(&f->x->crystals[l->crystal], false, reciprocal_A, direct);
    for (int i = 0; i < 9; i++)
        direct[i] *= 1e-10;
    for (size_t k = 0; k < f->set->count; k++)
        change_cell(&f->set->items[k], direct, out->cell + 9 * k);
}

/* Returns the property of a source that the parameter spreads: its relative difference of
 * wavelength from the beam, or the angle in rad by which beam_setup turned its direction. */
static double spread_of(const struct slopes_frame *f, const struct parameter *p,
                        const struct source *s)
{
    const struct beam *b = &f->x->beam;
    if (p->kind == PARAMETER_DISPERSION)
        return s->wavelength_m / b->wavelength_m - 1.0;
    double polar[3], vertical[3];
    polarization_axes(b->direction, b->polarization, polar, vertical);
    /* polarization_axes has B = E x beam, which is opposite to B of beam_setup. */
    if (p->axis == 1)
        return asin(-vec_dot(s->direction, vertical));
    return atan2(-vec_dot(s->direction, polar), -vec_dot(s->direction, b->direction));
}

static void change_source(const struct slopes_frame *f, const struct parameter *p, double width,
                          const struct source *s, double *ln_wave, double turned[3])
{
    const struct beam *b = &f->x->beam;
    *ln_wave = 0.0;
    vec_set(turned, 0.0, 0.0, 0.0);
    if (p->kind == PARAMETER_WAVELENGTH)
        *ln_wave = p->unit_SI / b->wavelength_m;
    if (p->kind == PARAMETER_DISPERSION && width > 0.0)
        *ln_wave = p->unit_SI * spread_of(f, p, s) / width * b->wavelength_m / s->wavelength_m;
    if (p->kind != PARAMETER_DIVERGENCE || !(width > 0.0))
        return;
    /* The directions were turned by v about E, then by h about beam x E. */
    double polar[3], vertical[3], axis[3];
    polarization_axes(b->direction, b->polarization, polar, vertical);
    vec_scale(vertical, -1.0, vertical);
    const struct parameter horizontal = {.kind = PARAMETER_DIVERGENCE, .axis = 0};
    vec_copy(axis, p->axis == 0 ? vertical : polar);
    if (p->axis == 1)
        vec_rotate_axis(axis, vertical, spread_of(f, &horizontal, s));
    vec_cross(axis, s->direction, turned);
    vec_scale(turned, -p->unit_SI * spread_of(f, p, s) / width, turned);
}

static void open_sources(struct slopes_frame *f, const struct source *sources)
{
    const size_t count = f->set->count;
    for (size_t i = 0; i < f->nsources; i++) {
        f->sources[i].ln_wave = mem_array(count + 1, sizeof(double));
        f->sources[i].turned = mem_array(count + 1, 3 * sizeof(double));
    }
    for (size_t k = 0; k < count; k++) {
        const struct parameter *p = &f->set->items[k];
        const double width = slopes_width(f->x, f->recipe, p);
        for (size_t i = 0; i < f->nsources; i++)
            change_source(f, p, width, &sources[i], &f->sources[i].ln_wave[k],
                          f->sources[i].turned + 3 * k);
    }
}

double slopes_width(const struct experiment *x, const struct recipe *r, const struct parameter *p)
{
    const struct slopes_frame f = {.x = x};
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t count = r->nsources ? r->nsources : x->beam.nsources;
    double least = 0.0, most = 0.0;
    if (p->kind != PARAMETER_DISPERSION && p->kind != PARAMETER_DIVERGENCE)
        return 0.0;
    for (size_t i = 0; i < count; i++) {
        const double at = spread_of(&f, p, &sources[i]);
        least = i == 0 || at < least ? at : least;
        most = i == 0 || at > most ? at : most;
    }
    return most - least;
}

/* Sets shift[] to the move of all panels if the beam centre of the first panel changes by 1. */
static void move_centre(const struct experiment *x, int axis, double shift[3])
{
    const struct panel *p = &x->panels[0];
    const bool swapped = x->convention == CONVENTION_MOSFLM || x->convention == CONVENTION_DENZO;
    const bool slow = swapped ? axis == 0 : axis == 1;
    const bool flipped = x->convention == CONVENTION_ADXV && slow;
    vec_scale(slow ? p->slow : p->fast, flipped ? 1.0 : -1.0, shift);
}

void slopes_move(const struct experiment *x, const struct parameter *q, size_t index,
                 struct panel_move *m)
{
    const struct panel *p = &x->panels[index];
    const double *const axes[3] = {p->fast, p->slow, p->normal};
    const double unit = q->unit_SI, mu = p->absorption_1_m;
    if (q->kind == PARAMETER_DISTANCE)
        vec_copy(m->shift, x->beam.direction);
    if (q->kind == PARAMETER_CENTRE)
        move_centre(x, q->axis, m->shift);
    if (q->kind == PARAMETER_SHIFT && q->index == index)
        vec_copy(m->shift, axes[q->axis]);
    vec_scale(m->shift, unit, m->shift);
    if (q->kind == PARAMETER_TILT && q->index == index)
        vec_scale(axes[q->axis], unit, m->tilt);
    for (int i = 0; i < 3; i++)
        m->centre[i] = p->origin_m[i] + 0.5 * p->pixel_m *
                                            ((double)p->fast_pixels * p->fast[i] +
                                             (double)p->slow_pixels * p->slow[i]);
    if (q->kind == PARAMETER_THICKNESS)
        m->layer = unit / p->layers;
    if (q->kind == PARAMETER_ABSORPTION)
        m->absorption = -mu * mu * unit;
}

void slopes_open(struct slopes_frame *f, const struct experiment *x, const struct recipe *recipe,
                 const struct derive_request *request)
{
    const struct parameters *set = request->set;
    const struct source *sources = recipe->nsources ? recipe->sources : x->beam.sources;
    *f = (struct slopes_frame){
        .x = x, .recipe = recipe, .set = set, .exposed = recipe_exposed(recipe)};
    f->nsources = recipe->nsources ? recipe->nsources : x->beam.nsources;
    f->lattices = mem_array(recipe->nlattices + 1, sizeof *f->lattices);
    f->sources = mem_array(f->nsources + 1, sizeof *f->sources);
    f->moves = mem_array(x->npanels * set->count + 1, sizeof *f->moves);
    open_sources(f, sources);
    for (size_t i = 0; i < recipe->nlattices; i++)
        open_lattice(f, &recipe->lattices[i], &f->lattices[i]);
    for (size_t i = 0; i < x->npanels * set->count && request->moves; i++)
        f->moves[i] = request->moves[i];
    for (size_t i = 0; i < x->npanels && !request->moves; i++)
        for (size_t k = 0; k < set->count; k++)
            slopes_move(x, &set->items[k], i, &f->moves[i * set->count + k]);
}

void slopes_step(const struct slopes_frame *f, size_t index, size_t step, size_t domain,
                 const double cell[9], struct slopes_step *to)
{
    const struct lattice *l = &f->recipe->lattices[index];
    const double *turn = f->lattices[index].turn + 9 * step;
    memcpy(to->cell, cell, sizeof to->cell);
    vec_copy(to->spindle, f->x->spindle);
    vec_copy(to->axis, f->lattices[index].turn_axis + 3 * domain);
    to->part = f->exposed * (((double)step + 0.5) / (double)l->nphi);
    if (l->mosaic)
        mat_apply(l->domains + 9 * domain, f->x->spindle, to->spindle);
    for (int j = 0; j < 3; j++) {
        /* column j of the domain times the turn is row j of its inverse */
        const double column[3] = {turn[j], turn[3 + j], turn[6 + j]};
        vec_copy(to->back + 3 * j, column);
        if (l->mosaic)
            mat_apply(l->domains + 9 * domain, column, to->back + 3 * j);
    }
}

void slopes_close(struct slopes_frame *f)
{
    for (size_t i = 0; f->lattices && i < f->recipe->nlattices; i++) {
        mem_free(f->lattices[i].turn);
        mem_free(f->lattices[i].turn_axis);
        mem_free(f->lattices[i].cell);
    }
    for (size_t i = 0; f->sources && i < f->nsources; i++) {
        mem_free(f->sources[i].ln_wave);
        mem_free(f->sources[i].turned);
    }
    mem_free(f->lattices);
    mem_free(f->sources);
    mem_free(f->moves);
    *f = (struct slopes_frame){0};
}

/* ---- pixels --------------------------------------------------------------------------------- */

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

/* Computes F^2 S and its derivatives. by_index[] is the derivative of the product. */
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
    struct crystal own;
    term_slopes(lattice_crystal(s->frame->x, l, &own), hkl, F, &term);
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
