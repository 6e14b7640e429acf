/*
 * The detector of bragg-geometry, from files and built-in detectors.
 *
 * --detector names a built-in detector, a file of pyFAI or NXmx, or an image.  Such a file also has
 * the position.  --geom (CrystFEL) and --expt (DIALS) are files with several panels, and --cut
 * divides a panel. All of them fill the detector and a part of the beam of a request; options that
 * the user gave have precedence.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "geometry.h"
#include "io/detectors/poni.h"
#include "io/dials/expt.h"
#include "io/nxmx/nxmx_geometry.h"
#include "physics/beam/beam.h"
#include "physics/detector/detector.h"
#include "physics/detector/sensor.h"

/* Prints a warning that the settings `unused` of a file have no effect; nothing if `unused` is "".
 */
static void geometry_report_unused(const char *path, const char *unused)
{
    if (*unused)
        log_line(LOG_WARNING, "%s: these settings have no effect: %s", path, unused);
}

/* --- the list ------------------------------------------------------------------------ */

bool geometry_wants_list(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--detector=list") == 0 ||
            (strcmp(argv[i], "--detector") == 0 && i + 1 < argc &&
             strcmp(argv[i + 1], "list") == 0))
            return true;
    return false;
}

static void print_line(const struct preset_detector *d)
{
    char sensor[32] = "-";
    const int64_t fast = layout_pixels(&d->layout, 0), slow = layout_pixels(&d->layout, 1);
    const int64_t parts = d->layout.count[0] * d->layout.count[1];
    if (d->silicon_m > 0)
        (void)snprintf(sensor, sizeof sensor, "Si %g um", d->silicon_m * 1e6);
    printf("%-16s %7.6g um  %-9s %8.0f  ", d->name, d->pixel_m * 1e6, sensor, d->saturation);
    if (d->panels)
        printf("%" PRId64 " of %" PRId64 " x %" PRId64 "\n",
               parts * (d->nplaces ? (int64_t)d->nplaces : 1), d->layout.pixels[0],
               d->layout.pixels[1]);
    else
        printf("1 of %" PRId64 " x %" PRId64 "\n", fast, slow);
}

enum status geometry_list(struct error *e)
{
    const struct preset_detector *d;
    printf("%-16s %10s  %-9s %8s  %s\n", "NAME", "PIXEL", "SENSOR", "MAXIMUM",
           "PANELS, fast x slow pixels");
    for (size_t i = 0; (d = preset_at(i)); i++)
        print_line(d);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "cannot write to stdout");
    return STATUS_OK;
}

/* --- names --------------------------------------------------------------------------- */

static enum status set_preset(const struct geometry_options *o,
                              const struct preset_detector *preset, struct request *r,
                              struct geometry_panels *p, struct error *e)
{
    struct detector_request *d = &r->detector;
    const bool panels = geometry_given(o, "panels") ? o->panels == 1 : preset->panels;
    d->pixel_m = preset->pixel_m;
    p->named = preset;
    p->saturation = preset->saturation;
    p->counts = preset->counts;
    if (preset->silicon_m > 0 && !geometry_given(o, "thickness"))
        d->thickness.range = preset->silicon_m;
    for (int i = 0; i < 2; i++)
        d->pixels[i] = layout_pixels(&preset->layout, i);
    if (panels)
        p->layout = preset->layout;
    if (!preset->nplaces) {
        if (!panels)
            layout_mask(&preset->layout, &d->mask);
        return STATUS_OK;
    }
    if (!panels)
        return error_set(
            e, STATUS_USAGE,
            "--panels=image: the modules of %s are not on one grid. Use --panels=modules",
            preset->name);
    const enum status s = opt_exclude(geometry_table, o, "detector", GEOMETRY_PLACED, e);
    if (s)
        return s;
    d->nplaces = preset->nplaces;
    preset_places(preset, d->distance_m, &p->places);
    return STATUS_OK;
}

enum { PLAIN_SIZE = 64 };

/* Stores the letters and digits of a name in plain[], in lower case: the part of the name of a
 * detector that matters. */
static void simplify(const char *name, char plain[PLAIN_SIZE])
{
    size_t n = 0;
    for (; *name && n < PLAIN_SIZE - 1; name++)
        if (isalnum((unsigned char)*name))
            plain[n++] = (char)tolower((unsigned char)*name);
    plain[n] = '\0';
}

