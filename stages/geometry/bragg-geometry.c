/*
 * bragg-geometry: the first program of a pipeline.  It makes the experiment (detector, beam,
 * crystals, structure factors) from options and files, sends it to the next stage, and ends.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/crystal/diffuse.h"
#include "geometry.h"
#include "io/beam/nanobragg_text.h"
#include "io/crystfel/geom.h"
#include "io/images/smv.h"
#include "io/output/output_file.h"
#include "io/structure_factors/hkl.h"
#include "physics/detector/detector.h"
#include "physics/detector/smear.h"
#include "physics/setup.h"
#include "stage/stage.h"

/* --- warnings about values that are possible but probably a mistake ----------- */

/* Limits of the usual wavelengths, in A: from electrons of a few MeV to the softest X-rays that
 * are used with crystals. A wavelength above twice the largest d spacing gives no reflections. */
#define SHORTEST_A 0.002
#define LONGEST_A 50.0

/* Returns the largest d spacing of a crystal in A: the maximum of 1/|h a* + k b* + l c*| for
 * indices from -1 to 1. */
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
        (void)snprintf(what, sizeof what, "--wavelength=%g (%.4g eV)", wave_A,
                       probe_energy_eV(x->probe, x->beam.wavelength_m));
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

/* Warns if --beam-center is outside the detector, but would be inside if its numbers were pixels
 * instead of mm. */
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

/* Warns if the default beam is narrower than a crystal. The default beam is only 0.3 um wide,
 * which a user who gives a crystal size may not expect. */
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

/* Warns if a crystal with a size is a single perfect block that needs more than 10 subpixels per
 * pixel edge. A user who gives the size of a crystal rarely means such a block. */
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

/* Warns if --mosaic-rms is too large for the closed form, which is a first-order approximation:
 * a rotation moves a spot along a straight line. */
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

/* Returns the width, in m, of the spot of one source on panel 0: the largest of pixel size,
 * width by diffraction, and size of the crystal. */
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

/* Warns if the steps of the divergence are so few that the copies of a spot, one per step, are
 * separate. */
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

/* Prints warnings about values that are possible but probably a mistake, in the order of the
 * options. */
