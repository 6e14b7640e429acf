#include "physics/pulse.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"

bool pulse_varies(const struct pulse *p)
{
    return p->fluence_jitter_percent > 0.0 || p->wavelength_jitter_percent > 0.0;
}

enum status pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r,
                       struct error *e)
{
    if (!pulse_varies(p))
        return STATUS_OK;
    r->sources = mem_copy(beam->sources, beam->nsources, sizeof *r->sources);
    if (!r->sources)
        return error_memory(e, "the sources");
    r->nsources = beam->nsources;
    struct rng fluence = rng_stream(r->seed, RNG_FLUENCE, r->id, 0);
    struct rng wavelength = rng_stream(r->seed, RNG_WAVELENGTH, r->id, 0);
    const double photons = rng_lognormal(&fluence, percent_to_fraction(p->fluence_jitter_percent));
    const double longer =
        1.0 + percent_to_fraction(p->wavelength_jitter_percent) * rng_normal(&wavelength);
    for (size_t i = 0; i < r->nsources; i++) {
        r->sources[i].weight *= photons;
        r->sources[i].wavelength_m *= longer;
    }
    return STATUS_OK;
}
