/*
 * Steps of parameters: values of parameters in an experiment and a recipe, and both after a
 * step.
 */
#include "engine/derivatives/parameter.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/derivatives/slopes.h"
#include "model/recipe.h"

static const double TURN_RAD = 3e-3, LENGTH_SHARE = 2e-3, LOG_MOST = 0.7, PIXELS = 2.0;
static const double ANGLE_RAD = 2e-3;  // of a cell

bool parameter_step_is_log(const struct parameter *p)
{
    switch (p->kind) {
    case PARAMETER_CELLS:
    case PARAMETER_FUDGE:
    case PARAMETER_MOSAIC:
    case PARAMETER_SCALE:
    case PARAMETER_SHARE:
        return true;
    default:
        return false;
    }
}

bool parameter_has_steps(const struct parameter *p)
{
    switch (p->kind) {
    case PARAMETER_DISPERSION:
    case PARAMETER_DIVERGENCE:
    case PARAMETER_POLARIZATION:
    case PARAMETER_TILT:
    case PARAMETER_THICKNESS:
    case PARAMETER_ABSORPTION:
        return false;
    default:
        return true;
    }
}

enum status parameter_step_check(const struct parameters *set, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!parameter_has_steps(&set->items[i]))
            return error_set(e, STATUS_USAGE,
                             "parameter '%s' is not refined; others than dispersion, divergence, "
                             "polarization, tilts, thickness and absorption are",
                             set->items[i].name);
    return STATUS_OK;
}

/* ---- values ----------------------------------------------------------------------------- */

/* Computes the direct vectors a, b, c at phi 0 in m, as rows. */
static void direct_of(const struct lattice *l, double direct[9])
{
    double columns[9];
    mat_invert(l->reciprocal_A, columns);
    for (int i = 0; i < 9; i++)
        direct[i] = 1e-10 * columns[3 * (i % 3) + i / 3];
}

static double cell_member(const struct parameter *p, const struct recipe *r)
{
    double direct[9], cell[6], turn[9];
    int member = 0;
    if (!r->nlattices)
        return 0.0;
    while (member < 5 && p->members[member] == 0.0)
        member++;
    direct_of(&r->lattices[0], direct);
    direct_split(direct, cell, turn);
    return cell[member] / p->unit_SI;
}

double parameter_step_value(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r)
{
    switch (p->kind) {
    case PARAMETER_CELL:
        return cell_member(p, r);
    case PARAMETER_CELLS:
        return x->crystals[0].cells[p->axis];
    case PARAMETER_FUDGE:
        return x->crystals[0].fudge;
    case PARAMETER_SHARE:
        return p->index < r->nlattices ? r->lattices[p->index].weight : 0.0;
    case PARAMETER_PHI0:
        return r->phi_rad / p->unit_SI;
    case PARAMETER_OSC:
        return r->osc_rad / p->unit_SI;
    case PARAMETER_WAVELENGTH:
        return incident_beam(x, r).mean_m / p->unit_SI;
    case PARAMETER_DISTANCE:
        return x->panels[0].distance_m / p->unit_SI;
    case PARAMETER_CENTRE:
        return p->axis ? x->panels[0].beam_y_mm : x->panels[0].beam_x_mm;
    case PARAMETER_MOSAIC:
    case PARAMETER_SCALE:
        return 1.0;
    default:
        return 0.0;
    }
}