static void geometry_warn(const struct geometry_options *o, const struct request *r,
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

struct geometry {
    struct geometry_options options;
    struct experiment experiment;   // made in `open`; `begin` passes it to the runtime
    struct geometry_places places;  // of --misalign
};

/* Reads --mask into r->detector.mask (0: masked, 1: computed), which the caller frees with
 * mem_free, and *smv, which the caller frees with smv_free. If no option gives the size of the
 * detector, the detector gets the size of the mask. */
static enum status geometry_read_mask(const struct geometry_options *o, struct request *r,
                                      struct smv *smv, struct error *e)
{
    enum status s = smv_read(o->mask, true, smv, e);
    if (s || (s = smv_mask(smv, &r->detector.mask, e)))
        return s;
    if (!geometry_given(o, "detpixels|detsize")) {
        r->detector.pixels[0] = smv->fast_pixels;
        r->detector.pixels[1] = smv->slow_pixels;
    }
    return STATUS_OK;
}

/* Reads --source-file into r->beam.listed, which the caller frees with mem_free. */
static enum status geometry_read_sources(const struct geometry_options *o, struct request *r,
                                         struct error *e)
{
    struct frame_axes axes;
    enum status s = detector_axes(r, &axes, e);
    if (!s)
        s = sources_read(o->source_file, r->physics, axes.beam, r->beam.wavelength_m,
                         &r->beam.listed, &r->beam.nlisted, e);
    bool equal = true;
    for (size_t i = 1; !s && i < r->beam.nlisted; i++)
        equal = equal && r->beam.listed[i].weight == r->beam.listed[0].weight;
    if (!equal && r->beam.weights != WEIGHTS_APPLY)
        log_line(LOG_WARNING,
                 "%s: the weights differ but are not used, so all sources have the same intensity. "
                 "Give --weights=apply",
                 o->source_file);
    return s;
}

/* Fills r->crystals from the options of each crystal in `list`.  The caller frees r->crystals. */
static enum status request_crystals(const struct crystal_options *list, struct request *r,
                                    struct error *e)
{
    if (r->physics == PHYSICS_FAITHFUL && r->ncrystals > 1)
        return error_set(
            e, STATUS_USAGE,
            "--physics=faithful allows one crystal (got %zu of --crystal). Use --physics=physical",
            r->ncrystals);
    r->crystals = mem_array(r->ncrystals, sizeof *r->crystals);
    enum status s = STATUS_OK;
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = geometry_crystal(&list[i].options, &r->crystals[i], e);
    return s;
}

/* Makes detector and beam of *x, and reads the files that they need.  *mask gets the size of the
 * mask; the caller frees it. */
static enum status make_laboratory(const struct geometry_options *o, struct request *r,
                                   struct smv *mask, struct experiment *x, struct error *e)
{
    enum status s = STATUS_OK;
    if (o->mask)
        s = geometry_read_mask(o, r, mask, e);
    if (!s && o->source_file)
        s = geometry_read_sources(o, r, e);
    if (!s)
        return setup_laboratory(r, x, e);
    mem_free(r->detector.mask);
    return s;
}

/* Checks the values of a mask. Warns if more than half of the pixels are masked, because masks
 * of other programs may have 0 for good pixels. STATUS_INPUT: all pixels are masked. */
static enum status check_mask_values(const char *path, const struct smv *mask, struct error *e)
{
    const size_t count = (size_t)(mask->fast_pixels * mask->slow_pixels);
    size_t computed = 0;
    for (size_t i = 0; i < count; i++)
        computed += mask->pixels[i] != 0;
    if (!computed)
        return error_set(e, STATUS_INPUT,
                         "%s: all pixels are 0; expected another value in pixels that are computed",
                         path);
    if (computed < count - computed)
        log_line(LOG_WARNING,
                 "%s: %zu of %zu pixels are 0 and are not computed. In an SMV mask 0 means bad",
                 path, count - computed, count);
    return STATUS_OK;
}

/* Checks the mask. STATUS_INPUT: the mask does not have the size of the panel, or all pixels are
 * masked. */
static enum status check_mask(const struct geometry_options *o, const struct smv *mask,
                              const struct panel *p, struct error *e)
{
    if (!o->mask)
        return STATUS_OK;
    if (mask->fast_pixels != p->fast_pixels || mask->slow_pixels != p->slow_pixels)
        return error_set(e, STATUS_INPUT,
                         "%s: the mask has %" PRId64 " x %" PRId64 " pixels; expected %" PRId64
                         " x %" PRId64 ", as the detector has",
                         o->mask, mask->fast_pixels, mask->slow_pixels, p->fast_pixels,
                         p->slow_pixels);
    const enum status s = smv_compare_pixel(o->mask, smv_pixel_m(mask), p->pixel_m, e);
    return s ? s : check_mask_values(o->mask, mask, e);
}

/* Checks the masks that a detector file gives. Warns if the file masks more than half of all
 * pixels, because the values of its mask may be inverted. STATUS_INPUT: the file masks all
 * pixels. */
static enum status check_masks(const struct geometry_options *o, const struct experiment *x,
                               struct error *e)
{
    size_t masked = 0, count = 0;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++) {
        const size_t pixels = (size_t)(p->fast_pixels * p->slow_pixels);
        count += pixels;
        for (size_t i = 0; i < pixels && p->mask; i++)
            masked += !p->mask[i];
    }
    if (o->mask || masked <= count - masked)
        return STATUS_OK;
    const char *file = o->detector ? o->detector : o->geom ? o->geom : o->expt ? o->expt : "mask";
    if (masked == count)
        return error_set(e, STATUS_INPUT,
                         "%s: all pixels are masked; expected a mask that leaves pixels", file);
    log_line(LOG_WARNING, "%s: %zu of %zu pixels are masked and are not computed", file, masked,
             count);
    return STATUS_OK;
}

