/*
 * How finely the spots of all frames are sampled: the numbers of phi steps, mosaic domains and
 * wavelengths that are chosen, and warnings if given numbers are too few, or need long.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "engine/closed/closed.h"
#include "orient.h"
#include "physics/crystal/sampling.h"
#include "physics/crystal/shape.h"
#include "physics/detector/detector.h"
#include "physics/setup.h"

/* Largest number of terms per pixel that is chosen. */
#define TERMS_MAX 1e6

/* Number of terms of a frame, over all pixels, above which the frame is slow to compute.  No more
 * are chosen unless --steps=auto is given. */
#define SLOW_TERMS 1e10

/* Prints a warning for each kind of steps that is too coarse. */
static void warn_coarse(const struct orient_options *o, const struct sampling_report *r)
{
    const double spot = rad_to_deg(r->spot_rad), rocking = rad_to_deg(r->widened_rad);
    const bool steps = orient_given(o, "phi-steps"), domains = orient_given(o, "mosaic-domains");
    if (r->pixels_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: subpixels are %.3g deg wide, spots %.3g deg; expected at "
                 "most %.3g deg. Use bragg-geometry --oversample=%.0f or more, or --steps=auto",
                 rad_to_deg(r->subpixel_rad), spot, rad_to_deg(r->spot_share_rad), r->oversample);
    if (r->layers_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: slanted rays leave photons of neighbouring sensor layers "
                 "%.3g pixels apart. Use bragg-geometry --layers=%.0f or more",
                 r->layer_px, r->layers);
    if (r->phi_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: phi steps are %.3g deg apart, spots %.3g deg wide; "
                 "expected at most %.3g deg. Use --phi-steps=%.0f or more, or %s",
                 rad_to_deg(r->phi_step_rad), rocking, rad_to_deg(r->rocking_share_rad),
                 r->phi_steps, steps ? "leave --phi-steps out" : "--steps=auto");
    if (r->domains_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: mosaic domains are %.3g deg apart, spots %.3g deg wide; "
                 "expected at most %.3g deg. Use --mosaic-domains=%.0f or more, or %s",
                 rad_to_deg(r->domain_rad), rocking, rad_to_deg(r->rocking_share_rad), r->domains,
                 domains ? "leave --mosaic-domains out" : "--steps=auto");
}

/* Copies the report of a crystal to *finest if its spots need closer points: on the detector, and
 * in the rotation. */
static void keep_finest(const struct sampling_report *r, struct sampling_report *finest)
{
    const struct sampling_report was = *finest,
                                 turn = r->rocking_share_rad < was.rocking_share_rad ? *r : was;
    if (r->spot_share_rad < was.spot_share_rad)
        *finest = *r;
    finest->widened_rad = turn.widened_rad;
    finest->rocking_share_rad = turn.rocking_share_rad;
    finest->phi_step_rad = turn.phi_step_rad;
    finest->phi_steps = turn.phi_steps;
    finest->phi_coarse = turn.phi_coarse;
    finest->domain_rad = turn.domain_rad;
    finest->domains = turn.domains;
    finest->domains_coarse = turn.domains_coarse;
}

/* Examines the sampling of a crystal, and adds it to *finest. */
static enum status sample_crystal(const struct orient_options *o, const struct experiment *x,
                                  uint32_t crystal, struct sampling_report *finest, struct error *e)
{
    const struct orientation_request turned = orient_request(o, 0);
    struct recipe r = {.lattices = mem_array(1, sizeof(struct lattice)), .nlattices = 1};
    const enum status s = setup_lattice(x, crystal, &turned, r.lattices, e);
    if (!s) {
        const struct sampling_report report = sampling_check(
            x, r.lattices, deg_to_rad(o->osc_deg * o->exposed), orient_mosaic_rad(o), o->ripple);
        keep_finest(&report, finest);
    }
    recipe_free(&r);
    return s;
}

/* Stores what the crystals with the finest spots need in *finest.  The initial orientation of
 * a crystal is examined, as an example for all orientations. */
static enum status sample_all(const struct orient_options *o, const struct experiment *x,
                              struct sampling_report *finest, struct error *e)
{
    finest->spot_share_rad = finest->rocking_share_rad = INFINITY;
    enum status s = STATUS_OK;
    for (uint32_t i = 0; i < x->ncrystals && !s; i++)
        s = sample_crystal(o, x, i, finest, e);
    return s;
}

