/* Warnings of bragg-geometry about values that are possible but probably a mistake. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "geometry_options.h"
#include "stages/shared/unit_warning.h"

/* Usual wavelengths, in A: from electrons of a few MeV to the softest X-rays that are used with
 * crystals.  A wavelength above twice the largest d spacing gives no reflections. */
#define SHORTEST_A 0.002
#define LONGEST_A 50.0

/* The largest d spacing in A: the maximum of 1/|h a* + k b* + l c*| for indices from -1 to 1. */
static double widest_spacing_A(const struct crystal *c)
{
    double shortest = INFINITY;
    for (int i = 1; i < 27; i++) {
        const int hkl[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        double sum[3] = {0.0, 0.0, 0.0};
        for (int k = 0; k < 9; k++)
            sum[k % 3] += hkl[k / 3] * c->reciprocal_A[k];
        if (hkl[0] || hkl[1] || hkl[2])
            shortest = fmin(shortest, vec_length(sum));
    }
    return 1.0 / shortest;
}

static void warn_wavelength(const struct geometry_options *o, const struct experiment *x)
{
    const double wave_A = m_to_angstrom(x->beam.wavelength_m), eV = m_to_ev(x->beam.wavelength_m);
    double widest_A = 0.0;
    for (size_t i = 0; i < x->ncrystals; i++)
        widest_A = fmax(widest_A, widest_spacing_A(&x->crystals[i]));
    const bool none = wave_A > 2.0 * widest_A;
    if (!none && wave_A >= SHORTEST_A && wave_A <= LONGEST_A)
        return;
    char what[96], why[96] = "is unusual", meant[96] = "";
    if (geometry_given(o, "energy"))
        (void)snprintf(what, sizeof what, "--energy=%g (%.4g A)", eV, wave_A);
    else if (geometry_given(o, "wavelength"))
        (void)snprintf(what, sizeof what, "--wavelength=%g (%.4g eV)", wave_A, eV);
    else
        (void)snprintf(what, sizeof what, "the wavelength of %.4g A (%.4g eV)", wave_A, eV);
    if (none)
        (void)snprintf(why, sizeof why, "gives no reflections: the largest d spacing is %.4g A",
                       widest_A);
    if (geometry_given(o, "energy") && wave_A > SHORTEST_A)
        (void)snprintf(meant, sizeof meant, ". Did you mean --energy=%g (%g keV)?", eV * 1000.0,
                       eV);
    else if (wave_A > LONGEST_A)
        (void)snprintf(meant, sizeof meant, ". Did you mean --wavelength=%g (%g pm)?",
                       wave_A / 100.0, wave_A);
    log_line(LOG_WARNING, "%s %s%s", what, why, meant);
}

/* A beam centre in pixels instead of mm is far outside the detector. */
static void warn_beam_center(const struct geometry_options *o, const struct detector_request *d)
{
    double edge_mm[2], at[2];
    for (int i = 0; i < 2; i++) {
        at[i] = m_to_mm(d->beam_m[i]);
        edge_mm[i] = m_to_mm(d->pixels[i] ? (double)d->pixels[i] * d->pixel_m : d->size_m[i]);
    }
    const double longest = fmax(edge_mm[0], edge_mm[1]), most = fmax(at[0], at[1]);
    if (geometry_given(o, "beam-center") && fmin(at[0], at[1]) >= 0.0 && most > longest &&
        most * m_to_mm(d->pixel_m) <= longest)
        log_line(LOG_WARNING,
                 "--beam-center=%g,%g mm is outside the detector (%g x %g mm). If you meant "
                 "pixels, give --beam-center=%g,%g",
                 at[0], at[1], edge_mm[0], edge_mm[1], at[0] * m_to_mm(d->pixel_m),
                 at[1] * m_to_mm(d->pixel_m));
}

/* The default beam is only 0.3 um wide, which a user who gives a crystal size may not expect. */
static void warn_clipping(const struct geometry_options *o, const struct request *r,
                          const struct beam *beam)
{
    double widest_m = 0.0;
    for (size_t i = 0; i < r->ncrystals; i++)
        widest_m = fmax(widest_m, fmax(r->crystals[i].size_m[1], r->crystals[i].size_m[2]));
    if (!geometry_given(o, "beam-size") && beam->size_m < widest_m)
        log_line(LOG_WARNING,
                 "the beam (%g mm) illuminates only part of the crystal (%g mm). Check --beam-size "
                 "and --crystal-size",
                 m_to_mm(beam->size_m), m_to_mm(widest_m));
}

/* A user who gives the size of a crystal rarely means one perfect block. */
static void warn_block(const struct geometry_options *o, const struct experiment *x)
{
    for (const struct crystal *c = x->crystals; c < x->crystals + x->ncrystals; c++)
        if (c->has_size && !c->has_blocks && !o->request.oversample && x->sampling.oversample > 10)
            log_line(LOG_WARNING,
                     "--crystal-size=%g mm as one block of %g x %g x %g cells needs %d subpixels "
                     "per pixel edge. Give --ncells=30 for mosaic blocks of 30 cells",
                     m_to_mm(c->size_m[0]), c->cells[0], c->cells[1], c->cells[2],
                     x->sampling.oversample);
}

/* The closed form is a first-order approximation: a rotation moves a spot along a straight line. */
static void warn_ensemble(const struct experiment *x)
{
    for (const struct crystal *c = x->crystals; c < x->crystals + x->ncrystals; c++)
        for (int k = 0; k < 3; k++)
            if (c->mosaic_rms_rad[k] > deg_to_rad(0.3)) {
                log_line(LOG_WARNING,
                         "--mosaic-rms=%g deg: the tails of spots are wrong above 0.3 deg. Use "
                         "bragg-orient --mosaic instead",
                         rad_to_deg(c->mosaic_rms_rad[k]));
                break;
            }
}

/* Width in m of the spot of one source on panel 0: the largest of pixel, diffraction and size of
 * the crystal. */
static double spot_width_m(const struct experiment *x)
{
    const struct panel *p = &x->panels[0];
    double width_m = p->pixel_m;
    for (size_t i = 0; i < x->ncrystals; i++)
        for (int k = 0; k < 3; k++) {
            const struct crystal *c = &x->crystals[i];
            const double edge_m = angstrom_to_m(c->cell_A[k]) * c->cells[k];
            width_m = fmax(width_m, x->beam.wavelength_m * p->distance_m / edge_m);
            width_m = fmax(width_m, c->has_size ? c->size_m[k] : 0.0);
        }
    return width_m;
}

/* Each step of the divergence makes its own copy of a spot. */
static void warn_divergence(const char *option, double range_rad, double steps,
                            const struct experiment *x)
{
    const struct panel *p = &x->panels[0];
    const double whole_m = range_rad * p->distance_m, width_m = spot_width_m(x);
    const double count = fmax(steps, 2.0), gap_m = whole_m / (count - 1.0);
    if (gap_m > 1.5 * width_m)
        log_line(LOG_WARNING,
                 "--%s: %g steps make separate copies of a spot, %.3g pixels apart. Give "
                 "--%s-steps=%.0f or more",
                 option, count, gap_m / p->pixel_m, option, ceil(whole_m / width_m) + 1.0);
}

static void warn_divergences(const struct geometry_options *o, const struct experiment *x)
{
    const struct beam_request *b = &o->request.beam;
    const struct {
        const char *option;
        const struct steps_request *steps;
    } all[] = {{"divergence", &o->divergence},
               {"divergence-h", &b->horizontal},
               {"divergence-v", &b->vertical}};
    for (int i = 0; i < 3 && x->physics == PHYSICS_PHYSICAL; i++)
        if (geometry_given(o, all[i].option))
            warn_divergence(all[i].option, all[i].steps->range, (double)all[i].steps->count, x);
}

static void warn_lengths(const struct geometry_options *o, const struct experiment *x)
{
    static const struct usual distance = {"distance", "mm", 1, 5e4, "m", 1e3, "um", 1e-3},
                              close = {"close-distance", "mm", 1, 5e4, "m", 1e3, "um", 1e-3},
                              pixel = {"pixel", "mm", 3e-4, 5, "m", 1e3, "um", 1e-3},
                              thickness = {"thickness", "um", 1, 2e4, "mm", 1e3, "nm", 1e-3},
                              beam = {"beam-size", "mm", 1e-6, 2, "m", 1e3, "um", 1e-3},
                              cell = {"cell", "A", 1.5, 2e4, "nm", 10, "pm", 0.01};
    const struct detector_request *d = &o->request.detector;
    const struct {
        const struct usual *usual;
        double typed;
    } all[] = {{&distance, m_to_mm(d->distance_m)},
               {&close, m_to_mm(d->close_distance_m)},
               {&pixel, m_to_mm(d->pixel_m)},
               {&thickness, from_si(SI_UM, d->thickness.range)},
               {&beam, m_to_mm(o->request.beam.size_m)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (geometry_given(o, all[i].usual->option) && all[i].typed != 0)
            warn_unusual(all[i].usual, all[i].typed);
    for (size_t i = 0; i < x->ncrystals; i++) {
        const double *edge_A = x->crystals[i].cell_A;
        const double low = fmin(edge_A[0], fmin(edge_A[1], edge_A[2]));
        const double high = fmax(edge_A[0], fmax(edge_A[1], edge_A[2]));
        if (low > 0.0)  // faithful mode with a matrix has no cell
            warn_unusual(&cell, low < cell.min ? low : high);
    }
}

void geometry_warn(const struct geometry_options *o, const struct request *r,
                   const struct experiment *x)
{
    warn_wavelength(o, x);
    warn_lengths(o, x);
    warn_radians("rotate", o->request.detector.rotation_rad, 3);
    warn_radians("twotheta", &o->request.detector.twotheta_rad, 1);
    warn_beam_center(o, &r->detector);
    warn_clipping(o, r, &x->beam);
    warn_block(o, x);
    warn_ensemble(x);
    warn_divergences(o, x);
}