static enum status unknown(const char *name, struct error *e)
{
    char typed[PLAIN_SIZE], known[PLAIN_SIZE];
    const char *meant = NULL;
    int best = 99;
    simplify(name, typed);
    for (size_t i = 0; preset_at(i); i++) {
        simplify(preset_at(i)->name, known);
        if (suggest_name(typed, known, &best))
            meant = preset_at(i)->name;
    }
    return error_set(e, STATUS_USAGE,
                     "--detector: '%.60s' is not a built-in detector and not a file. "
                     "%s%s%s--detector=list prints the names",
                     name, meant ? "Did you mean " : "", meant ? meant : "", meant ? "? " : "");
}

/* --- files of pyFAI ------------------------------------------------------------------ */

/* Compares the size and the number of pixels in the file with the detector that the file names.
 * STATUS_INPUT: they differ. */
static enum status compare_named(const char *path, const struct preset_detector *d,
                                 const struct poni *f, struct error *e)
{
    for (int i = 0; i < 2; i++) {
        const int64_t pixels = layout_pixels(&d->layout, 1 - i);
        if (f->pixel_m[i] > 0 && !(fabs(f->pixel_m[i] / d->pixel_m - 1) < 1e-3))
            return error_set(e, STATUS_INPUT,
                             "%s: the pixel size is %.6g um, but detector '%s' has %.6g um. Use "
                             "'Detector: Detector' for any other detector",
                             path, f->pixel_m[i] * 1e6, f->detector, d->pixel_m * 1e6);
        if (f->pixels[i] && f->pixels[i] != pixels)
            return error_set(e, STATUS_INPUT,
                             "%s: %" PRId64 " pixels along %s, but detector '%s' has %" PRId64
                             ". Use 'Detector: Detector' for any other detector",
                             path, f->pixels[i], i ? "fast" : "slow", f->detector, pixels);
    }
    return STATUS_OK;
}

/* Completes size and number of pixels of *f from the named detector (NULL: not built in) or from
 * --detpixels.  STATUS_INPUT if something is missing, or if pixels are not square. */
static enum status complete_from_preset(const struct geometry_options *o,
                                        const struct preset_detector *named, struct poni *f,
                                        struct error *e)
{
    if (geometry_given(o, "detpixels") && (named || (f->pixels[0] && f->pixels[1])))
        return error_set(e, STATUS_USAGE, "%s: says how many pixels there are, --detpixels cannot",
                         o->detector);
    const enum status s = named ? compare_named(o->detector, named, f, e) : STATUS_OK;
    if (s)
        return s;
    for (int i = 0; i < 2; i++) {
        const int along = 1 - i;  // slow comes first in the file
        if (!f->pixels[i])
            f->pixels[i] = named                            ? layout_pixels(&named->layout, along)
                           : geometry_given(o, "detpixels") ? o->request.detector.pixels[along]
                                                            : 0;
        if (!(f->pixel_m[i] > 0))
            f->pixel_m[i] = named ? named->pixel_m : 0;
    }
    if (!f->pixels[0] || !f->pixels[1])
        return error_set(e, STATUS_INPUT,
                         "%s: the number of pixels is missing. Give --detpixels=FAST,SLOW",
                         o->detector);
    if (!(f->pixel_m[0] > 0) || !(f->pixel_m[1] > 0))
        return error_set(e, STATUS_INPUT,
                         "%s: the pixel size is missing, and detector '%.40s' is not built in (see "
                         "--detector=list). Add pixel1 and pixel2 to the file",
                         o->detector, f->detector);
    if (!(fabs(f->pixel_m[0] / f->pixel_m[1] - 1) < 1e-6))
        return error_set(e, STATUS_INPUT, "%s: pixels are %g x %g m; expected square pixels",
                         o->detector, f->pixel_m[0], f->pixel_m[1]);
    return STATUS_OK;
}

/* Takes the gaps, the sensor and the saturation from the built-in detector. The position is that
 * of the file. */
static void use_preset(const struct geometry_options *o, const struct preset_detector *d,
                       struct geom_panel *panel, struct request *r, struct geometry_panels *p)
{
    p->saturation = d->saturation;
    p->counts = d->counts;
    if (d->silicon_m > 0 && !geometry_given(o, "thickness"))
        r->detector.thickness.range = d->silicon_m;
    if (geometry_given(o, "panels") ? o->panels == 1 : d->panels)
        p->layout = d->layout;
    else
        layout_mask(&d->layout, &panel->mask);
}

