#include "physics/beam/pulse.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/beam/polarization.h"

bool pulse_varies(const struct pulse *p)
{
    return p->fluence_jitter > 0.0 || p->wavelength_jitter > 0.0 || p->direction_jitter_rad > 0.0 ||
           p->fluence > 0.0 || p->wavelength > 0.0 || p->spectrum.kind != SPECTRUM_NONE;
}

enum status pulse_check(const struct pulse *p, const struct beam *beam, struct error *e)
{
    if (p->spectrum.kind == SPECTRUM_NONE)
        return STATUS_OK;
    for (size_t i = 1; i < beam->nsources; i++)
        if (fabs(beam->sources[i].wavelength_m / beam->sources[0].wavelength_m - 1.0) > 1e-9)
            return error_set(e, STATUS_USAGE,
                             "the beam has a spectrum already: --spectrum needs bragg-geometry "
                             "without --dispersion, and a --source-file of one wavelength");
    if (beam->nsources * (size_t)p->spectrum.channels > PULSE_SOURCES_MAX)
        return error_set(e, STATUS_USAGE,
                         "%zu directions with %lld channels each are too many sources, at most %d "
                         "are allowed: --channels",
                         beam->nsources, (long long)p->spectrum.channels, PULSE_SOURCES_MAX);
    return spectrum_check(&p->spectrum, m_to_ev(beam->wavelength_m), e);
}

/* Every source of the beam in every channel; the mean of the weights is the energy of the shot,
 * relative to that of a mean one. */
static enum status spread(const struct spectrum *s, const struct beam *beam, struct recipe *r,
                          struct error *e)
{
    struct spectrum_channel *channels = mem_array((size_t)s->channels, sizeof *channels);
    size_t n = 0;
    enum status status =
        channels ? spectrum_shot(s, m_to_ev(beam->wavelength_m), r->seed, r->id, channels, &n, e)
                 : error_memory(e, "the channels");
    if (!status && !(r->sources = mem_array(beam->nsources * n, sizeof *r->sources)))
        status = error_memory(e, "the sources");
    for (size_t i = 0; i < beam->nsources && !status; i++)
        for (size_t c = 0; c < n; c++) {
            struct source *source = &r->sources[r->nsources++];
            *source = beam->sources[i];
            source->wavelength_m = ev_to_m(channels[c].energy_eV);
            source->weight *= channels[c].photons * (double)n;
        }
    mem_free(channels);
    return status;
}

static enum status copy(const struct beam *beam, struct recipe *r, struct error *e)
{
    r->sources = mem_copy(beam->sources, beam->nsources, sizeof *r->sources);
    if (!r->sources)
        return error_memory(e, "the sources");
    r->nsources = beam->nsources;
    return STATUS_OK;
}

/* All directions turn by the same small rotation about an axis across the beam. */
static void turn(const struct pulse *p, const struct beam *beam, struct recipe *r)
{
    struct rng random = rng_stream(r->seed, RNG_DIRECTION, r->id, 0);
    const double rms_rad = p->direction_jitter_rad;
    const double about[2] = {rms_rad * rng_normal(&random), rms_rad * rng_normal(&random)};
    double e[3], b[3], axis[3];
    polarization_axes(beam->direction, beam->polarization, e, b);
    for (int i = 0; i < 3; i++)
        axis[i] = about[0] * e[i] + about[1] * b[i];
    const double angle_rad = vec_unit(axis, axis);
    for (size_t i = 0; i < r->nsources; i++)
        vec_rotate_axis(r->sources[i].direction, axis, angle_rad);
}

enum status pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r,
                       struct error *e)
{
    if (!pulse_varies(p))
        return STATUS_OK;
    const enum status s =
        p->spectrum.kind != SPECTRUM_NONE ? spread(&p->spectrum, beam, r, e) : copy(beam, r, e);
    if (s)
        return s;
    struct rng fluence = rng_stream(r->seed, RNG_FLUENCE, r->id, 0);
    struct rng wavelength = rng_stream(r->seed, RNG_WAVELENGTH, r->id, 0);
    double photons = rng_lognormal(&fluence, p->fluence_jitter);
    double longer = 1.0 + p->wavelength_jitter * rng_normal(&wavelength);
    if (p->fluence > 0.0)
        photons *= p->fluence;
    if (p->wavelength > 0.0)
        longer *= p->wavelength;
    if (p->direction_jitter_rad > 0.0)
        turn(p, beam, r);
    for (size_t i = 0; i < r->nsources; i++) {
        r->sources[i].weight *= photons;
        r->sources[i].wavelength_m *= longer;
    }
    return STATUS_OK;
}