double parameter_step_limit(const struct parameter *p, const struct experiment *x,
                            const struct recipe *r)
{
    if (parameter_step_is_log(p))
        return LOG_MOST;
    switch (p->kind) {
    case PARAMETER_CELL:
        return p->members[0] + p->members[1] + p->members[2] > 0.0
                   ? LENGTH_SHARE * cell_member(p, r)
                   : ANGLE_RAD / p->unit_SI;
    case PARAMETER_WAVELENGTH:
        return LENGTH_SHARE * parameter_step_value(p, x, r);
    case PARAMETER_DISTANCE:
    case PARAMETER_CENTRE:
    case PARAMETER_SHIFT:
        return PIXELS * x->panels[0].pixel_m / p->unit_SI;
    default:
        return TURN_RAD / p->unit_SI;
    }
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Changes the cell and the orientation at phi 0. The vectors at each phi follow from these. */
static void set_direct(const struct experiment *x, struct lattice *l, const double direct[9])
{
    double inverse[9];
    mat_invert(direct, inverse);
    for (int i = 0; i < 9; i++)
        l->reciprocal_A[i] = 1e-10 * inverse[3 * (i % 3) + i / 3];
    for (size_t t = 0; t < l->nphi; t++)
        for (int i = 0; i < 3; i++) {
            double *row = l->cells_m + 9 * t + 3 * i;
            vec_copy(row, direct + 3 * i);
            vec_rotate_axis(row, x->spindle, l->phi_rad[t]);
        }
}

static void step_cell(const struct parameters *set, const double *steps, double direct[9])
{
    double cell[6], turn[9], rows[9], by[6][9];
    bool changes = false;
    direct_split(direct, cell, turn);
    for (size_t k = 0; k < set->count; k++)
        for (int i = 0; i < 6 && set->items[k].kind == PARAMETER_CELL; i++) {
            cell[i] += set->items[k].members[i] * set->items[k].unit_SI * steps[k];
            changes = true;
        }
    if (!changes)
        return;
    direct_rows(cell, rows, by);
    mat_multiply(rows, turn, direct);
}

/* Turns the setting, and rows a, b, c. */
static void turn_setting(const double turn[9], struct lattice *l, double direct[9])
{
    double was[9];
    memcpy(was, l->rotation, sizeof was);
    mat_multiply(turn, was, l->rotation);
    for (int i = 0; i < 3; i++) {
        double row[3];
        vec_copy(row, direct + 3 * i);
        mat_apply(turn, row, direct + 3 * i);
    }
}

void lattice_turn(const struct experiment *x, struct lattice *l, const double turn[9])
{
    double direct[9];
    direct_of(l, direct);
    turn_setting(turn, l, direct);
    set_direct(x, l, direct);
}

/* Turns a lattice about lab axes: all of them at once. */
static void step_setting(const struct parameters *set, const double *steps, struct lattice *l,
                         double direct[9])
{
    double vector[3] = {0.0, 0.0, 0.0}, turn[9];
    for (size_t k = 0; k < set->count; k++)
        if (set->items[k].kind == PARAMETER_ROTATION)
            vector[set->items[k].axis] += set->items[k].unit_SI * steps[k];
    if (!(vec_length(vector) > 0.0))
        return;
    rotation_matrix(vector, turn);
    turn_setting(turn, l, direct);
}

static void step_domains(struct lattice *l, double factor)
{
    for (size_t k = 0; k < l->ndomains && l->mosaic; k++) {
        double vector[3];
        rotation_vector(l->domains + 9 * k, vector);
        vec_scale(vector, factor, vector);
        rotation_matrix(vector, l->domains + 9 * k);
    }
}

static void step_lattice(const struct parameters *set, const double *steps,
                         const struct experiment *x, double exposed, size_t index,
                         struct lattice *l)
{
    double direct[9];
    for (size_t k = 0; k < set->count; k++) {
        const struct parameter *p = &set->items[k];
        const double by = p->unit_SI * steps[k];
        if (p->kind == PARAMETER_SCALE || (p->kind == PARAMETER_SHARE && p->index == index))
            l->weight *= exp(steps[k]);
        if (p->kind == PARAMETER_MOSAIC)
            step_domains(l, exp(steps[k]));
        for (size_t t = 0; t < l->nphi; t++)
            l->phi_rad[t] += p->kind == PARAMETER_PHI0 ? by
                             : p->kind == PARAMETER_OSC
                                 ? exposed * (by * ((double)t + 0.5) / (double)l->nphi)
                                 : 0.0;
    }
    direct_of(l, direct);
    step_cell(set, steps, direct);
    step_setting(set, steps, l, direct);
    set_direct(x, l, direct);
}

static void step_sources(double factor, const struct experiment *x, struct recipe *r)
{
    if (!r->nsources) {
        r->sources = mem_copy(x->beam.sources, x->beam.nsources, sizeof *r->sources);
        r->nsources = x->beam.nsources;
    }
    for (size_t i = 0; i < r->nsources; i++)
        r->sources[i].wavelength_m *= factor;
}

static void step_panels(const struct parameters *set, const double *steps, struct experiment *x)
{
    for (size_t k = 0; k < set->count; k++) {
        const struct parameter *p = &set->items[k];
        if (p->kind == PARAMETER_CENTRE)
            *(p->axis ? &x->panels[0].beam_y_mm : &x->panels[0].beam_x_mm) += steps[k];
        const bool moves = p->kind == PARAMETER_DISTANCE || p->kind == PARAMETER_CENTRE ||
                           p->kind == PARAMETER_SHIFT;
        for (size_t i = 0; i < x->npanels && moves; i++) {
            struct panel_move move = {0};
            slopes_move(x, p, i, &move);
            vec_scale(move.shift, steps[k], move.shift);
            panel_shift(x, &x->panels[i], move.shift);
        }
    }
}

void parameter_step_take(const struct parameters *set, const double *steps, struct experiment *x,
                         struct recipe *r)
{
    double factor = 1.0;
    const double exposed = recipe_exposed(r);
    step_panels(set, steps, x);
    for (size_t k = 0; k < set->count; k++) {
        const struct parameter *p = &set->items[k];
        if (p->kind == PARAMETER_PHI0)
            r->phi_rad += p->unit_SI * steps[k];
        if (p->kind == PARAMETER_OSC)
            r->osc_rad += p->unit_SI * steps[k];
        if (p->kind == PARAMETER_WAVELENGTH)
            factor += steps[k] * p->unit_SI / x->beam.wavelength_m;
        for (size_t i = 0; i < x->ncrystals; i++) {
            if (p->kind == PARAMETER_CELLS)
                x->crystals[i].cells[p->axis] *= exp(steps[k]);
            if (p->kind == PARAMETER_FUDGE)
                x->crystals[i].fudge *= exp(steps[k]);
            for (int axis = 0; axis < 3 && p->kind == PARAMETER_MOSAIC; axis++)
                x->crystals[i].mosaic_rms_rad[axis] *= exp(steps[k]);
        }
    }
    for (size_t i = 0; i < r->nlattices; i++)
        step_lattice(set, steps, x, exposed, i, &r->lattices[i]);
    if (factor != 1.0)
        step_sources(factor, x, r);
}
