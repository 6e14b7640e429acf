/* Spectra of pulses: the statistics of SASE, mean energies, photons, channels. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "model/recipe.h"
#include "physics/beam/pulse.h"

enum { SHOTS = 1000, CHANNELS = 1000 };
static const double MEAN_EV = 9000.0;

static struct error error;
static struct spectrum_channel channels[CHANNELS];

/* What is 0 gets the value that bragg-orient gives it. */
static void fill(struct spectrum *s)
{
    s->bandwidth_percent = s->bandwidth_percent > 0 ? s->bandwidth_percent : 0.2;
    s->pulse_fs = s->pulse_fs > 0 ? s->pulse_fs : 25;
    s->pedestal = s->pedestal > 0 ? s->pedestal : 0.2;
    s->separation_percent = s->separation_percent > 0 ? s->separation_percent : 1;
    s->second = s->second > 0 ? s->second : 0.5;
}

/* What shots of a kind are like. */
struct figures {
    double mean, variance;    // of the energy of a pulse
    double centroid, jitter;  // mean and rms of centres of mass
};

static struct figures figures_of(const struct spectrum *s)
{
    double sum = 0, squares = 0, centres = 0, spread = 0;
    for (uint64_t k = 0; k < SHOTS; k++) {
        size_t n = 0;
        double photons = 0, moment = 0;
        n = spectrum_shot(s, MEAN_EV, 7, k, channels);
        assert_true(n > 0 && n <= (size_t)s->channels);
        for (size_t i = 0; i < n; i++) {
            assert_true(channels[i].photons > 0);
            assert_true(!i || channels[i].energy_eV > channels[i - 1].energy_eV);
            photons += channels[i].photons;
            moment += channels[i].photons * channels[i].energy_eV;
        }
        const double centre = moment / photons - MEAN_EV;
        sum += photons;
        squares += photons * photons;
        centres += centre;
        spread += centre * centre;
    }
    const double mean = sum / SHOTS, centroid = centres / SHOTS;
    return (struct figures){mean, squares / SHOTS - mean * mean, centroid,
                            sqrt(spread / SHOTS - centroid * centroid)};
}

/* Bandwidth in eV, pulse in fs; the relative variance that theory gives, and the rms of the
 * centre of mass that 4000 shots of another program had. */
static void sase_has_its_modes(void **state)
{
    (void)state;
    static const struct {
        double width_eV, pulse_fs, centroid_eV;
    } cases[] = {{18, 0.5, 2.23}, {18, 2, 1.20}, {9, 2, 0.84}, {18, 10, 0.542}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spectrum s = {.kind = SPECTRUM_SASE,
                             .bandwidth_percent = 100 * cases[i].width_eV / MEAN_EV,
                             .pulse_fs = cases[i].pulse_fs,
                             .channels = 40};
        fill(&s);
        const double product = cases[i].width_eV * cases[i].pulse_fs / (2.35482 * 2.35482);
        const double modes = sqrt(1 + 4 * pow(product / 0.6582119569, 2));
        const struct figures f = figures_of(&s);
        assert_true(fabs(f.mean - 1) < 4 / sqrt(modes * SHOTS));
        /* the variance of a variance: (2 + 6/M) / n, of a Gamma distribution */
        assert_true(fabs(f.variance * modes - 1) < 4 * sqrt((2 + 6 / modes) / SHOTS) + 0.01);
        assert_true(fabs(f.jitter / cases[i].centroid_eV - 1) < 0.08);
        assert_true(fabs(f.centroid) < 5 * f.jitter / sqrt(SHOTS));
    }
}

/* Photons of single energies are exponential, those of energies sc apart alike by exp(-1). */
static void spikes_are_exponential_and_as_wide_as_they_must(void **state)
{
    (void)state;
    struct spectrum s = {
        .kind = SPECTRUM_SASE, .bandwidth_percent = 0.2, .pulse_fs = 2, .channels = CHANNELS};
    fill(&s);
    double low_eV, high_eV, sum = 0, squares = 0, products = 0, other = 0;
    spectrum_range(&s, MEAN_EV, &low_eV, &high_eV);
    const double coherence_eV = 0.6582119569 / (2 / 2.35482);
    int n = 0;
    for (uint64_t k = 0; k < SHOTS; k++) {
        /* a narrow pair of channels, by hand: the points are coherence / 3 apart */
        size_t count = 0;
        double here = 0, there = 0;
        count = spectrum_shot(&s, MEAN_EV, 3, k, channels);
        for (size_t i = 0; i < count; i++) {
            const double offset = channels[i].energy_eV - MEAN_EV;
            here = fabs(offset) < coherence_eV / 9 ? channels[i].photons : here;
            there = fabs(offset - coherence_eV) < coherence_eV / 9 ? channels[i].photons : there;
        }
        if (here > 0 && there > 0) {  // else joined with a neighbour
            sum += here;
            other += there;
            squares += here * here;
            products += here * there;
            n++;
        }
    }
    const double mean = sum / n, contrast = squares / n / (mean * mean) - 1;
    const double alike = products / n / (mean * other / n) - 1;
    assert_true(n > 0.9 * SHOTS);
    assert_true(fabs(contrast - 1) < 0.2);
    assert_true(fabs(alike - exp(-1)) < 0.15);
}

