/* Sampling of the spots: chooses steps and channels, and warns if there are too few. */
#include "orient_sampling.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "physics/crystal/sampling.h"
#include "physics/setup.h"

/* Largest number of terms per pixel that --steps=auto chooses. */
#define TERMS_MAX 1e6

/* Prints a warning for each kind of steps that is too coarse. */
static void warn(const struct sampling_report *r)
{
    const double spot = rad_to_deg(r->spot_rad), rocking = rad_to_deg(r->rocking_rad);
    if (r->pixels_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: subpixels are %.3g deg wide, spots %.3g deg; expected at "
                 "most %.3g deg. Use bragg-geometry --oversample=%.0f or more",
                 rad_to_deg(r->subpixel_rad), spot, rad_to_deg(r->spot_share_rad), r->oversample);
    if (r->layers_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: slanted rays leave photons of neighbouring sensor layers "
                 "%.3g pixels apart. Use bragg-geometry --layers=%.0f or more",
                 r->layer_px, r->layers);
    if (r->phi_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: phi steps are %.3g deg apart, spots %.3g deg wide; "
                 "expected at most %.3g deg. Use --phi-steps=%.0f or more",
                 rad_to_deg(r->phi_step_rad), rocking, rad_to_deg(r->rocking_share_rad),
                 r->phi_steps);
    if (r->domains_coarse)
        log_line(LOG_WARNING,
                 "sampling is too coarse: mosaic domains are %.3g deg apart, spots %.3g deg wide; "
                 "expected at most %.3g deg. Use --mosaic-domains=%.0f or more",
                 rad_to_deg(r->domain_rad), rocking, rad_to_deg(r->rocking_share_rad), r->domains);
}

/* Examines the sampling of a crystal, and stores the report in *finest if its spots need closer
 * points than those of *finest. */
static enum status sample_crystal(const struct orient_options *o, const struct experiment *x,
                                  uint32_t crystal, struct sampling_report *finest, struct error *e)
{
    const struct orientation_request turned = orient_request(o, 0);
    struct recipe r = {.lattices = mem_array(1, sizeof(struct lattice)), .nlattices = 1};
    if (!r.lattices)
        return error_memory(e, "a lattice");
    const enum status s = setup_lattice(x, crystal, &turned, r.lattices, e);
    if (!s) {
        const struct sampling_report report =
            sampling_check(x, r.lattices, deg_to_rad(o->osc_deg), o->mosaic_rad, o->ripple);
        if (report.spot_share_rad < finest->spot_share_rad)
            *finest = report;
    }
    recipe_free(&r);
    return s;
}

/* Stores the report of the crystal with the finest spots in *finest.  Its initial orientation is
 * examined, as an example for all orientations. */
static enum status sample_all(const struct orient_options *o, const struct experiment *x,
                              struct sampling_report *finest, struct error *e)
{
    finest->spot_share_rad = INFINITY;
    enum status s = STATUS_OK;
    for (uint32_t i = 0; i < x->ncrystals && !s; i++)
        s = sample_crystal(o, x, i, finest, e);
    return s;
}

/* Chooses the channels of a spectrum: the width of one is half of the rms width of a spot in
 * energy. */
static void choose_channels(const struct experiment *x, const struct sampling_report *r,
                            struct spectrum *s)
{
    if (s->kind == SPECTRUM_NONE)
        return;
    enum { USUALLY_AT_MOST = 200 };
    double low_eV, high_eV;
    const double mean_eV = m_to_ev(x->beam.wavelength_m);
    spectrum_range(s, mean_eV, &low_eV, &high_eV);
    const double needed = ceil((high_eV - low_eV) / (0.2 * r->rocking_rad * mean_eV));
    if (!s->channels)
        s->channels = (int64_t)fmin(fmax(needed, 1.0), USUALLY_AT_MOST);
    if ((double)s->channels < needed)
        log_line(LOG_WARNING,
                 "sampling is too coarse: the spectrum from %.6g to %.6g eV has %" PRId64
                 " channels; expected at least %.0f. Increase --channels",
                 low_eV, high_eV, s->channels, needed);
    log_line(LOG_TELL, "spectra from %.6g to %.6g eV in %" PRId64 " channels", low_eV, high_eV,
             s->channels);
}

/* --steps=auto: sets the numbers that were not given, and raises the oversampling of *x. */
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
    if (o->mosaic_rad > 0) {
        o->mosaic_domains = (int64_t)domains;
        orient_mark(o, "mosaic-domains");
    }
    log_line(LOG_TELL,
             "%.0f x %.0f subpixels, %.0f phi steps, %.0f mosaic domains, %.0f sources: %.0f terms "
             "per pixel",
             oversample, oversample, phi_steps, domains, sources, terms);
    return STATUS_OK;
}

/* Prints number of frames, rotation and width of spots. */
static void tell(const struct orient_options *o, const struct experiment *x, double spot_rad)
{
    char turned[60] = "", crystals[40] = "";
    const bool alike = !o->random && !o->orientations && !o->scan && !o->runs && o->frames > 1;
    if (o->osc_deg != 0)
        (void)snprintf(turned, sizeof turned, " of %g deg", o->osc_deg);
    else if (alike)
        (void)snprintf(turned, sizeof turned, " of one orientation (for many: --random or --osc)");
    if (x->ncrystals > 1)
        (void)snprintf(crystals, sizeof crystals, ", %zu crystals", x->ncrystals);
    log_line(LOG_TELL, "%" PRId64 " frame%s%s%s, spots %.3g deg wide", o->frames,
             o->frames == 1 ? "" : "s", turned, crystals, rad_to_deg(spot_rad));
}

enum status orient_sampling(struct orient_options *o, struct experiment *x,
                            struct spectrum *spectrum, struct error *e)
{
    struct sampling_report finest = {0};
    enum status s = sample_all(o, x, &finest, e);
    if (s)
        return s;
    choose_channels(x, &finest, spectrum);
    if (o->steps == STEPS_AUTO && ((s = choose_steps(o, x, &finest, spectrum->channels, e)) ||
                                   (s = sample_all(o, x, &finest, e))))
        return s;
    warn(&finest);
    tell(o, x, finest.spot_rad);
    return STATUS_OK;
}