/* Prints how a thick sensor is computed, and why it is not smeared. */
static void tell_sensor(const struct geometry_options *o, const struct experiment *x)
{
    const struct panel *p = x->panels;
    for (size_t i = 1; i < x->npanels; i++)
        p = x->panels[i].layers > p->layers ? &x->panels[i] : p;
    if (x->sampling.smears && p->layers > 1)
        log_line(LOG_INFO, "sensor smeared (%d layers where a frame cannot be)", p->layers);
    else if (x->sampling.smears)
        log_line(LOG_INFO, "sensor smeared");
    else if (p->layers > 1 && o->sensor > 0)
        log_line(LOG_INFO, "sensor in %d layers", p->layers);
    else if (p->layers > 1) {
        const char *why = smear_obstacle(&o->request.detector, 1.0, x);
        /* Only smear_choose has the number of subpixels that spots need.  They are too few if
         * nothing else prevents the smear. */
        log_line(LOG_INFO, "sensor in %d layers, because %s", p->layers,
                 why ? why : "spots have less than three subpixels");
    }
}

/* Prints the name and the cell of a crystal, and the space group of the built-in lysozyme. The
 * built-in lysozyme does not have the tetragonal form that most people expect. */
static void tell_cell(const struct crystal *c)
{
    const double *a = c->cell_A, *angle = c->cell_rad;
    const bool ships = strcmp(c->name, "lysozyme") == 0 && lysozyme_has_edges(a);
    if (a[0] > 0.0)  // faithful mode with a matrix has no cell
        log_line(LOG_TELL, "crystal%s%s%s, cell %.6g %.6g %.6g A, %.5g %.5g %.5g deg",
                 *c->name ? " " : "", c->name, ships ? " (orthorhombic, P 21 21 21)" : "", a[0],
                 a[1], a[2], rad_to_deg(angle[0]), rad_to_deg(angle[1]), rad_to_deg(angle[2]));
}

/* Writes the energy of the beam to text[size], such as "12.4 keV" or "electrons of 200 kV". */
static void describe_energy(const struct experiment *x, char *text, size_t size)
{
    const double eV = probe_energy_eV(x->probe, x->beam.wavelength_m);
    if (x->probe == PROBE_NEUTRON)
        (void)snprintf(text, size, "neutrons of %.4g meV", eV * 1000);
    else if (x->probe == PROBE_ELECTRON)
        (void)snprintf(text, size, "electrons of %.4g kV", eV / 1000);
    else
        (void)snprintf(text, size, "%.4g keV", eV / 1000);
}

enum { CRYSTALS_TOLD = 4 };  // maximum number of crystals that are printed one by one

/* Prints the experiment: a line about the detector, one for each of the first crystals, and details
 * with --verbose. */