static void constant_ones_keep_photons_and_mean(void **state)
{
    (void)state;
    static const int kinds[] = {SPECTRUM_GAUSS, SPECTRUM_TOPHAT, SPECTRUM_PINK};
    for (size_t k = 0; k < 3; k++)
        for (int64_t count = 1; count <= 200; count += 67) {
            struct spectrum s = {.kind = kinds[k], .bandwidth_percent = 2, .channels = count};
            fill(&s);
            size_t n = 0;
            double photons = 0, moment = 0, spread = 0;
            n = spectrum_shot(&s, MEAN_EV, 7, 5, channels);
            for (size_t i = 0; i < n; i++) {
                photons += channels[i].photons;
                moment += channels[i].photons * channels[i].energy_eV;
            }
            assert_true(fabs(photons - 1) < 1e-12);
            assert_true(fabs(moment - MEAN_EV) < 0.06);  // the tail of PINK is cut off
            for (size_t i = 0; i < n; i++)
                spread += channels[i].photons * pow(channels[i].energy_eV - MEAN_EV, 2);
            const double width = 0.02 * MEAN_EV;
            const double rms = kinds[k] == SPECTRUM_GAUSS    ? width / 2.35482
                               : kinds[k] == SPECTRUM_TOPHAT ? width / sqrt(12)
                                                             : width * sqrt(0.0625 + 0.25);
            if (count > 100)
                assert_true(fabs(sqrt(spread) / rms - 1) < 0.01);
        }
}

static void seeded_and_two_colours(void **state)
{
    (void)state;
    struct spectrum s = {.kind = SPECTRUM_SEEDED, .pedestal = 0.3, .pulse_fs = 2, .channels = 100};
    fill(&s);
    struct figures f = figures_of(&s);
    assert_true(fabs(f.mean - 1) < 0.06 && f.variance > 0.3 && f.variance < 0.6);
    s = (struct spectrum){
        .kind = SPECTRUM_TWOCOLOUR, .second = 0.25, .separation_percent = 2, .channels = 200};
    fill(&s);
    f = figures_of(&s);
    assert_true(fabs(f.mean - 1) < 0.01);
    assert_true(fabs(f.centroid / (0.25 * 0.02 * MEAN_EV) - 1) < 0.02);
}

/* A shot is a function of seed and frame. */
static void shots_do_not_depend_on_others(void **state)
{
    (void)state;
    static struct spectrum_channel again[CHANNELS];
    struct spectrum s = {.kind = SPECTRUM_SASE, .channels = 30};
    fill(&s);
    size_t n, m;
    n = spectrum_shot(&s, MEAN_EV, 7, 9, channels);
    m = spectrum_shot(&s, MEAN_EV, 7, 8, again);
    assert_memory_not_equal(channels, again, sizeof *again);
    m = spectrum_shot(&s, MEAN_EV, 8, 9, again);
    assert_memory_not_equal(channels, again, sizeof *again);
    m = spectrum_shot(&s, MEAN_EV, 7, 9, again);
    assert_int_equal(n, m);
    assert_memory_equal(channels, again, n * sizeof *again);
}

/* The mean weight of a frame's sources is its energy, in every direction of the beam. */
static void sources_carry_the_shot(void **state)
{
    (void)state;
    struct source list[2] = {{.wavelength_m = ev_to_m(MEAN_EV), .weight = 0.5},
                             {.wavelength_m = ev_to_m(MEAN_EV), .weight = 1.5}};
    const struct beam beam = {.nsources = 2, .sources = list, .wavelength_m = ev_to_m(MEAN_EV)};
    struct pulse p = {.spectrum = {.kind = SPECTRUM_SASE, .channels = 25}};
    fill(&p.spectrum);
    assert_int_equal(pulse_check(&p, &beam, &error), STATUS_OK);
    struct recipe r = {.id = 3, .seed = 7};
    size_t n;
    double photons = 0, weights = 0;
    n = spectrum_shot(&p.spectrum, MEAN_EV, 7, 3, channels);
    pulse_make(&p, &beam, &r);
    assert_int_equal(r.nsources, 2 * n);
    for (size_t i = 0; i < n; i++) {
        photons += channels[i].photons;
        assert_true(fabs(r.sources[i].weight - 0.5 * (double)n * channels[i].photons) < 1e-12);
        assert_true(fabs(m_to_ev(r.sources[n + i].wavelength_m) - channels[i].energy_eV) < 1e-9);
    }
    for (size_t i = 0; i < r.nsources; i++)
        weights += r.sources[i].weight;
    assert_true(fabs(weights / (double)r.nsources - photons) < 1e-12);
    recipe_free(&r);
    list[1].wavelength_m *= 1.001;
    assert_int_equal(pulse_check(&p, &beam, &error), STATUS_USAGE);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct spectrum s = {.kind = SPECTRUM_SASE, .pulse_fs = 10000, .bandwidth_percent = 20};
    fill(&s);
    assert_int_equal(spectrum_check(&s, MEAN_EV, &error), STATUS_USAGE);
    assert_non_null(strstr(error.text, "--pulse=10000"));
    double energy[2] = {5000, 6000}, photons[2] = {0.5, 0.5};
    s = (struct spectrum){.kind = SPECTRUM_LISTED, .listed = {1, 2, energy, photons}};
    assert_int_equal(spectrum_check(&s, MEAN_EV, &error), STATUS_INPUT);
    energy[1] = 9100;
    assert_int_equal(spectrum_check(&s, MEAN_EV, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sase_has_its_modes),
        cmocka_unit_test(spikes_are_exponential_and_as_wide_as_they_must),
        cmocka_unit_test(constant_ones_keep_photons_and_mean),
        cmocka_unit_test(seeded_and_two_colours),
        cmocka_unit_test(shots_do_not_depend_on_others),
        cmocka_unit_test(sources_carry_the_shot),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return unit_run(tests);
}
