#include "physics/beam/pulse.h"

#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/vec.h"
#include "physics/beam/beam.h"
#include "physics/beam/polarization.h"

#define HBAR_EV_FS 0.6582119569
#define FWHM_PER_RMS 2.354820045030949

/* Full width of the line that a crystal selects from a seeded pulse. It is 0.4 to 1 eV [Amann et
 * al. 2012, Nat. Photonics 6, 693]. */
#define SEEDED_LINE_EV 0.7

enum {
    LINES_MAX = 2,
    FINE_POINTS = 20000,   // of a smooth line
    SPIKES_MAX = 1000000,  // points of a SASE line
    RADIUS_MAX = 100000,   // points that one amplitude is made of
    RMS_IN_VIEW = 4,       // a Gaussian is cut off there
    TAIL_IN_VIEW = 12,     // decay lengths of an exponential
    POINTS_A_SPIKE = 3,    // points in a coherence width
    POINTS_A_WIDTH = 8,    // points in the rms width of the envelope
};

/* A channel with a smaller fraction of a pulse than this is joined with the next channel. */
static const double DARK = 1e-4;

enum line_shape { LINE_GAUSS, LINE_TOPHAT, LINE_PINK, LINE_BAND };

/* Part of a spectrum. */
struct line {
    enum line_shape shape;
    double centre_eV, fwhm_eV;
    double share;               // of the photons
    bool spiky;                 // SASE within the envelope
    const struct spectrum *of;  // BAND: its source and filters
    double modes;  // number of modes of the Gamma distribution of the pulse energy; 0: the energy
                   // does not vary
};

/* --- the lines of a kind ------------------------------------------------------ */

/* Returns the energy difference over which amplitudes are correlated, hbar / sigma_t. */
static double coherence_eV(const struct spectrum *s)
{
    return HBAR_EV_FS / (s->pulse_fs / FWHM_PER_RMS);
}

/* Returns the relative variance of the energy in a box with a width of `widths` coherence
 * widths: 2/r^2 times the integral from 0 to r of (r - x) exp(-x^2), computed by Simpson's rule. */
static double box_variance(double widths)
{
    enum { STEPS = 200 };
    const double end = fmin(widths, 6.0), step = end / STEPS;
    double sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        const double x = i * step, factor = i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += factor * (widths - x) * portable_exp(-x * x);
    }
    return 2.0 / (widths * widths) * sum * step / 3.0;
}

bool spectrum_is_wide(const struct spectrum *s)
{
    return s->kind == SPECTRUM_WIGGLER ||
           (s->kind == SPECTRUM_TOPHAT &&
            (s->range_eV[1] > 0.0 || s->nfilters || s->bandwidth_percent > SPECTRUM_BANDWIDTH_MAX));
}

/* Makes a line the band of a spectrum, if that is one. */
static void set_band(const struct spectrum *s, struct line *l)
{
    if (!spectrum_is_wide(s))
        return;
    l->shape = LINE_BAND;
    l->of = s;
    if (s->range_eV[1] > 0.0) {
        l->centre_eV = 0.5 * (s->range_eV[0] + s->range_eV[1]);
        l->fwhm_eV = s->range_eV[1] - s->range_eV[0];
    }
}

static int make_lines(const struct spectrum *s, double mean_eV, struct line lines[LINES_MAX])
{
    const double width_eV = percent_to_fraction(s->bandwidth_percent) * mean_eV;
    struct line main = {.centre_eV = mean_eV, .fwhm_eV = width_eV, .share = 1.0};
    struct line other = main;
    int count = 1;
    switch (s->kind) {
    case SPECTRUM_SASE:
        main.spiky = true;
        break;
    case SPECTRUM_TOPHAT:
        main.shape = LINE_TOPHAT;
        set_band(s, &main);
        break;
    case SPECTRUM_WIGGLER:
        set_band(s, &main);
        break;
    case SPECTRUM_PINK:
        main.shape = LINE_PINK;
        break;
    case SPECTRUM_SEEDED:
        main.fwhm_eV = SEEDED_LINE_EV;
        main.share = 1.0 - s->pedestal;
        main.modes = 1.0 / box_variance(SEEDED_LINE_EV / coherence_eV(s));
        other.share = s->pedestal;
        other.spiky = true;
        count = 2;
        break;
    case SPECTRUM_TWOCOLOUR:
        main.spiky = other.spiky = true;
        main.share = 1.0 - s->second;
        other.share = s->second;
        other.centre_eV *= 1.0 + percent_to_fraction(s->separation_percent);
        count = 2;
        break;
    default:
        break;
    }
    lines[0] = main;
    lines[1] = other;
    return count;
}