static enum status set_poni(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct poni f;
    struct geom_panel panel = {0};
    enum status s = poni_read(o->detector, &f, e);
    const struct preset_detector *named = s ? NULL : preset_named(f.detector);
    if (named && named->nplaces)
        return error_set(
            e, STATUS_INPUT,
            "%s: the modules of %s are not in one plane. Use --detector=NAME or --geom=FILE",
            o->detector, named->name);
    s = s ? s : complete_from_preset(o, named, &f, e);
    if (s)
        return s;
    geometry_report_unused(o->detector, f.unused);
    poni_panel(&f, &panel);
    if (named)
        use_preset(o, named, &panel, r, p);
    if (!s)
        geometry_take_panels(&panel, 1, r, p);
    mem_free(panel.mask);
    geometry_take_sensor(o, f.thickness_m, f.material, r);
    geometry_take_wavelength(o, o->detector, f.wavelength_m, r);
    return s;
}

/* --- NXmx ------------------------------------------------------------------------------ */

static enum status set_nxmx(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct nxmx_geometry g;
    enum status s = nxmx_geometry_read(o->detector, &g, e);
    if (!s && g.names_probe)
        s = geometry_compare_probe(r, o->detector, g.probe, e);
    for (size_t i = 0; i < g.nnotes && !s; i++)
        log_line(LOG_WARNING, "%s: %s", o->detector, g.notes[i]);
    if (!s && g.wavelengths[0] && !geometry_given(o, GEOMETRY_WAVELENGTH))
        s = error_set(e, STATUS_INPUT, "%s: %s. Give --wavelength or --energy", o->detector,
                      g.wavelengths);
    if (!s && g.mask_unread)
        log_line(LOG_WARNING, "%s: pixel_mask cannot be read, so no pixel is masked", o->detector);
    if (!s && g.other_wavelength_m > 0 && !geometry_given(o, GEOMETRY_WAVELENGTH))
        s = error_set(
            e, STATUS_INPUT,
            "%s: the file has two wavelengths, %.6g and %.6g A. Give --wavelength or --energy",
            o->detector, m_to_angstrom(g.wavelength_m), m_to_angstrom(g.other_wavelength_m));
    const struct geom_panel *first = g.panels;
    if (!s)
        geometry_take_counting(
            o->detector,
            &(struct geometry_file_detector){
                .name = g.name,
                .type = "",
                .scaled = g.adc_offset != 0 || (g.gain != 0 && g.gain != 1),
                .image = {g.npanels == 1 ? first->fast_pixels : 0, first->slow_pixels},
                .panel = {first->fast_pixels, first->slow_pixels},
                .pixel_m = first->pixel_m},
            p);
    if (!s) {
        geometry_take_panels(g.panels, g.npanels, r, p);
        p->saturation = g.saturation;
        geometry_take_wavelength(o, o->detector, g.wavelength_m, r);
        geometry_take_sensor(o, g.thickness_m, g.material, r);
    }
    nxmx_geometry_free(&g);
    return s;
}

/* --- --detector ------------------------------------------------------------------------ */

static enum status set_file(const struct geometry_options *given, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct geometry_options o = *given;
    const bool nxmx = nxmx_is_hdf5(o.detector), image = geometry_is_image(o.detector);
    if (geometry_given(given, "distance"))
        return error_set(e, STATUS_USAGE,
                         "--detector=FILE and --distance cannot be used together, because the file "
                         "contains the distance");
    /* --detpixels is allowed with a .poni file, which may not contain the number of pixels */
    if (!nxmx && !image)
        opt_mark(opt_find(geometry_table, "detpixels", strlen("detpixels")), &o, false);
    const enum status s = opt_exclude(geometry_table, &o, "detector", GEOMETRY_PLACED, e);
    if (s)
        return s;
    if (image)
        return geometry_image_detector(given, r, p, e);
    return nxmx ? set_nxmx(given, r, p, e) : set_poni(given, r, p, e);
}

/* Applies --detector: a built-in detector, a file of pyFAI or NXmx, or an image. The content of the
 * file shows its format. */
static enum status geometry_detector(const struct geometry_options *given, struct request *r,
                                     struct geometry_panels *p, struct error *e)
{
    struct geometry_options o = *given;
    const struct preset_detector *named = preset_named(o.detector);
    if (!named && !(o.detector = input_path(o.detector)))
        return error_memory(e, "--detector");
    if (!named && access(o.detector, F_OK))
        return unknown(given->detector, e);
    if (!named)
        return set_file(&o, r, p, e);
    const enum status s = opt_exclude(geometry_table, given, "detector", "detpixels", e);
    return s ? s : set_preset(&o, named, r, p, e);
}

/* --- files of CrystFEL ---------------------------------------------------------------- */

/* Sets the absorption of silicon at the wavelength of the beam. If the energy is unknown, but would
 * be known in keV, the unit is the likely mistake. */
