#include "nanobragg_loop.h"

#include "physics/crystal/steps.h"

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

/* What in the request would need a loop quirk; NULL for nothing. */
static const char *loop_quirk(const struct experiment *x, const struct recipe *r)
{
    const struct sampling *s = &x->sampling;
    if (s->each_thickness || s->each_polarization || s->each_solid_angle)
        return "-oversample_thick, -oversample_polar or -oversample_omega";
    if (x->panels[0].layers > 1)
        return "several sensor layers";
    if (x->water_m > 0.0)
        return "-water";
    if (x->crystals[0].interpolate)
        return "interpolation of F (-nointerpolate turns it off)";
    if (keeps_cell(&r->lattices[0]))
        return "phi steps of which one is exactly 0";
    return NULL;
}

enum status nanobragg_loop_check(const struct experiment *x, const struct recipe *r,
                                 const char *engine, struct error *e)
{
    const char *quirk = x->physics == PHYSICS_FAITHFUL ? loop_quirk(x, r) : NULL;
    if (!quirk)
        return STATUS_OK;
    return error_set(
        e, STATUS_USAGE,
        "--engine=%s: faithful images with %s need --engine=reference, or --physics=physical",
        engine, quirk);
}

double nanobragg_osc_rad(const struct orientation_request *o)
{
    struct steps s;
    return steps_phi(&o->phi, &s, NULL) == STATUS_OK ? s.range : 0.0;
}