static void summarize(const struct geometry_options *o, const struct experiment *x)
{
    const struct panel *p = &x->panels[0];
    double edge_A, corner_A;
    char panels[32] = "", energy[48];
    if (x->npanels > 1)
        (void)snprintf(panels, sizeof panels, "%zu panels of ", x->npanels);
    geometry_resolution(x, &edge_A, &corner_A);
    describe_energy(x, energy, sizeof energy);
    log_line(LOG_TELL,
             "%s%" PRId64 " x %" PRId64
             " pixels of %g mm at %g mm, %s (%.4g A), %.3g A at the edge, %.3g A in the corner",
             panels, p->fast_pixels, p->slow_pixels, m_to_mm(p->pixel_m), m_to_mm(p->distance_m),
             energy, m_to_angstrom(x->beam.wavelength_m), edge_A, corner_A);
    for (size_t i = 0; i < x->ncrystals && i < CRYSTALS_TOLD; i++)
        tell_cell(&x->crystals[i]);
    log_line(LOG_INFO, "%zu source%s, %g %s/m^2", x->beam.nsources,
             x->beam.nsources == 1 ? "" : "s", x->beam.fluence_ph_m2,
             x->has_probe ? probe_particles(x->probe) : "photons");
    for (const struct crystal *c = x->crystals; c < x->crystals + x->ncrystals; c++) {
        const double blocks = c->has_blocks ? c->blocks : 1.0;
        log_line(LOG_INFO, "crystal%s%s, %.4g block%s of %g x %g x %g cells, F table %d x %d x %d",
                 *c->name ? " " : "", c->name, blocks, blocks == 1.0 ? "" : "s", c->cells[0],
                 c->cells[1], c->cells[2], c->table.count[0], c->table.count[1], c->table.count[2]);
    }
    log_line(LOG_INFO, "oversample %d", x->sampling.oversample);
    tell_sensor(o, x);
}

/* Checks the masks of the panels, and cuts the panels. */
static enum status finish_panels(const struct geometry_options *o, const struct layout *cut,
                                 const struct smv *mask, struct experiment *x, struct error *e)
{
    enum status s = check_mask(o, mask, &x->panels[0], e);
    s = s ? s : check_masks(o, x, e);
    return s ? s : panels_cut(cut, x, e);
}

/* Does the work of --misalign.  The experiment of g then has the true panels, so that the crystals
 * and their sampling are those that the true detector needs. */
static enum status misalign(struct geometry *g, const struct geometry_panels *panels,
                            const struct request *r, const struct smv *mask, struct error *e)
{
    const struct geometry_options *o = &g->options;
    const enum status s = finish_panels(o, &panels->layout, mask, &g->experiment, e);
    return s ? s : geometry_misalign(o, panels, r, &g->experiment, &g->places, e);
}

/* Makes the experiment of g from the request and all files, cuts its panels, and prints warnings.
 */
static enum status make_experiment(struct geometry *g, const struct crystal_options *list,
                                   const struct geometry_panels *panels, struct request *r,
                                   struct smv *mask, struct error *e)
{
    const struct geometry_options *o = &g->options;
    struct experiment *x = &g->experiment;
    enum status s = make_laboratory(o, r, mask, x, e);
    if (!s && o->misalign.count)
        s = misalign(g, panels, r, mask, e);
    for (size_t i = 0; i < r->ncrystals && !s; i++)
        s = geometry_read_crystal(&list[i].options, x, &r->crystals[i], e);
    if (s) {
        for (size_t i = 0; i < r->ncrystals; i++)
            hkl_free(&r->crystals[i].table);
        return s;
    }
    s = setup_crystals(r, x, e);
    for (size_t i = 0; i < x->ncrystals && !s; i++)
        if (list[i].options.diffuse_damp && !diffuse_damp(&x->crystals[i]))
            s = error_set(e, STATUS_INPUT,
                          "--diffuse-sigma=%g A weakens some reflections by more than e^-%g. Give "
                          "a larger --dmin",
                          list[i].options.crystal.diffuse_sigma_A[0], DIFFUSE_MOST_X);
    if (!s && !o->misalign.count)
        s = finish_panels(o, &panels->layout, mask, x, e);
    if (!s)
        geometry_warn(o, r, x);
    for (size_t i = 0; i < x->ncrystals && !s; i++)
        s = geometry_warn_thickness(&list[i].options, x, &x->crystals[i], e);
    geometry_end_misalign(&g->places, x);
    return s;
}

/* Writes the detector of *x to the CrystFEL geometry file `path` (NULL: none).  The rows of `frame`
 * are the axes of the file.  `exact`: as in struct geom_style. */