/* Width of the channels of a smooth spectrum, relative to the reflecting range of a spot: its
 * photons are then right to 1e-4, and its pixels to 1e-2. */
#define WIDE_STEP 0.77

/* Chooses the channels of a spectrum: the width of one is half of the rms width of a spot in
 * energy.  A wide band is smooth, so that its channels may be wider. */
static void choose_channels(const struct experiment *x, const struct sampling_report *r,
                            struct spectrum *s)
{
    if (s->kind == SPECTRUM_NONE)
        return;
    enum { USUALLY_AT_MOST = 200 };
    double low_eV, high_eV;
    const double mean_eV = m_to_ev(x->beam.wavelength_m);
    spectrum_range(s, mean_eV, &low_eV, &high_eV);
    const bool wide = spectrum_is_wide(s);
    const double width_eV =
        wide ? WIDE_STEP * r->widened_rad * low_eV : 0.2 * r->rocking_rad * mean_eV;
    const double needed = ceil((high_eV - low_eV) / width_eV);
    const int most = wide && closed_wanted(x) ? SPECTRUM_CHANNELS_MAX : USUALLY_AT_MOST;
    if (!s->channels)
        s->channels = (int64_t)fmin(fmax(needed, 1.0), most);
    if ((double)s->channels < needed)
        log_line(LOG_WARNING,
                 "sampling is too coarse: the spectrum from %.6g to %.6g eV has %" PRId64
                 " channels; expected at least %.0f. Increase --channels",
                 low_eV, high_eV, s->channels, needed);
    log_line(LOG_TELL, "spectra from %.6g to %.6g eV in %" PRId64 " channels", low_eV, high_eV,
             s->channels);
}

/* Does the work of --steps=auto: sets the numbers of phi steps and mosaic domains that were not
 * given, and raises the oversampling of *x. STATUS_USAGE: the steps need too many terms per
 * pixel. */
static enum status choose_steps(struct orient_options *o, struct experiment *x,
                                const struct sampling_report *r, int64_t channels, struct error *e)
{
    const double oversample = fmax(x->sampling.oversample, r->oversample);
    const double phi_steps = orient_given(o, "phi-steps") ? (double)o->phi_steps : r->phi_steps;
    const double domains =
        orient_given(o, "mosaic-domains") ? (double)o->mosaic_domains : r->domains;
    const double sources = (double)x->beam.nsources * fmax((double)channels, 1.0);
    const double terms = oversample * oversample * phi_steps * domains * sources;
    if (!(terms <= TERMS_MAX))
        return error_set(
            e, STATUS_USAGE,
            "--steps=auto: spots need %.0f x %.0f subpixels, %.0f phi steps and %.0f mosaic "
            "domains for each of %.0f sources, %.3g terms per pixel; expected at most %.0e. Use "
            "smaller blocks (bragg-geometry --ncells), which have wider spots",
            oversample, oversample, phi_steps, domains, sources, terms, TERMS_MAX);
    x->sampling.oversample = (int)oversample;
    if (o->osc_deg != 0) {
        o->phi_steps = (int64_t)phi_steps;
        orient_mark(o, "phi-steps");
    }
    if (orient_mosaic_rad(o) > 0) {
        o->mosaic_domains = (int64_t)domains;
        orient_mark(o, "mosaic-domains");
    }
    log_line(LOG_TELL,
             "%.0f x %.0f subpixels, %.0f phi steps, %.0f mosaic domains, %.0f sources: %.0f terms "
             "per pixel",
             oversample, oversample, phi_steps, domains, sources, terms);
    return STATUS_OK;
}

/* --- numbers of steps that are chosen by default --- */

/* A notice reports that chosen numbers make frames slow if frames take SLOWER times as long as with
 * --steps=given, and have more than NOTED_TERMS terms. */
#define SLOWER 10.0
#define NOTED_TERMS 1e8

/* Rms rotation about one axis of mosaic domains that fill a cap, divided by the half-width of
 * the cap. */
#define RMS_OF_CAP 0.496

/* Returns true if all crystals have the shape GAUSS. */
static bool is_gauss(const struct experiment *x)
{
    bool gauss = true;
    for (size_t i = 0; i < x->ncrystals; i++)
        gauss = gauss && shape_is_gaussian(x->crystals[i].shape);
    return gauss;
}

