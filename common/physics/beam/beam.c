#include "physics/beam/beam.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/detector/sensor.h"
#include "physics/request.h"

/* Flux, exposure and beam size make the fluence where all three are given [2.1]. */
static enum status set_fluence(const struct beam_request *r, struct beam *b, struct error *e)
{
    enum status s;
    if ((s = check_range("flux", r->flux_ph_s, 1.0, "photons/s", 0.0, 1e60, e)) ||
        (s = check_range("exposure", r->exposure_s, 1.0, "s", 0.0, 1e9, e)))
        return s;
    if (!(r->size_m < 1e3))
        return error_set(e, STATUS_INPUT, "the beam size is %g m; expected less than 1000 m",
                         r->size_m);
    b->size_m = r->size_m;
    b->has_height = r->height_m > 0.0;
    b->height_m = r->height_m;
    b->fluence_ph_m2 = r->fluence_ph_m2;
    b->has_exposure = r->exposure_s > 0.0 && r->exposure_s != 1.0;
    b->exposure_s = b->has_exposure ? r->exposure_s : 0.0;
    if (r->flux_ph_s > 0.0 && r->exposure_s > 0.0 && r->size_m >= 0.0) {
        if (!(r->size_m > 1e-12))
            return error_set(e, STATUS_INPUT, "--flux needs --beam-size above 1e-9 mm");
        b->fluence_ph_m2 = r->flux_ph_s * r->exposure_s / r->size_m / beam_height_m(b);
    }
    return check_range("fluence", b->fluence_ph_m2, 1.0, "photons/m^2", 0.0, 1e60, e);
}

/* Checks a wavelength, from gamma rays to 1 um. Other radiation does not diffract from a
 * crystal. */
static enum status check_wavelength(double wavelength_m, struct error *e)
{
    return check_range("wavelength", wavelength_m, 1e-10, "A", 1e-4, 1e4, e);
}

/* Returns true if a corner of a rectangle of divergence is cut off [2.4]. If a range is 0, the
 * quotient is NaN and nothing is cut off. */
static bool is_corner(double h, double v, const struct steps *hs, const struct steps *vs)
{
    const double th =
        (h * h - hs->step * hs->step / 4.0 * (double)(1 - hs->count % 2)) / hs->range / hs->range;
    const double tv =
        (v * v - vs->step * vs->step / 4.0 * (double)(1 - vs->count % 2)) / vs->range / vs->range;
    return (th + tv) * 4.0 > 1.1;
}

/* The steps of the sources: two angles and the wavelength. */
struct fan {
    struct steps h, v, waves;
};

/* Appends a source of every wavelength for divergence angles h, v in rad. */
static void append_waves(const struct fan *fan, const struct frame_axes *axes,
                         const double vertical[3], double h, double v, struct beam *b)
{
    double q[3];
    vec_scale(axes->beam, -10.0, q);
    vec_rotate_axis(q, axes->polar, v);
    vec_rotate_axis(q, vertical, h);
    /* All wavelengths of a direction follow each other. */
    vec_unit(q, q);
    for (int64_t k = 0; k < fan->waves.count; k++) {
        struct source *source = &b->sources[b->nsources++];
        vec_copy(source->direction, q);
        source->wavelength_m =
            b->wavelength_m * (1.0 + fan->waves.step * (double)k - fan->waves.range / 2.0);
        source->weight = 1.0;
    }
}

/* Makes sources from divergence and dispersion. The horizontal angle is the outermost loop
 * [2.4]. */
static enum status generate(const struct beam_request *r, const struct frame_axes *axes,
                            struct beam *b, struct error *e)
{
    struct fan fan;
    enum status s;
    if ((s = steps_resolve(&r->horizontal, STEPS_DIVERGENCE, "horizontal divergence", &fan.h, e)) ||
        (s = steps_resolve(&r->vertical, STEPS_DIVERGENCE, "vertical divergence", &fan.v, e)) ||
        (s = steps_resolve(&r->dispersion, STEPS_DISPERSION, "dispersion", &fan.waves, e)))
        return s;
    const double count = (double)fan.h.count * (double)fan.v.count * (double)fan.waves.count;
    if ((s = check_range("number of sources", count, 1.0, "", 1.0, LIMIT_STEPS, e)))
        return s;
    b->sources = mem_array((size_t)count, sizeof *b->sources);
    double vertical[3];
    vec_cross(axes->beam, axes->polar, vertical);
    vec_unit(vertical, vertical);
    for (int64_t ih = 0; ih < fan.h.count; ih++) {
        for (int64_t iv = 0; iv < fan.v.count; iv++) {
            const double h = fan.h.step * (double)ih - fan.h.range / 2.0;
            const double v = fan.v.step * (double)iv - fan.v.range / 2.0;
            if (r->square_divergence || !is_corner(h, v, &fan.h, &fan.v))
                append_waves(&fan, axes, vertical, h, v, b);
        }
    }
    return STATUS_OK;
}

/* Scales the weights to a mean of 1. */
static enum status normalise_weights(struct beam *b, struct error *e)
{
    double sum = 0.0;
    for (size_t i = 0; i < b->nsources; i++) {
        if (!(b->sources[i].weight >= 0.0 && b->sources[i].weight <= 1e30))
            return error_set(e, STATUS_INPUT,
                             "source %zu: weight %g; expected a value from 0 to 1e30", i + 1,
                             b->sources[i].weight);
        sum += b->sources[i].weight;
    }
    if (!(sum > 0.0))
        return error_set(e, STATUS_INPUT, "all source weights are zero");
    const double mean = sum / (double)b->nsources;
    for (size_t i = 0; i < b->nsources; i++)
        b->sources[i].weight /= mean;
    return STATUS_OK;
}