/* Return the rms of the Gaussian of a line, and the decay length of its tail towards low
 * energies. */
static double line_rms_eV(const struct line *l)
{
    return l->shape == LINE_PINK ? 0.25 * l->fwhm_eV : l->fwhm_eV / FWHM_PER_RMS;
}

static double line_tail_eV(const struct line *l)
{
    return l->shape == LINE_PINK ? 0.5 * l->fwhm_eV : 0.0;
}

/* Sets the range of energies of a line. The tail shifts the mean, so the Gaussian is at an
 * energy that is higher by this shift. */
static void line_range(const struct line *l, double *low_eV, double *high_eV)
{
    const double tail = line_tail_eV(l);
    const bool cut = l->shape == LINE_TOPHAT || l->shape == LINE_BAND;
    const double half = cut ? 0.5 * l->fwhm_eV : RMS_IN_VIEW * line_rms_eV(l);
    *low_eV = l->centre_eV + tail - half - TAIL_IN_VIEW * tail;
    *high_eV = l->centre_eV + tail + half;
}

void spectrum_range(const struct spectrum *s, double mean_eV, double *low_eV, double *high_eV)
{
    struct line lines[LINES_MAX];
    *low_eV = INFINITY;
    *high_eV = 0.0;
    for (size_t i = 0; s->kind == SPECTRUM_LISTED && i < s->listed.shots; i++) {
        const double *energy_eV = s->listed.energy_eV + i * s->listed.points;
        *low_eV = fmin(*low_eV, energy_eV[0]);
        *high_eV = fmax(*high_eV, energy_eV[s->listed.points - 1]);
    }
    const int count = s->kind == SPECTRUM_LISTED ? 0 : make_lines(s, mean_eV, lines);
    for (int i = 0; i < count; i++) {
        double low, high;
        line_range(&lines[i], &low, &high);
        *low_eV = fmin(*low_eV, low);
        *high_eV = fmax(*high_eV, high);
    }
}

/* --- points of a line go into channels ------------------------------------------ */

struct bins {
    double low_eV, width_eV;
    size_t count;
    struct spectrum_channel *bins;  // energy_eV holds the sum of photons x energy
};

static void put_photons(const struct bins *b, double energy_eV, double photons)
{
    const double at = (energy_eV - b->low_eV) / b->width_eV;
    size_t i = at > 0.0 ? (size_t)at : 0;
    i = i < b->count ? i : b->count - 1;
    b->bins[i].photons += photons;
    b->bins[i].energy_eV += photons * energy_eV;
}

static double gauss(double distance, double rms)
{
    return portable_exp(-0.5 * (distance / rms) * (distance / rms));
}

/* Draws a gamma deviate with mean 1 and variance 1/modes, modes >= 1 [Marsaglia and Tsang 2000,
 * ACM Trans. Math. Softw. 26, 363]. */
static double draw_gamma(struct rng *r, double modes)
{
    const double d = modes - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        const double x = rng_normal(r), t = 1.0 + c * x, v = t * t * t;
        if (v > 0.0 && portable_log(rng_uniform(r)) < 0.5 * x * x + d - d * v + d * portable_log(v))
            return d * v / modes;
    }
}

/* Returns the photons of a band at an energy, in arbitrary units. */
static double band_photons(const struct spectrum *s, double energy_eV)
{
    const double emitted = s->kind == SPECTRUM_WIGGLER
                               ? synchrotron_photons(energy_eV / s->critical_eV, s->collected == 1)
                               : 1.0;
    return emitted * filter_transmission(s->filters, s->nfilters, energy_eV);
}

/* Returns true if a band has no photons: it is too far above the critical energy, or its filters
 * are too thick. */
static bool band_is_dark(const struct spectrum *s, double low_eV, double high_eV)
{
    enum { POINTS = 65 };
    static const double LEAST = 1e-250;  // sums and quotients of such numbers keep their digits
    double most = 0.0;
    for (int i = 0; i < POINTS; i++)
        most = fmax(most, band_photons(s, low_eV + (high_eV - low_eV) * i / (POINTS - 1)));
    return !(most > LEAST);
}

/* Returns the photons of a line at an energy, in arbitrary units, without its tail. */
static double smooth_photons(const struct line *l, double energy_eV, double middle_eV)
{
    switch (l->shape) {
    case LINE_TOPHAT:
        return 1.0;
    case LINE_BAND:
        return band_photons(l->of, energy_eV);
    case LINE_GAUSS:
    case LINE_PINK:
        break;
    }
    return gauss(energy_eV - middle_eV, line_rms_eV(l));
}