/* Writes the option that makes frames faster, and what the option changes, to `text`. */
void orient_propose_faster(const struct orient_options *o, const struct experiment *x,
                           char text[OUTLOOK_FASTER_SIZE])
{
    const bool gauss = is_gauss(x), mosaic = orient_mosaic_rad(o) > 0.0;
    char rms[120] = "";
    double limits_rad[2];
    if (vary_limits(o->population.varied, VARY_MOSAIC, limits_rad))
        (void)snprintf(rms, sizeof rms,
                       " --mosaic-rms=%.3g with bragg-orient --vary=mosaic-rms instead of "
                       "--vary=mosaic",
                       RMS_OF_CAP * rad_to_deg(limits_rad[0]));
    else if (mosaic)
        (void)snprintf(rms, sizeof rms, " --mosaic-rms=%.3g instead of bragg-orient --mosaic=%g",
                       RMS_OF_CAP * rad_to_deg(o->mosaic_rad), rad_to_deg(o->mosaic_rad));
    if (closed_wanted(x) || !closed_suits(x))
        (void)snprintf(text, OUTLOOK_FASTER_SIZE,
                       "bragg-intensity --engine=cuda is faster if there is an NVIDIA GPU. "
                       "bragg-geometry --roi is faster, because it computes a part of the pixels");
    else
        (void)snprintf(text, OUTLOOK_FASTER_SIZE,
                       "bragg-geometry %s--mosaic-model=gauss%s is much faster: %s%s%s",
                       gauss ? "" : "--shape=gauss ", rms,
                       gauss ? "" : "spots become Gaussian, without fringes",
                       gauss || !mosaic ? "" : ", and ",
                       mosaic  ? "domains become the mean over infinitely many"
                       : gauss ? "spots are computed in closed form, and add where they overlap"
                               : "");
}

/* Numbers of phi steps and mosaic domains. */
struct steps_counts {
    double phi, domains;
};

/* How the numbers that were not given are chosen. */
struct steps_plan {
    bool phi, domains;                   // which numbers are chosen
    struct steps_counts least;           // numbers with --steps=given
    struct steps_counts needed, chosen;  // numbers that are fine enough, and those that are used
    double terms;                        // of a frame, for one phi step and one domain
    double limit;                        // largest number of terms of a frame
};

/* Sets p->chosen to the smallest numbers that are fine enough, or to fewer if these need more terms
 * than the limit.  Neighbouring points are then as many times too far apart for phi steps as for
 * domains.  No number falls below that of p->least. */
static void fit_steps(struct steps_plan *p)
{
    const struct steps_counts least = p->least, needed = p->needed;
    const double most = p->limit / p->terms, excess = needed.phi * needed.domains / most;
    struct steps_counts n = needed;
    if (excess > 1.0) {
        if (p->phi && p->domains)
            n.phi = fmax(least.phi, floor(n.phi / cbrt(excess)));
        if (p->domains)
            n.domains = fmax(least.domains, fmin(needed.domains, floor(most / n.phi)));
        if (p->phi)
            n.phi = fmax(least.phi, fmin(needed.phi, floor(most / n.domains)));
    }
    p->chosen = n;
}

/* Returns the number of terms per pixel for one phi step and one domain. Each layer of a sensor
 * that is not smeared counts. */
static double terms_of_step(const struct experiment *x, int64_t channels)
{
    double layers = 1.0;
    for (size_t i = 0; i < x->npanels && !x->sampling.smears; i++)
        layers = fmax(layers, (double)x->panels[i].layers);
    return layers * x->sampling.oversample * x->sampling.oversample * (double)x->beam.nsources *
           fmax((double)channels, 1.0);
}

static struct steps_plan plan_steps(const struct orient_options *o, const struct experiment *x,
                                    const struct sampling_report *r, int64_t channels)
{
    const double pixels = (double)experiment_pixels(x), most = TERMS_MAX * pixels;
    struct steps_plan p = {.phi = o->osc_deg != 0 && !orient_given(o, "phi-steps"),
                           .domains =
                               orient_mosaic_rad(o) > 0 && !orient_given(o, "mosaic-domains"),
                           .least = {o->osc_deg != 0 ? (double)o->phi_steps : 1.0,
                                     orient_mosaic_rad(o) > 0 ? (double)o->mosaic_domains : 1.0},
                           .terms = terms_of_step(x, channels) * pixels,
                           .limit = closed_wanted(x) ? most : fmin(SLOW_TERMS, most)};
    p.needed = p.least;
    if (p.phi)
        p.needed.phi = fmax(p.least.phi, r->phi_steps);
    if (p.domains)
        p.needed.domains = fmax(p.least.domains, r->domains);
    fit_steps(&p);
    return p;
}