/* Makes sources from a list, with the chosen meaning of weight and wavelength [2.5]. */
static enum status take_listed(const struct beam_request *r, struct beam *b, struct error *e)
{
    if ((double)r->nlisted > LIMIT_STEPS)
        return error_set(e, STATUS_INPUT, "too many sources (got %zu); expected at most %.0f",
                         r->nlisted, LIMIT_STEPS);
    b->sources = mem_copy(r->listed, r->nlisted, sizeof *b->sources);
    b->nsources = r->nlisted;
    for (size_t i = 0; i < b->nsources; i++) {
        struct source *source = &b->sources[i];
        enum status s = check_direction("source", source->direction, e);
        if (s)
            return s;
        vec_unit(source->direction, source->direction);
        if (r->weights == WEIGHTS_OVERRIDE)
            source->wavelength_m = b->wavelength_m;
        if (r->weights != WEIGHTS_APPLY)
            source->weight = 1.0;
    }
    return r->weights == WEIGHTS_APPLY ? normalise_weights(b, e) : STATUS_OK;
}

enum status beam_setup(const struct beam_request *r, const struct frame_axes *axes, struct beam *b,
                       struct error *e)
{
    memset(b, 0, sizeof *b);
    vec_copy(b->direction, axes->beam);
    vec_copy(b->polarization, axes->polar);
    b->kahn = r->kahn;
    b->no_polarization = r->no_polarization;
    b->wavelength_m = r->wavelength_m;
    b->harmonic_share = r->harmonic_share;
    b->harmonic_signal = r->harmonic_signal;
    b->adds_energy = r->signal == SIGNAL_ENERGY;
    enum status s = check_wavelength(r->wavelength_m, e);
    if (s || (s = check_range("polarization factor", r->kahn, 1.0, "", -1.0, 1.0, e)) ||
        (s = set_fluence(r, b, e)) ||
        (s = r->nlisted ? take_listed(r, b, e) : generate(r, axes, b, e)))
        return s;
    if (!b->nsources)
        return error_set(e, STATUS_INPUT,
                         "the divergence leaves no source, because all its steps are outside the "
                         "ellipse. Change the number of steps, or give --square-divergence");
    double shortest_m = INFINITY, longest_m = 0.0;
    for (size_t i = 0; i < b->nsources && !s; i++) {
        s = check_wavelength(b->sources[i].wavelength_m, e);
        shortest_m = fmin(shortest_m, b->sources[i].wavelength_m);
        longest_m = fmax(longest_m, b->sources[i].wavelength_m);
    }
    return s ? s : harmonic_check_band(b, shortest_m, longest_m, e);
}

/* --- the third harmonic ---------------------------------------------------------- */

enum status harmonic_check_band(const struct beam *b, double shortest_m, double longest_m,
                                struct error *e)
{
    if (!(b->harmonic_share > 0.0) || HARMONIC_ORDER * shortest_m > longest_m)
        return STATUS_OK;
    return error_set(
        e, STATUS_USAGE,
        "--third-harmonic: the band of the beam, %.6g to %.6g A, contains the harmonic "
        "of its longest wavelength, whose photons would count twice. Leave "
        "--third-harmonic out",
        m_to_angstrom(shortest_m), m_to_angstrom(longest_m));
}

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
                             "--third-harmonic: %s. Give the absorption of the sensor at three "
                             "times the energy with --harmonic-absorption=UM",
                             why.text);
    }
    return STATUS_OK;
}

static void shorten(struct source *sources, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sources[i].wavelength_m /= HARMONIC_ORDER;
}

void harmonic_open(struct harmonic *h, const struct experiment *of)
{
    struct experiment *x = &h->x;
    *h = (struct harmonic){.x = *of};
    x->panels = mem_copy(of->panels, of->npanels, sizeof *of->panels);
    x->beam.sources = mem_copy(of->beam.sources, of->beam.nsources, sizeof *of->beam.sources);
    h->depths = sensor_harmonic_depths(&of->panels[0]);
    for (size_t i = 0; i < x->npanels; i++)
        sensor_absorb(&x->panels[i], x->panels[i].harmonic_absorption_1_m);
    shorten(x->beam.sources, x->beam.nsources);
    x->beam.wavelength_m /= HARMONIC_ORDER;
    x->beam.fluence_ph_m2 *= of->beam.harmonic_share * of->beam.harmonic_signal;
    x->beam.harmonic_share = 0.0;
    x->sampling.oversample =
        (int)fmin(HARMONIC_OVERSAMPLE * of->sampling.oversample, LIMIT_OVERSAMPLE);
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
        h->room = n;
    }
    for (size_t i = 0; i < n; i++)
        h->sources[i] = sources[i];
    shorten(h->sources, n);
    return h->sources;
}

void harmonic_recipe(struct harmonic *h, const struct recipe *r, struct recipe *its)
{
    *its = *r;
    if (!r->nsources)
        return;
    (void)harmonic_sources(h, r->sources, r->nsources);
    its->sources = h->sources;
}