/* Makes a line that has the same form in every shot. */
static void put_smooth(const struct line *l, double share, const struct bins *b)
{
    double low_eV, high_eV, sum = 0.0, tail = 0.0;
    line_range(l, &low_eV, &high_eV);
    const double step = (high_eV - low_eV) / FINE_POINTS;
    const double decay = line_tail_eV(l) > 0.0 ? portable_exp(-step / line_tail_eV(l)) : 0.0;
    const double middle = l->centre_eV + line_tail_eV(l);
    for (int pass = 0; pass < 2; pass++) {  // the sum, then the points
        tail = 0.0;
        double passed = 0.0;
        for (int i = FINE_POINTS; i-- > 0;) {
            const double energy_eV = low_eV + (i + 0.5) * step;
            tail = decay * tail + smooth_photons(l, energy_eV, middle);
            passed += tail;
            if (pass)
                put_photons(b, energy_eV, share * tail / sum);
        }
        sum = passed;
    }
}

/* Sets a grid that is fine enough for the spikes of a line. */
struct spikes {
    double step_eV;
    double half, radius;  // points to each side of the centre; of one amplitude
};

static struct spikes spikes_of(const struct spectrum *s, const struct line *l)
{
    const double coherence = coherence_eV(s), rms = line_rms_eV(l);
    struct spikes k = {.step_eV = fmin(coherence / POINTS_A_SPIKE, rms / POINTS_A_WIDTH)};
    k.half = ceil(RMS_IN_VIEW * rms / k.step_eV);
    k.radius = ceil(4.0 * coherence / k.step_eV) - 1.0;
    return k;
}

/*
 * Makes a SASE spectrum. a(E) is a complex Gaussian process with <a*(E) a(E+D)> = exp(-D^2 / (2
 * sc^2)), which is white noise z convolved with a Gaussian. The photons are G(E) |a(E)|^2 with
 * the envelope G.
 */
static void put_spikes(const struct spectrum *s, const struct line *l, struct rng *r,
                       const struct bins *b)
{
    const struct spikes k = spikes_of(s, l);
    const size_t radius = (size_t)k.radius, points = 2 * (size_t)k.half + 1;
    const size_t draws = points + 2 * radius;
    double *z = mem_array(2 * draws + radius + 1, sizeof *z);
    double *kernel = z + 2 * draws, power = 0.0, envelope = 0.0;
    for (size_t i = 0; i <= radius; i++) {
        const double x = (double)i * k.step_eV / coherence_eV(s);
        kernel[i] = portable_exp(-x * x);
        power += (i ? 2.0 : 1.0) * kernel[i] * kernel[i];
    }
    for (size_t i = 0; i < 2 * draws; i++)
        z[i] = rng_normal(r);
    const double rms = line_rms_eV(l);
    for (size_t i = 0; i < points; i++)
        envelope += gauss(((double)i - k.half) * k.step_eV, rms);
    for (size_t i = 0; i < points; i++) {
        double re = 0.0, im = 0.0;
        for (size_t j = 0; j <= 2 * radius; j++) {
            const double w = kernel[j < radius ? radius - j : j - radius];
            re += w * z[2 * (i + j)];
            im += w * z[2 * (i + j) + 1];
        }
        const double offset_eV = ((double)i - k.half) * k.step_eV;
        put_photons(b, l->centre_eV + offset_eV,
                    l->share * gauss(offset_eV, rms) / envelope * (re * re + im * im) /
                        (2.0 * power));
    }
    mem_free(z);
}