/* Returns true if the chosen numbers are not fine enough. */
static bool plan_is_coarse(const struct steps_plan *p)
{
    return p->chosen.phi < p->needed.phi || p->chosen.domains < p->needed.domains;
}

enum { STEPS_TEXT = 96 };

/* Writes the numbers that are chosen to `text`, in words or as options. */
static void name_steps(const struct steps_plan *p, struct steps_counts n, bool options,
                       char text[STEPS_TEXT])
{
    char phi[40] = "", domains[40] = "";
    if (p->phi)
        (void)snprintf(phi, sizeof phi, "%s%.0f%s", options ? "--phi-steps=" : "", n.phi,
                       options ? "" : " phi steps");
    if (p->domains)
        (void)snprintf(domains, sizeof domains, "%s%.0f%s", options ? "--mosaic-domains=" : "",
                       n.domains, options ? "" : " mosaic domains");
    const char *joint = !*phi || !*domains ? "" : options ? " " : " and ";
    (void)snprintf(text, STEPS_TEXT, "%s%s%s", phi, joint, domains);
}

/* Reports the chosen numbers: in a warning if they are not fine enough, in a notice if frames take
 * much longer than with --steps=given.  Returns true if the message names a faster option. */
static bool report_steps(const struct orient_options *o, const struct experiment *x,
                         const struct steps_plan *p)
{
    const double slower = p->chosen.phi * p->chosen.domains / (p->least.phi * p->least.domains),
                 terms = p->terms * p->chosen.phi * p->chosen.domains;
    char chosen[STEPS_TEXT], needed[STEPS_TEXT], least[STEPS_TEXT], faster[OUTLOOK_FASTER_SIZE];
    name_steps(p, p->chosen, false, chosen);
    name_steps(p, p->needed, true, needed);
    name_steps(p, p->least, false, least);
    orient_propose_faster(o, x, faster);
    const bool coarse = plan_is_coarse(p);
    const bool slow = slower >= SLOWER && terms > NOTED_TERMS && !closed_wanted(x);
    if (coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: smooth spots need %s (%.2g terms a frame); expected at "
                 "most %.2g terms. With the chosen %s, points are %.2g times too far apart and "
                 "spots are not smooth. %s",
                 needed, p->terms * p->needed.phi * p->needed.domains, p->limit, chosen,
                 fmax(p->needed.phi / p->chosen.phi, sqrt(p->needed.domains / p->chosen.domains)),
                 faster);
    else if (slow)
        log_line(LOG_NOTICE,
                 "smooth spots need %s. A frame takes about %.0f times as long as with "
                 "--steps=given (%s). %s",
                 chosen, slower, least, faster);
    else if (slower > 1.0)
        log_line(LOG_TELL, "smooth spots need %s", chosen);
    return coarse || slow;
}

/* Sets the numbers of phi steps and mosaic domains of *o that were not given, and marks those that
 * differ from the numbers with --steps=given. */
static void use_steps(struct orient_options *o, const struct steps_plan *p)
{
    if (p->chosen.phi > p->least.phi) {
        o->phi_steps = (int64_t)p->chosen.phi;
        orient_mark(o, "phi-steps");
    }
    if (p->chosen.domains > p->least.domains) {
        o->mosaic_domains = (int64_t)p->chosen.domains;
        orient_mark(o, "mosaic-domains");
    }
}

/* Proposes a faster option if a frame with one lattice of each crystal has too many terms.  Returns
 * true if it does. */
static bool warn_slow(const struct orient_options *o, const struct experiment *x,
                      const struct spectrum *spectrum)
{
    char faster[OUTLOOK_FASTER_SIZE];
    const double pixels = (double)experiment_pixels(x), edge = x->sampling.oversample,
                 sources = (double)x->beam.nsources * fmax((double)spectrum->channels, 1.0),
                 steps = (o->osc_deg != 0 ? (double)o->phi_steps : 1.0) *
                         (orient_mosaic_rad(o) > 0.0 ? (double)o->mosaic_domains : 1.0),
                 terms = edge * edge * sources * steps;
    if (closed_wanted(x) || !closed_suits(x) || !(terms * pixels > SLOW_TERMS))
        return false;
    orient_propose_faster(o, x, faster);
    log_line(LOG_NOTICE, "%.0f terms for each of %.3g million pixels. %s", terms, pixels / 1e6,
             faster);
    return true;
}

