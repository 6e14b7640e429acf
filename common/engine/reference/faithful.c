#include "engine/reference/faithful.h"

#include <string.h>

/* Whether a phi of exactly 0 would find another phi's cell. */
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