/* Checks the options of a wide band. */
static enum status check_band(const struct spectrum *s, double mean_eV, struct error *e)
{
    const double *range_eV = s->range_eV;
    double low_eV, high_eV;
    if (s->kind != SPECTRUM_TOPHAT && s->bandwidth_percent > SPECTRUM_BANDWIDTH_MAX)
        return error_set(e, STATUS_USAGE,
                         "--bandwidth=%g is out of range; expected at most %g %%. "
                         "--spectrum=tophat can have up to 200 %%",
                         s->bandwidth_percent, SPECTRUM_BANDWIDTH_MAX);
    if (!spectrum_is_wide(s))
        return STATUS_OK;
    if (range_eV[1] > 0.0 && !(range_eV[0] < range_eV[1]))
        return error_set(e, STATUS_USAGE,
                         "--spectrum-range=%g,%g is empty; expected the lower energy in eV first",
                         range_eV[0], range_eV[1]);
    if (range_eV[1] > 0.0 && !(mean_eV >= range_eV[0] && mean_eV <= range_eV[1]))
        return error_set(e, STATUS_USAGE,
                         "--spectrum-range=%g,%g does not hold the energy of the beam, %.6g eV, "
                         "which files name. Use bragg-geometry --energy=%.6g",
                         range_eV[0], range_eV[1], mean_eV, 0.5 * (range_eV[0] + range_eV[1]));
    spectrum_range(s, mean_eV, &low_eV, &high_eV);
    if (s->nfilters && !(low_eV >= FILTER_LEAST_EV && high_eV <= FILTER_MOST_EV))
        return error_set(e, STATUS_USAGE,
                         "--filter: the spectrum reaches from %.6g to %.6g eV; expected %g to %g "
                         "eV, where the attenuation of filters is known",
                         low_eV, high_eV, FILTER_LEAST_EV, FILTER_MOST_EV);
    if (band_is_dark(s, low_eV, high_eV))
        return error_set(e, STATUS_USAGE,
                         "the spectrum has no photons from %.6g to %.6g eV. Use a higher "
                         "--critical-energy, lower energies or thinner filters",
                         low_eV, high_eV);
    return STATUS_OK;
}

enum status spectrum_check(const struct spectrum *s, double mean_eV, struct error *e)
{
    const enum status band = check_band(s, mean_eV, e);
    if (band)
        return band;
    double low_eV, high_eV;
    spectrum_range(s, mean_eV, &low_eV, &high_eV);
    if (s->kind == SPECTRUM_LISTED && !(low_eV < 1.1 * mean_eV && high_eV > 0.9 * mean_eV))
        return error_set(e, STATUS_INPUT,
                         "the spectra reach from %.6g to %.6g eV; expected near the beam's %.6g eV "
                         "(bragg-geometry --energy)",
                         low_eV, high_eV, mean_eV);
    if (!(low_eV > 0.0))
        return error_set(
            e, STATUS_USAGE,
            "--bandwidth=%g: photons reach below 0 eV. Give the bandwidth in percent of the energy",
            s->bandwidth_percent);
    struct line lines[LINES_MAX];
    const int count = s->kind == SPECTRUM_LISTED ? 0 : make_lines(s, mean_eV, lines);
    for (int i = 0; i < count; i++) {
        const struct spikes k = spikes_of(s, &lines[i]);
        if (lines[i].spiky && (k.half > SPIKES_MAX / 2 || k.radius > RADIUS_MAX))
            return error_set(e, STATUS_USAGE,
                             "--pulse=%g at a bandwidth of %g eV: a spectrum needs %.3g points; "
                             "expected at most %d",
                             s->pulse_fs, lines[i].fwhm_eV, 2.0 * fmax(k.half, k.radius),
                             SPIKES_MAX);
    }
    return STATUS_OK;
}

/* --- one shot ------------------------------------------------------------------ */

static void put_lines(const struct spectrum *s, double mean_eV, uint64_t seed, uint64_t id,
                      const struct bins *b)
{
    struct line lines[LINES_MAX];
    const int count = make_lines(s, mean_eV, lines);
    for (int i = 0; i < count; i++) {
        struct rng r = rng_stream(seed, RNG_SPECTRUM, id, (uint32_t)i);
        const struct line *l = &lines[i];
        if (l->spiky)
            put_spikes(s, l, &r, b);
        else
            put_smooth(l, l->share * (l->modes > 0.0 ? draw_gamma(&r, l->modes) : 1.0), b);
    }
}

static void put_listed(const struct listed_spectra *m, uint64_t id, const struct bins *b)
{
    const size_t first = (size_t)(id % m->shots) * m->points;
    for (size_t i = first; i < first + m->points; i++)
        put_photons(b, m->energy_eV[i], m->photons[i]);
}

/* Joins channels that are nearly dark with the next one, so that no photon is lost and energies
 * stay centres of mass.  Photons that are left at the end go to the last channel. */
static size_t join_channels(struct spectrum_channel *c, size_t count)
{
    double all = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        all += c[i].photons;
    struct spectrum_channel sum = {0};
    for (size_t i = 0; i < count; i++) {
        sum.photons += c[i].photons;
        sum.energy_eV += c[i].energy_eV;
        if (sum.photons > DARK * all) {
            c[n++] = sum;
            sum = (struct spectrum_channel){0};
        }
    }
    if (n) {
        c[n - 1].photons += sum.photons;
        c[n - 1].energy_eV += sum.energy_eV;
    }
    for (size_t i = 0; i < n; i++)
        c[i].energy_eV /= c[i].photons;
    return n;
}

