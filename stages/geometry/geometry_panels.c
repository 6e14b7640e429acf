/* --geom, --expt and --cut: geometry files, and detectors of several panels. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "geometry_panels.h"
#include "io/dials/expt.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx_geometry.h"
#include "physics/detector/sensor.h"

/* Sets the absorption of silicon at the wavelength of the beam. */
static enum status set_silicon(struct request *r, struct error *e)
{
    struct detector_request *d = &r->detector;
    struct error why;
    (void)snprintf(d->material, sizeof d->material, "Si");
    return silicon_absorption(m_to_ev(r->beam.wavelength_m), &d->absorption_1_m, &why)
               ? error_set(e, STATUS_INPUT, "%s. Give --absorption=UM", why.text)
               : STATUS_OK;
}

/* Reports settings of the file that have no effect, and its gain. */
static void report(const struct geometry_options *o, const struct geom *g, double gain)
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
    if (!s && *g.wavelength_unread && !geometry_given(o, "wavelength|energy"))
        s = error_set(e, STATUS_INPUT, "%s. Give --energy or --wavelength", g.wavelength_unread);
    if (!s)
        s = geometry_take_panels(g.panels, g.npanels, r, p, e);
    if (!s) {
        geometry_take_wavelength(o, o->geom, g.wavelength_m, r);
        const double gain = geom_gain(&g, r->beam.wavelength_m);
        p->saturation = isfinite(g.max_adu) ? (g.max_adu + 1) / gain : 0;
        report(o, &g, gain);
    }
    geom_free(&g);
    return s;
}

/* --- experiment lists ------------------------------------------------------------ */

/* Takes the sensor of the list, unless --thickness replaces it.  Its mu is valid at the wavelength
 * of the list only; at another wavelength silicon gets its own mu. */
static void take_sensor(const struct geometry_options *o, const struct expt *x, struct request *r)
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

/* Takes wavelength, polarization and flux that no option gives, and all directions. */
static void take_beam(const struct geometry_options *o, const struct expt *x, struct request *r)
{
    struct detector_request *d = &r->detector;
    struct beam_request *b = &r->beam;
    if (!geometry_given(o, "wavelength|energy"))
        b->wavelength_m = x->wavelength_m;
    if (!geometry_given(o, "polarization") && x->has_kahn)
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
    /* any plane across the beam: this panel is replaced by those of the list */
    memcpy(d->fast, x->polarization, sizeof d->fast);
    vec_cross(x->direction, x->polarization, d->slow);
}

/* Size, pixel and wavelength of an image; 0 if the image does not contain the value. */
struct seen {
    int64_t pixels[2];
    double pixel_m, wavelength_m;
};

/* Reads *seen from the first image of the list.  False if there is nothing to compare: the image
 * does not exist, cannot be read, or has several panels.  STATUS_INPUT in *s if an NXmx file has
 * another number of panels than the list. */
static bool look_at_image(const char *list, const struct expt *x, struct seen *seen, enum status *s,
                          struct error *e)
{
    struct stat st;
    struct nxmx_geometry g;
    struct image_header h;
    if (!*x->image || stat(x->image, &st) || !S_ISREG(st.st_mode))
        return false;
    if (!nxmx_is_hdf5(x->image)) {
        const bool alone = x->npanels == 1 || x->panels_placed;
        if (!alone || image_header_read(x->image, &h, NULL))
            return false;
        *seen = (struct seen){{h.fast, h.slow}, h.pixel_m, h.wavelength_m};
        return true;
    }
    const bool read = !nxmx_geometry_read(x->image, &g, NULL);
    if (read && g.npanels != x->npanels)
        *s = error_set(e, STATUS_INPUT, "--expt=%s has %zu panels, but its image %s has %zu", list,
                       x->npanels, x->image, g.npanels);
    const bool single = read && !*s && g.npanels == 1;
    if (single)
        *seen = (struct seen){
            {g.panels->fast_pixels, g.panels->slow_pixels}, g.panels->pixel_m, g.wavelength_m};
    if (read)
        nxmx_geometry_free(&g);
    return single;
}

/* Compares the list with its first image, if that exists.  STATUS_INPUT if size or pixels differ;
 * warns if the wavelength differs.  Distance and angles are not compared, because DIALS refines
 * them. */
static enum status compare_image(const struct geometry_options *o, const struct expt *x,
                                 struct error *e)
{
    static const double ALIKE = 0.01;
    struct seen seen = {0};
    enum status s = STATUS_OK;
    if (!look_at_image(o->expt, x, &seen, &s, e))
        return s;
    if (seen.pixels[0] != x->image_pixels[0] || seen.pixels[1] != x->image_pixels[1])
        return error_set(e, STATUS_INPUT,
                         "--expt=%s: image_size is %" PRId64 " x %" PRId64
                         ", but the image %s has %" PRId64 " x %" PRId64 " pixels",
                         o->expt, x->image_pixels[0], x->image_pixels[1], x->image, seen.pixels[0],
                         seen.pixels[1]);
    if (seen.pixel_m > 0 && !(fabs(seen.pixel_m / x->panels->pixel_m - 1) < ALIKE))
        return error_set(e, STATUS_INPUT,
                         "--expt=%s: pixel_size is %g mm, but the image %s has pixels of %g mm",
                         o->expt, m_to_mm(x->panels->pixel_m), x->image, m_to_mm(seen.pixel_m));
    if (seen.wavelength_m > 0 && !geometry_given(o, "wavelength|energy") &&
        !(fabs(seen.wavelength_m / x->wavelength_m - 1) < ALIKE))
        log_line(LOG_WARNING,
                 "--expt=%s: the wavelength is %.6g A, but the image %s has %.6g A. The list is "
                 "used; --wavelength replaces it",
                 o->expt, m_to_angstrom(x->wavelength_m), x->image,
                 m_to_angstrom(seen.wavelength_m));
    return STATUS_OK;
}

static enum status set_expt(const struct geometry_options *o, struct request *r,
                            struct geometry_panels *p, struct error *e)
{
    struct expt x;
    enum status s = expt_read(o->expt, &x, e);
    if (!s && geometry_given(o, "exposure") && !geometry_given(o, "flux") && !(x.flux_ph_s > 0))
        s = error_set(e, STATUS_USAGE, "--exposure needs --flux, because %s has none", o->expt);
    s = s ? s : compare_image(o, &x, e);
    if (!s)
        s = geometry_take_panels(x.panels, x.npanels, r, p, e);
    if (!s) {
        geometry_report_unused(o->expt, x.unused);
        r->detector.lab_places = true;
        p->saturation = x.saturation;
        take_beam(o, &x, r);
        take_sensor(o, &x, r);
    }
    if (!s && x.nexperiments > 1)
        log_line(LOG_INFO, "%s: using the first of %zu experiments", o->expt, x.nexperiments);
    expt_free(&x);
    return s;
}

/* --thickness=0 removes the sensor of a file or of a built-in detector. */
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
    if (!s && r->physics == PHYSICS_PHYSICAL && !isnan(r->detector.thickness.range) &&
        isnan(r->detector.absorption_1_m))
        s = set_silicon(r, e);
    r->detector.places = p->places;
    for (int i = 0; i < 2 && geometry_given(o, "cut"); i++)
        p->layout.count[i] = o->cut[i];
    return s;
}

void geometry_panels_free(struct geometry_panels *p, size_t nplaces)
{
    for (size_t i = 0; p->places && i < nplaces; i++)
        mem_free(p->places[i].mask);
    mem_free(p->places);
    *p = (struct geometry_panels){0};
}
