#include "physics/beam/harmonic.h"

#include <math.h>

#include "base/alloc.h"
#include "base/units.h"
#include "physics/detector/sensor.h"
#include "physics/request.h"

enum status harmonic_sensors(const struct detector_request *d, struct experiment *x,
                             struct error *e)
{
    const double energy_eV = m_to_ev(x->beam.wavelength_m);
    for (struct panel *p = x->panels; p < x->panels + x->npanels; p++) {
        struct error why;
        if (!(p->thickness_m > 0.0))
            continue;
        p->harmonic_absorption_1_m = d->harmonic_absorption_1_m;
        if (!(p->harmonic_absorption_1_m > 0.0) &&
            sensor_harmonic(p, energy_eV, &p->harmonic_absorption_1_m, &why))
            return error_set(e, STATUS_INPUT,
                             "--third-harmonic: %s. --harmonic-absorption=UM says what the sensor "
                             "absorbs of three times the energy",
                             why.text);
    }
    return STATUS_OK;
}

static void shorten(struct source *sources, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sources[i].wavelength_m /= HARMONIC_ORDER;
}

bool harmonic_open(struct harmonic *h, const struct experiment *of)
{
    struct experiment *x = &h->x;
    *h = (struct harmonic){.x = *of};
    x->panels = mem_copy(of->panels, of->npanels, sizeof *of->panels);
    x->beam.sources = mem_copy(of->beam.sources, of->beam.nsources, sizeof *of->beam.sources);
    if (!x->panels || !x->beam.sources)
        return false;
    h->depths = sensor_harmonic_depths(&of->panels[0]);
    for (size_t i = 0; i < x->npanels; i++)
        sensor_absorb(&x->panels[i], x->panels[i].harmonic_absorption_1_m);
    shorten(x->beam.sources, x->beam.nsources);
    x->beam.wavelength_m /= HARMONIC_ORDER;
    x->beam.fluence_ph_m2 *= of->beam.harmonic_share * of->beam.harmonic_signal;
    x->beam.harmonic_share = 0.0;
    x->sampling.oversample =
        (int)fmin(HARMONIC_OVERSAMPLE * of->sampling.oversample, LIMIT_OVERSAMPLE);
    return true;
}

void harmonic_close(struct harmonic *h)
{
    mem_free(h->x.panels);
    mem_free(h->x.beam.sources);
    mem_free(h->sources);
    *h = (struct harmonic){0};
}

const struct source *harmonic_sources(struct harmonic *h, const struct source *sources, size_t n)
{
    if (h->room < n) {
        mem_free(h->sources);
        h->sources = mem_array(n, sizeof *h->sources);
        h->room = h->sources ? n : 0;
    }
    if (!h->sources)
        return NULL;
    for (size_t i = 0; i < n; i++)
        h->sources[i] = sources[i];
    shorten(h->sources, n);
    return h->sources;
}

bool harmonic_recipe(struct harmonic *h, const struct recipe *r, struct recipe *its)
{
    *its = *r;
    if (!r->nsources)
        return true;
    its->sources = harmonic_sources(h, r->sources, r->nsources) ? h->sources : NULL;
    return its->sources;
}