size_t spectrum_shot(const struct spectrum *s, double mean_eV, uint64_t seed, uint64_t id,
                     struct spectrum_channel *channels)
{
    struct bins b = {.count = (size_t)s->channels, .bins = channels};
    double high_eV;
    spectrum_range(s, mean_eV, &b.low_eV, &high_eV);
    b.width_eV = fmax((high_eV - b.low_eV) / (double)b.count, 1e-9 * mean_eV);
    for (size_t i = 0; i < b.count; i++)
        channels[i] = (struct spectrum_channel){0};
    if (s->kind == SPECTRUM_LISTED)
        put_listed(&s->listed, id, &b);
    else
        put_lines(s, mean_eV, seed, id, &b);
    return join_channels(channels, b.count);
}

/* --- the sources of a frame ----------------------------------------------------- */

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
            return error_set(
                e, STATUS_USAGE,
                "--spectrum cannot be used, because the beam has a spectrum already. Use "
                "bragg-geometry without --dispersion, and a --source-file of one wavelength");
    if (beam->nsources * (size_t)p->spectrum.channels > PULSE_SOURCES_MAX)
        return error_set(e, STATUS_USAGE,
                         "%zu directions with %lld channels each are too many sources; expected at "
                         "most %d. Reduce --channels",
                         beam->nsources, (long long)p->spectrum.channels, PULSE_SOURCES_MAX);
    const double mean_eV = m_to_ev(beam->wavelength_m);
    const enum status s = spectrum_check(&p->spectrum, mean_eV, e);
    double low_eV, high_eV;
    spectrum_range(&p->spectrum, mean_eV, &low_eV, &high_eV);
    return s ? s : harmonic_check_band(beam, ev_to_m(high_eV), ev_to_m(low_eV), e);
}

/* Makes a source for each source of the beam and each channel. The mean of the weights is the
 * energy of the shot relative to the mean energy. */
static void spread(const struct spectrum *s, const struct beam *beam, struct recipe *r)
{
    struct spectrum_channel *channels = mem_array((size_t)s->channels, sizeof *channels);
    const size_t n = spectrum_shot(s, m_to_ev(beam->wavelength_m), r->seed, r->id, channels);
    r->sources = mem_array(beam->nsources * n, sizeof *r->sources);
    for (size_t i = 0; i < beam->nsources; i++)
        for (size_t c = 0; c < n; c++) {
            struct source *source = &r->sources[r->nsources++];
            *source = beam->sources[i];
            source->wavelength_m = ev_to_m(channels[c].energy_eV);
            source->weight *= channels[c].photons * (double)n;
        }
    mem_free(channels);
}

void spectrum_fix(const struct spectrum *s, struct beam *beam)
{
    struct recipe r = {0};
    spread(s, beam, &r);
    mem_free(beam->sources);
    beam->sources = r.sources;
    beam->nsources = r.nsources;
}

static void copy(const struct beam *beam, struct recipe *r)
{
    r->sources = mem_copy(beam->sources, beam->nsources, sizeof *r->sources);
    r->nsources = beam->nsources;
}

/* Turns all directions by the same small rotation about an axis perpendicular to the beam. */
static void turn_directions(const struct pulse *p, const struct beam *beam, struct recipe *r)
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

void pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r)
{
    if (!pulse_varies(p))
        return;
    if (p->spectrum.kind != SPECTRUM_NONE)
        spread(&p->spectrum, beam, r);
    else
        copy(beam, r);
    struct rng fluence = rng_stream(r->seed, RNG_FLUENCE, r->id, 0);
    struct rng wavelength = rng_stream(r->seed, RNG_WAVELENGTH, r->id, 0);
    double photons = rng_lognormal(&fluence, p->fluence_jitter);
    double longer = 1.0 + p->wavelength_jitter * rng_normal(&wavelength);
    if (p->fluence > 0.0)
        photons *= p->fluence;
    if (p->wavelength > 0.0)
        longer *= p->wavelength;
    if (p->direction_jitter_rad > 0.0)
        turn_directions(p, beam, r);
    for (size_t i = 0; i < r->nsources; i++) {
        r->sources[i].weight *= photons;
        r->sources[i].wavelength_m *= longer;
    }
}