/* Prints the number of frames, the rotation and the width of spots. */
static void report_spots(const struct orient_options *o, const struct id_set *only,
                         const struct experiment *x, double spot_rad)
{
    char turned[60] = "", crystals[40] = "", part[40] = "";
    const uint64_t frames = id_set_size(only) ? id_set_size(only) : (uint64_t)o->frames;
    const bool alike = !o->random && !o->orientations && !o->scan && !o->runs && frames > 1;
    if (o->osc_deg != 0)
        (void)snprintf(turned, sizeof turned, " of %g deg", o->osc_deg * o->exposed);
    else if (alike)
        (void)snprintf(turned, sizeof turned, " of one orientation (for many: --random or --osc)");
    if (x->ncrystals > 1)
        (void)snprintf(crystals, sizeof crystals, ", %zu crystals", x->ncrystals);
    if (only->count)
        (void)snprintf(part, sizeof part, "%" PRIu64 " of ", frames);
    log_line(LOG_TELL, "%s%" PRId64 " frame%s%s%s, spots %.3g deg wide", part, o->frames,
             o->frames == 1 ? "" : "s", turned, crystals, rad_to_deg(spot_rad));
}

/* Sets the phi steps and mosaic domains of *all that were not given, unless --steps=given or the
 * mode is faithful. With --steps=auto raises the oversampling of *x to what the spots need, too.
 * Sets the channels of its spectrum if they were not given. Prints a warning for everything that is
 * still too coarse. STATUS_USAGE: --steps=auto needs more than a million terms per pixel. Other
 * errors are those of setup_lattice. */
static enum status orient_sampling(struct orient *all, struct experiment *x, struct error *e)
{
    struct orient_options *o = &all->options;
    struct spectrum *spectrum = &all->pulse.spectrum;
    struct sampling_report finest = {0};
    enum status s = sample_all(o, x, &finest, e);
    if (s)
        return s;
    choose_channels(x, &finest, spectrum);
    struct steps_plan plan = {0};
    if (!orient_given(o, "steps") && x->physics == PHYSICS_PHYSICAL) {
        plan = plan_steps(o, x, &finest, spectrum->channels);
        all->advised = report_steps(o, x, &plan);
        use_steps(o, &plan);
    }
    const bool chosen = o->steps == STEPS_AUTO || plan.phi || plan.domains;
    if ((o->steps == STEPS_AUTO && (s = choose_steps(o, x, &finest, spectrum->channels, e))) ||
        (chosen && (s = sample_all(o, x, &finest, e))))
        return s;
    finest.phi_coarse = finest.phi_coarse && !plan.phi;  // report_steps has warned
    finest.domains_coarse = finest.domains_coarse && !plan.domains;
    warn_coarse(o, &finest);
    all->advised = all->advised || warn_slow(o, x, spectrum);
    report_spots(o, &all->only, x, finest.spot_rad);
    return STATUS_OK;
}

/* Refuses more channels than the dense sum over terms is good for. */
static enum status check_channels(const struct spectrum *s, const struct experiment *x,
                                  struct error *e)
{
    return s->channels <= SPECTRUM_CHANNELS_DENSE || closed_wanted(x)
               ? STATUS_OK
               : error_set(e, STATUS_USAGE,
                           "--channels=%" PRId64
                           " is out of range; expected at most %d. More need bragg-geometry "
                           "--mosaic-model=gauss, which computes spots in closed form",
                           s->channels, SPECTRUM_CHANNELS_DENSE);
}

/* Gives a spectrum that all frames have to the beam.  Reports where its mean is, if that is not
 * the energy of the beam, which headers name. */
