#include "switching.h"

#include <string.h>

#include "base/units.h"
#include "io/gain_files.h"
#include "model/incident.h"

enum status switching_check(const struct switching *w, struct error *e)
{
    for (int i = 0; i < GAIN_STAGES && w->on; i++)
        if (w->gain_adu_keV[i] == 0.0)
            return error_set(e, STATUS_USAGE, "--stage-gains: a gain of 0 counts nothing");
    return STATUS_OK;
}

double switching_energy_keV(const struct experiment *x, const struct recipe *r)
{
    return m_to_ev(incident_beam(x, r).mean_m) / 1000.0;
}

enum status switching_make(struct switching *w, uint64_t seed, int threads, struct experiment *x,
                           struct error *e)
{
    if (!w->on)
        return STATUS_OK;
    struct gain_request r = {
        .gain_spread = w->spread[0], .pedestal_spread = w->spread[1], .seed = seed};
    memcpy(r.gain_adu_keV, w->gain_adu_keV, sizeof r.gain_adu_keV);
    memcpy(r.pedestal_adu, w->pedestal_adu, sizeof r.pedestal_adu);
    enum status s = gain_stages_make(&w->stages, &r, experiment_pixels(x), threads, e);
    if (!s && w->files)
        s = gain_files_write(w->files, x, w->stages.gain, w->stages.pedestal, e);
    x->adc_offset = w->pedestal_adu[0];
    x->gain = w->gain_adu_keV[0] * m_to_ev(x->beam.wavelength_m) / 1000.0;
    x->saturation = UINT16_MAX;
    return s;
}

double switching_full_word(const struct switching *w)
{
    return w->gain_adu_keV[GAIN_STAGES - 1] > 0.0 ? UINT16_MAX : UINT16_MAX - GAIN_STAGES_ADC_MAX;
}

void switching_free(struct switching *w)
{
    gain_stages_free(&w->stages);
}
