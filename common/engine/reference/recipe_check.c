/*
 * Checks of a recipe that every engine makes before it computes, and the beam and steps of a
 * recipe.
 */
#include "engine/reference/recipe_check.h"

#include <math.h>
#include <string.h>

enum status recipe_check_trace(const struct experiment *x, const struct pixel_trace *trace,
                               struct error *e)
{
    const struct panel *p = x->panels;
    if (x->npanels && trace->fast >= 0 && trace->fast < p->fast_pixels && trace->slow >= 0 &&
        trace->slow < p->slow_pixels)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "pixel %lld,%lld cannot be traced, because it is outside the detector",
                     (long long)trace->fast, (long long)trace->slow);
}

double recipe_lattice_steps(const struct recipe *r, size_t index)
{
    if (index >= r->nlattices)
        return 1.0;
    return (double)r->lattices[index].ndomains * (double)r->lattices[index].nphi;
}

double recipe_lattice_ratio(const struct recipe *r, size_t index)
{
    return recipe_lattice_steps(r, 0) / recipe_lattice_steps(r, index);
}

double recipe_lattice_scale(const struct recipe *r, size_t index)
{
    return r->lattices[index].weight * recipe_lattice_ratio(r, index);
}

/* NaN and infinity would spread over the whole frame. */
static bool all_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Checks one lattice of a recipe against the experiment. */
static enum status check_lattice(const struct experiment *x, const struct lattice *l, size_t index,
                                 struct error *e)
{
    if (l->crystal >= x->ncrystals)
        return error_set(e, STATUS_INPUT,
                         "lattice %zu is of crystal %u; expected a number less than %zu", index,
                         l->crystal, x->ncrystals);
    if (!l->nphi || !l->ndomains)
        return error_set(
            e, STATUS_INPUT,
            "lattice %zu has %zu phi steps and %zu mosaic domains; expected at least 1 of each",
            index, l->nphi, l->ndomains);
    if (!(isfinite(l->weight) && l->weight >= 0.0) || !all_finite(l->reciprocal_A, 9) ||
        !all_finite(l->phi_rad, l->nphi) || !all_finite(l->cells_m, 9 * l->nphi) ||
        !all_finite(l->domains, 9 * l->ndomains))
        return error_set(e, STATUS_INPUT, "lattice %zu has a number that is not finite", index);
    return STATUS_OK;
}

/* Checks the size that only this lattice has.  Sampling is chosen for the crystal of the
 * experiment, which is the largest one. */
static enum status check_cells(const struct crystal *c, const struct lattice *l, size_t index,
                               struct error *e)
{
    bool good = true;
    for (int i = 0; i < 3 && l->has_cells; i++)
        good = good && l->cells[i] >= 1.0 && l->cells[i] <= c->cells[i] &&
               l->cells[i] == floor(l->cells[i]) && c->cells_across[i] == 0.0;
    if (!good)
        return error_set(e, STATUS_INPUT,
                         "lattice %zu has %g x %g x %g cells; expected whole numbers from 1 to the "
                         "%g x %g x %g of its crystal",
                         index, l->cells[0], l->cells[1], l->cells[2], c->cells[0], c->cells[1],
                         c->cells[2]);
    if (l->has_cells && (c->has_size || c->has_diffuse))
        return error_set(e, STATUS_INPUT,
                         "lattice %zu has its own number of cells; expected none with "
                         "--crystal-size or --diffuse-sigma",
                         index);
    return STATUS_OK;
}

/* Checks the mosaic spread that only this lattice has.  Sampling is chosen for the crystal of the
 * experiment, which has the narrowest spots in closed form. */
static enum status check_spread(const struct crystal *c, const struct lattice *l, size_t index,
                                struct error *e)
{
    static const double ROUNDING = 1e-9;
    bool good = !l->has_spread || (isfinite(l->spread_rad) && l->spread_rad >= 0.0);
    for (int i = 0; i < 3 && l->has_spread && c->has_ensemble; i++)
        good = good && l->spread_rad >= c->mosaic_rms_rad[i] * (1.0 - ROUNDING);
    return good ? STATUS_OK
                : error_set(e, STATUS_INPUT,
                            "lattice %zu has a mosaic spread of %g rad; expected at least that of "
                            "its crystal, %g rad",
                            index, l->spread_rad, c->has_ensemble ? c->mosaic_rms_rad[0] : 0.0);
}

/* Checks the B factor that only this lattice has. */
static enum status check_b_factor(const struct experiment *x, const struct lattice *l, size_t index,
                                  struct error *e)
{
    if (l->has_b_factor && !(isfinite(l->b_factor_A2) && l->b_factor_A2 >= 0.0))
        return error_set(e, STATUS_INPUT,
                         "lattice %zu has a B factor of %g A^2; expected at least 0", index,
                         l->b_factor_A2);
    if (l->has_b_factor && (x->physics == PHYSICS_FAITHFUL || x->crystals[l->crystal].has_diffuse))
        return error_set(e, STATUS_INPUT,
                         "lattice %zu has a B factor of its own; expected none with "
                         "--physics=faithful or --diffuse-sigma",
                         index);
    return STATUS_OK;
}

