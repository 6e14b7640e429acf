/* Parts of a request that follow from several options. */
#include "geometry_options.h"

#include "physics/beam/beam.h"

bool geometry_given(const struct geometry_options *o, const char *names)
{
    return opt_given(geometry_table, o, names);
}

/* Options that set an axis choose the convention "custom", and are an error with any other. */
static enum status choose_convention(const struct geometry_options *o, struct detector_request *d,
                                     struct error *e)
{
    if (!geometry_given(o, "fast-axis|slow-axis|normal|twotheta-axis|beam-vector|"
                           "polarization-vector|spindle"))
        return STATUS_OK;
    if (!geometry_given(o, "convention"))
        d->convention = CONVENTION_CUSTOM;
    if (d->convention != CONVENTION_CUSTOM)
        return error_set(e, STATUS_USAGE,
                         "options that set an axis need --convention=custom. Remove --convention "
                         "or these options");
    return STATUS_OK;
}

/* Defaults of the beam that depend on other options. */
static void set_beam(const struct geometry_options *o, enum physics physics, struct beam_request *b)
{
    if (geometry_given(o, "divergence"))
        b->horizontal = b->vertical = o->divergence;
    if (!geometry_given(o, "weights"))
        b->weights = physics == PHYSICS_FAITHFUL ? WEIGHTS_IGNORE : WEIGHTS_APPLY;
    if (!geometry_given(o, "polarization") && physics == PHYSICS_FAITHFUL)
        b->kahn = 0.0;
    if (!geometry_given(o, "harmonic-signal") && geometry_given(o, "third-harmonic"))
        b->harmonic_signal = HARMONIC_ORDER;
}

enum status geometry_request(const struct geometry_options *o, struct request *r, struct error *e)
{
    *r = o->request;
    struct detector_request *d = &r->detector;
    const enum status s = choose_convention(o, d, e);
    if (s)
        return s;
    if (d->roi.fast_min > d->roi.fast_max || d->roi.slow_min > d->roi.slow_max)
        return error_set(e, STATUS_USAGE,
                         "--roi: the region is empty; expected FIRST,LAST along fast, then "
                         "FIRST,LAST along slow");
    if (geometry_given(o, "detsize"))
        d->pixels[0] = d->pixels[1] = 0;
    set_beam(o, r->physics, &r->beam);
    return STATUS_OK;
}