static enum status set_silicon(const struct geometry_options *o, struct request *r, struct error *e)
{
    struct detector_request *d = &r->detector;
    const double eV = m_to_ev(r->beam.wavelength_m);
    double as_keV;
    struct error why;
    (void)snprintf(d->material, sizeof d->material, "Si");
    if (silicon_absorption(eV, &d->absorption_1_m, &why) == STATUS_OK)
        return STATUS_OK;
    if (geometry_given(o, "energy") && silicon_absorption(1e3 * eV, &as_keV, NULL) == STATUS_OK)
        return error_set(e, STATUS_INPUT, "%s. Did you mean --energy=%g (%g keV)?", why.text,
                         1e3 * eV, eV);
    return error_set(e, STATUS_INPUT, "%s. Give --absorption=UM", why.text);
}

/* Reports settings of the file that have no effect, and its gain. */
static void report_unused_and_gain(const struct geometry_options *o, const struct geom *g,
                                   double gain)
{
    geometry_report_unused(o->geom, g->unused);
    if (*g->hidden)
        log_line(LOG_WARNING, "%s: panels %s overlap as seen from the sample", o->geom, g->hidden);
    if (g->gains_differ)
        log_line(LOG_WARNING,
                 "%s: the panels have different values of ADU per photon; that of the first panel "
                 "is used",
                 o->geom);
    if (gain != 1)
        log_line(LOG_INFO, "%s: the gain is %g ADU per photon, for bragg-noise --gain", o->geom,
                 gain);
}

static enum status set_geom(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct geom g;
    enum status s =
        geom_read(o->geom, geometry_given(o, "distance") ? r->detector.distance_m : 0, &g, e);
    if (!s && *g.wavelength_unread && !geometry_given(o, GEOMETRY_WAVELENGTH))
        s = error_set(e, STATUS_INPUT, "%s. Give --energy or --wavelength", g.wavelength_unread);
    if (!s && g.has_electrons)
        s = geometry_compare_probe(r, o->geom, PROBE_ELECTRON, e);
    if (!s) {
        geometry_take_panels(g.panels, g.npanels, r, p);
        geometry_take_wavelength(o, o->geom, g.wavelength_m, r);
        const double gain = geom_gain(&g, r->beam.wavelength_m);
        p->saturation = isfinite(g.max_adu) ? (g.max_adu + 1) / gain : 0;
        report_unused_and_gain(o, &g, gain);
    }
    p->file = g;
    return s;
}

/* --- experiment lists ------------------------------------------------------------ */

/* Takes the sensor of the experiment list, unless --thickness replaces it. The mu of the list is
 * valid only at the wavelength of the list. At another wavelength, a silicon sensor gets the mu
 * of silicon at that wavelength. */
static void take_expt_sensor(const struct geometry_options *o, const struct expt *x,
                             struct request *r)
{
    struct detector_request *d = &r->detector;
    const bool silicon = strcmp(x->material, "Si") == 0;
    if (geometry_given(o, "thickness") || !(x->thickness_m > 0))
        return;
    if (!silicon && !(x->absorption_1_m > 0)) {
        log_line(
            LOG_WARNING,
            "%s: the absorption (mu) of the sensor is not known, so the sensor detects all photons",
            o->expt);
        return;
    }
    d->thickness.range = x->thickness_m;
    memcpy(d->material, x->material, sizeof d->material);
    if (x->absorption_1_m > 0 && (!silicon || r->beam.wavelength_m == x->wavelength_m))
        d->absorption_1_m = x->absorption_1_m;
}

/* Takes the beam of the experiment list: the wavelength, polarization and flux that no option
 * gives, and all directions. */
static void take_beam(const struct geometry_options *o, const struct expt *x, struct request *r)
{
    struct detector_request *d = &r->detector;
    struct beam_request *b = &r->beam;
    if (!geometry_given(o, GEOMETRY_WAVELENGTH))
        b->wavelength_m = x->wavelength_m;
    if (!geometry_given(o, "polarization|polarization-fraction") && x->has_kahn)
        b->kahn = x->kahn;
    if (!geometry_given(o, "flux|fluence"))
        b->flux_ph_s = x->flux_ph_s;
    if (!geometry_given(o, "exposure") && x->exposure_s > 0)
        b->exposure_s = x->exposure_s;
    d->convention = CONVENTION_CUSTOM;
    memcpy(b->direction, x->direction, sizeof b->direction);
    memcpy(b->polarization, x->polarization, sizeof b->polarization);
    if (x->has_spindle)
        memcpy(b->spindle, x->spindle, sizeof b->spindle);
    /* any plane across the beam is right: the panels of the list replace this panel */
    memcpy(d->fast, x->polarization, sizeof d->fast);
    vec_cross(x->direction, x->polarization, d->slow);
}