static enum status write_geometry(const struct geometry_options *o, const char *path, bool exact,
                                  const struct experiment *x, const double frame[9],
                                  struct error *e)
{
    const struct geom_style style = {.data = "/entry/data/data", .exact = exact};
    struct replace file;
    struct error cause = {0};
    enum status s = path ? replace_open(&file, path, e) : STATUS_OK;
    if (s || !path)
        return s;
    file.guarded = !o->overwrite;
    s = geom_write(file.stream, x, &style, frame, &cause);
    if (s == STATUS_OK) {
        geom_warn_of_unsaid(path, x);
        return replace_commit(&file, e);
    }
    replace_abort(&file);
    return error_set(e, s, "%s: %s", path, cause.text);
}

/* Writes the files of --write-geom, --write-true-geom and --misalign-truth. */
static enum status write_files(const struct geometry *g, const struct geometry_panels *panels,
                               struct error *e)
{
    const struct geometry_options *o = &g->options;
    double frame[9];
    panels_frame(&g->experiment, frame);
    enum status s = write_geometry(o, o->write_geom, false, &g->experiment, frame, e);
    if (s || !g->places.drawn)
        return s;
    struct experiment moved = g->experiment;
    moved.panels = g->places.drawn;
    s = write_geometry(o, o->true_geom, true, &moved, frame, e);
    return s ? s : geometry_write_misalign(o, panels, &g->places, &g->experiment, e);
}

static enum status open_geometry(void *state, const char **operands, int noperands, struct error *e)
{
    struct geometry *g = state;
    struct request r;
    struct crystal_options *list = NULL;
    struct smv mask = {0};
    struct geometry_panels panels = {0};
    (void)operands;
    (void)noperands;
    enum status s = geometry_request(&g->options, &r, e);
    if (!s)
        s = geometry_set_probe(&g->options, &r, e);
    if (!s)
        s = geometry_misalign_check(&g->options, e);
    if (!s)
        s = geometry_panels(&g->options, &r, &panels, e);
    if (!s)
        s = geometry_crystals(&g->options, &list, &r.ncrystals, e);
    if (!s)
        s = request_crystals(list, &r, e);
    if (!s)
        s = make_experiment(g, list, &panels, &r, &mask, e);
    else
        mem_free(r.detector.mask);
    g->experiment.saturation = panels.saturation;
    g->experiment.counts_photons = panels.counts;
    if (!s)
        s = write_files(g, &panels, e);
    geometry_panels_free(&panels, r.detector.nplaces);
    mem_free(list);
    mem_free(r.crystals);
    mem_free(r.beam.listed);
    smv_free(&mask);
    return s;
}

static enum status geometry_begin(void *state, struct experiment *x, struct error *e)
{
    struct geometry *g = state;
    (void)e;
    *x = g->experiment;
    memset(&g->experiment, 0, sizeof g->experiment);
    summarize(&g->options, x);
    return STATUS_OK;
}

static void close_geometry(void *state)
{
    struct geometry *g = state;
    experiment_free(&g->experiment);
    geometry_places_free(&g->places);
}

static const struct stage stage = {
    .role = {.name = "bragg-geometry", .wants = KIND_NONE, .gives = KIND_EXPERIMENT},
    .summary = "Describe detector, beam and crystals of a simulation.",
    .details = "Built-in detectors and detector files are described in bragg-detectors(5).",
    .examples = "bragg-geometry --detector=eiger-16m --distance=150 --model=mine.pdb | ...\n"
                "bragg-geometry --detpixels=1024x2048 --pixel=75um --energy=12.4keV | ...",
    .options = geometry_table,
    .state_size = sizeof(struct geometry),
    .open = open_geometry,
    .begin = geometry_begin,
    .close = close_geometry,
};

int main(int argc, char **argv)
{
    struct error e = {0};
    log_open(stage.role.name);
    if (geometry_wants_list(argc, argv))
        return geometry_list(&e) ? log_fail(&e) : STATUS_OK;
    return stage_main(&stage, argc, argv);
}