/* Checks the panels of *x that the recipe moves. They have been moved already. */
static enum status check_shift(const struct experiment *x, const struct recipe *r, struct error *e)
{
    static const double NEAREST_M = 1e-6;
    if (!r->has_shift)
        return STATUS_OK;
    if (!all_finite(r->shift_m, 3))
        return error_set(e, STATUS_INPUT, "the shift of the detector is not finite");
    if (x->physics == PHYSICS_FAITHFUL)
        return error_set(e, STATUS_INPUT,
                         "a detector that moves from frame to frame needs --physics=physical");
    for (size_t i = 0; i < x->npanels; i++) {
        if (x->panels[i].curved)
            return error_set(e, STATUS_INPUT, "a curved detector cannot move from frame to frame");
        if (!(x->panels[i].close_distance_m > NEAREST_M))
            return error_set(e, STATUS_INPUT,
                             "panel %zu is not behind the sample after the shift of frame %llu", i,
                             (unsigned long long)r->id);
    }
    return STATUS_OK;
}

enum status recipe_check(const struct experiment *x, const struct recipe *r, struct error *e)
{
    enum status s = check_shift(x, r, e);
    for (size_t i = 0; i < r->nlattices && !s; i++)
        s = check_lattice(x, &r->lattices[i], i, e);
    for (size_t i = 0; i < r->nlattices && !s; i++)
        s = check_cells(&x->crystals[r->lattices[i].crystal], &r->lattices[i], i, e);
    for (size_t i = 0; i < r->nlattices && !s; i++)
        s = check_spread(&x->crystals[r->lattices[i].crystal], &r->lattices[i], i, e);
    for (size_t i = 0; i < r->nlattices && !s; i++)
        s = check_b_factor(x, &r->lattices[i], i, e);
    const struct source *sources = r->nsources ? r->sources : x->beam.sources;
    const size_t nsources = r->nsources ? r->nsources : x->beam.nsources;
    if (!s && !nsources)
        return error_set(e, STATUS_INPUT, "the beam has no source");
    for (size_t i = 0; i < nsources && !s; i++)
        if (!all_finite(sources[i].direction, 3) || !(sources[i].wavelength_m > 0.0) ||
            !isfinite(sources[i].wavelength_m) || !isfinite(sources[i].weight))
            s = error_set(e, STATUS_INPUT,
                          "source %zu has a number that is not finite or no wavelength", i);
    return s;
}

bool recipe_is_dark(const struct experiment *x, const struct recipe *r)
{
    return r->nlattices == 0 && !(x->water_m > 0.0);
}

void recipe_run_dark(const struct experiment *x, float *pixels, atomic_uint_fast64_t *rows)
{
    memset(pixels, 0, (size_t)experiment_pixels(x) * sizeof *pixels);
    for (size_t i = 0; i < x->npanels && rows; i++)
        atomic_fetch_add_explicit(rows, (uint_fast64_t)x->panels[i].slow_pixels,
                                  memory_order_relaxed);
}

/* ---- images of --physics=faithful that only the reference engine computes ------------------- */

/* Returns true if a phi of exactly 0 would use the cell of another phi. */
static bool keeps_cell(const struct lattice *l)
{
    bool zero = false, other = false;
    for (size_t t = 0; t < l->nphi; t++) {
        zero = zero || l->phi_rad[t] == 0.0;
        other = other || l->phi_rad[t] != 0.0;
    }
    return zero && other;
}

static const char *quirk_of_crystals(const struct experiment *x, const struct recipe *r)
{
    for (size_t i = 0; i < x->ncrystals; i++)
        if (x->crystals[i].interpolate)
            return "interpolated structure factors";
    for (size_t i = 0; i < r->nlattices; i++)
        if (keeps_cell(&r->lattices[i]))
            return "phi steps of which one is exactly 0";
    return NULL;
}

/* Names the first setting whose image depends on a quirk of nanoBragg's loop; NULL: there is none.
 */
static const char *quirk_of(const struct experiment *x, const struct recipe *r)
{
    const struct sampling *s = &x->sampling;
    if (s->each_thickness || s->each_polarization || s->each_solid_angle)
        return "factors of each subpixel (thickness, polarization or solid angle)";
    for (size_t i = 0; i < x->npanels; i++)
        if (x->panels[i].layers > 1)
            return "several sensor layers";
    return x->water_m > 0.0 ? "-water" : quirk_of_crystals(x, r);
}

enum status faithful_check(const struct experiment *x, const struct recipe *r, const char *engine,
                           struct error *e)
{
    if (x->physics != PHYSICS_FAITHFUL || strcmp(engine, "reference") == 0)
        return STATUS_OK;
    const char *quirk = quirk_of(x, r);
    return quirk ? error_set(e, STATUS_USAGE,
                             "--engine=%s: cannot repeat nanoBragg with %s; expected "
                             "--engine=reference, or --physics=physical",
                             engine, quirk)
                 : STATUS_OK;
}