static enum status set_expt(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct expt x;
    enum status s = expt_read(o->expt, &x, e);
    if (!s && x.names_probe)
        s = geometry_compare_probe(r, o->expt, x.probe, e);
    if (!s && geometry_given(o, "exposure") && !geometry_given(o, "flux|fluence") &&
        !(x.flux_ph_s > 0))
        s = error_set(e, STATUS_USAGE, "--exposure needs --flux, because %s has none", o->expt);
    s = s ? s : geometry_compare_image(o, &x, e);
    if (!s)
        geometry_take_counting(o->expt,
                               &(struct geometry_file_detector){
                                   .name = x.name,
                                   .type = x.type,
                                   .scaled = x.scaled,
                                   .image = {x.image_pixels[0], x.image_pixels[1]},
                                   .panel = {x.panels->fast_pixels, x.panels->slow_pixels},
                                   .pixel_m = x.panels->pixel_m},
                               p);
    if (!s) {
        geometry_take_panels(x.panels, x.npanels, r, p);
        geometry_report_unused(o->expt, x.unused);
        r->detector.lab_places = true;
        p->saturation = x.saturation;
        take_beam(o, &x, r);
        take_expt_sensor(o, &x, r);
    }
    if (!s && x.nexperiments > 1)
        log_line(LOG_INFO, "%s: using the first of %zu experiments", o->expt, x.nexperiments);
    expt_free(&x);
    return s;
}

/* Removes the sensor of a file or of a built-in detector, if --thickness=0 is given. */
static enum status remove_sensor(const struct geometry_options *o, struct request *r,
                                 struct error *e)
{
    static const char *const parts[] = {"absorption", "layers", "harmonic-absorption"};
    if (!geometry_given(o, "thickness") || r->detector.thickness.range > 0)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (geometry_given(o, parts[i]))
            return error_set(e, STATUS_USAGE,
                             "--thickness=0 removes the sensor, which --%s describes. Remove one "
                             "of the two options",
                             parts[i]);
    r->detector.thickness.range = NAN;
    return STATUS_OK;
}

/* Sets the signal of a photon of the third harmonic, if it was not given: 1 in a detector that
 * `counts` photons.  Refuses signals that contradict each other or the detector. */
static enum status set_signal(const struct geometry_options *o, bool counts, struct beam_request *b,
                              struct error *e)
{
    const bool energy = b->signal == SIGNAL_ENERGY, given = geometry_given(o, "signal");
    const double expected = energy ? HARMONIC_ORDER : 1.0;
    if (energy && counts)
        return error_set(e, STATUS_USAGE,
                         "--signal=energy: the detector counts photons; expected --signal=count");
    if (given && geometry_given(o, "harmonic-signal") && b->harmonic_signal != expected)
        return error_set(e, STATUS_USAGE,
                         "--harmonic-signal=%g contradicts --signal=%s; expected %g. Leave one of "
                         "both out",
                         b->harmonic_signal, energy ? "energy" : "count", expected);
    if ((counts || (given && !energy)) && geometry_given(o, "third-harmonic") &&
        !geometry_given(o, "harmonic-signal"))
        b->harmonic_signal = 1.0;
    return STATUS_OK;
}

enum status geometry_panels(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    *p = (struct geometry_panels){0};
    enum status s = remove_sensor(o, r, e);
    if (s)
        return s;
    if (geometry_given(o, "detector"))
        s = geometry_detector(o, r, p, e);
    else if (o->geom)
        s = set_geom(o, r, p, e);
    else if (o->expt)
        s = set_expt(o, r, p, e);
    s = s ? s : geometry_probe_sensor(o, r, e);
    if (!s && r->physics == PHYSICS_PHYSICAL && !isnan(r->detector.thickness.range) &&
        isnan(r->detector.absorption_1_m))
        s = set_silicon(o, r, e);
    s = s ? s : set_signal(o, p->counts, &r->beam, e);
    r->detector.places = p->places;
    r->detector.may_smear = o->sensor == 0;
    r->detector.smears = o->sensor == 2;
    for (int i = 0; i < 2 && geometry_given(o, "cut"); i++)
        p->layout.count[i] = o->cut[i];
    return s;
}

void geometry_panels_free(struct geometry_panels *p, size_t nplaces)
{
    for (size_t i = 0; p->places && i < nplaces; i++)
        mem_free(p->places[i].mask);
    mem_free(p->places);
    mem_free(p->first);
    geom_free(&p->file);
    *p = (struct geometry_panels){0};
}