static void give_spectrum(struct spectrum *s, struct beam *beam)
{
    static const double NEAR = 0.02;
    double energy_eV = 0.0, weights = 0.0;
    spectrum_fix(s, beam);
    for (size_t i = 0; i < beam->nsources; i++) {
        energy_eV += beam->sources[i].weight * m_to_ev(beam->sources[i].wavelength_m);
        weights += beam->sources[i].weight;
    }
    energy_eV /= weights;
    if (fabs(energy_eV / m_to_ev(beam->wavelength_m) - 1.0) > NEAR)
        log_line(LOG_NOTICE,
                 "the spectrum has a mean of %.6g eV, but files name the energy of the beam, %.6g "
                 "eV. Use bragg-geometry --energy=%.5g for both to agree",
                 energy_eV, m_to_ev(beam->wavelength_m), energy_eV);
    s->kind = SPECTRUM_NONE;
}

/* Warns about what is wrong in a wide band: anomalous scattering factors of one energy, and a
 * detector that adds up energies but counts each photon as one. */
static void warn_wide(const struct spectrum *s, const struct experiment *x)
{
    static const double NARROW = 0.02;
    const struct incident b = incident_beam(x, &(struct recipe){0});
    const bool listed = s->kind == SPECTRUM_NONE;
    double low_eV = m_to_ev(b.longest_m), high_eV = m_to_ev(b.shortest_m);
    if (!listed)
        spectrum_range(s, m_to_ev(x->beam.wavelength_m), &low_eV, &high_eV);
    if (x->has_probe || !(high_eV > low_eV * (1.0 + NARROW)))
        return;
    if (strstr(x->history, "\tanomalous="))
        log_line(LOG_WARNING,
                 "%s from %.6g to %.6g eV, but bragg-geometry --anomalous has the "
                 "scattering factors of one energy: differences of Friedel mates are wrong",
                 listed ? "the sources of the beam reach" : "--spectrum reaches", low_eV, high_eV);
    if (strstr(x->history, "--detector=") && !x->counts_photons && !x->beam.adds_energy &&
        !strstr(x->history, "\tsignal="))
        log_line(LOG_WARNING,
                 "the beam reaches from %.6g to %.6g eV, and each photon has the same signal, but "
                 "this detector adds up energies. Give bragg-geometry --signal=energy, or "
                 "--signal=count without this warning",
                 low_eV, high_eV);
}

/* Warns if subpixels are too coarse only where the detector is nearest or the energy is highest.
 * Errors are those of setup_lattice. */
static enum status warn_extreme(const struct orient *o, const struct experiment *x, struct error *e)
{
    struct sampling_report usual = {0}, extreme = {0};
    struct experiment seen;
    enum status s = STATUS_OK;
    experiment_view_true(&seen, x);
    if (orient_vary_extreme(o, &seen)) {
        s = sample_all(&o->options, x, &usual, e);
        s = s ? s : sample_all(&o->options, &seen, &extreme, e);
    }
    if (!s && extreme.pixels_coarse && !usual.pixels_coarse)
        log_line(LOG_WARNING,
                 "--vary: at the smallest distance and the highest energy, subpixels are %.3g deg "
                 "wide, spots %.3g deg; expected at most %.3g deg. Use bragg-geometry "
                 "--oversample=%.0f or more",
                 rad_to_deg(extreme.subpixel_rad), rad_to_deg(extreme.spot_rad),
                 rad_to_deg(extreme.spot_share_rad), extreme.oversample);
    experiment_view_close(&seen);
    return s;
}

/* Does what orient_sampling and shift_check do, for the detector as photons find it. */
enum status orient_check_detector(struct orient *o, struct experiment *x, struct error *e)
{
    struct experiment seen;
    experiment_view_true(&seen, x);
    enum status s = o->pulse.spectrum.kind == SPECTRUM_NONE
                        ? STATUS_OK
                        : spectrum_check(&o->pulse.spectrum, m_to_ev(x->beam.wavelength_m), e);
    s = s ? s : orient_sampling(o, &seen, e);
    x->sampling.oversample = seen.sampling.oversample;
    if (!s)
        warn_wide(&o->pulse.spectrum, x);
    s = s ? s : check_channels(&o->pulse.spectrum, x, e);
    s = s ? s : pulse_check(&o->pulse, &x->beam, e);
    if (!s && spectrum_is_wide(&o->pulse.spectrum) && !o->runs.nlines)
        give_spectrum(&o->pulse.spectrum, &x->beam);
    s = s ? s : shift_check(&o->shift, x, e);
    if (!s && x->is_misaligned)
        s = shift_check(&o->shift, &seen, e);
    experiment_view_close(&seen);
    return s ? s : warn_extreme(o, x, e);
}
