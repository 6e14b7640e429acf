/*
 * The experiment that image files describe: detector and beam of the header of SMV and CBF, and
 * also the crystals of NXmx.  Entries that are missing get plain values and a warning.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx_geometry.h"
#include "physics/setup.h"
#include "stages/geometry/geometry.h"
#include "stages/replay/replay_images.h"

/* Values that replace missing entries of a file.  Most of them do not affect how an image looks. */
static const double WAVELENGTH_M = 1e-10, DISTANCE_M = 0.1, KAHN = 0.98, FLUENCE_PH_M2 = 1e25;

/* Returns a request that contains the values above. */
static struct request plain_request(void)
{
    struct request q;
    request_clear(&q);
    q.detector.distance_m = DISTANCE_M;
    q.beam.kahn = KAHN;
    q.beam.fluence_ph_m2 = FLUENCE_PH_M2;
    q.oversample = 1;
    return q;
}

/* Makes the panel that the header of an image describes, with plain values for missing ones. */
static enum status place_header(const char *path, struct image_header *h, struct request *q,
                                struct geometry_panels *p, struct error *e)
{
    static const double PIXEL_M = 1e-4;
    struct geom_panel panel;
    h->pixel_m = h->pixel_m > 0 ? h->pixel_m : PIXEL_M;
    h->distance_m = h->distance_m > 0 ? h->distance_m : DISTANCE_M;
    if (!h->has_beam) {
        h->beam_fast_m = 0.5 * (double)h->fast * h->pixel_m;
        h->beam_slow_m = 0.5 * (double)h->slow * h->pixel_m;
    }
    const enum status s = geometry_image_panel(path, h, &panel, e);
    if (!s)
        geometry_take_panels(&panel, 1, q, p);
    mem_free(panel.mask);
    return s;
}

/* Takes the sensor, so that clients correct for its parallax.  Only silicon has a known absorption,
 * which places the photons in the sensor. */
static void take_sensor(double thickness_m, const char *material, struct request *q)
{
    static const double THINNEST_M = 1e-6, THICKEST_M = 1e-2;  // headers give 1 nm for no sensor
    static const double SHORTEST_M = 0.1e-10, LONGEST_M = 12e-10;
    const double wave_m = q->beam.wavelength_m;
    if (q->probe == PROBE_XRAY && strcmp(material, "Si") == 0 && thickness_m > THINNEST_M &&
        thickness_m < THICKEST_M && wave_m > SHORTEST_M && wave_m < LONGEST_M)
        q->detector.thickness.range = thickness_m;
}

static void tell_missing(const char *path, const struct image_header *h)
{
    if (!(h->pixel_m > 0 && h->distance_m > 0 && h->wavelength_m > 0 && h->has_beam))
        log_line(LOG_WARNING,
                 "%s: the header does not contain%s%s%s%s so resolutions are wrong (used instead: "
                 "0.1 mm, 100 mm, "
                 "1 A, the middle)",
                 path, h->pixel_m > 0 ? "" : " the pixel size,",
                 h->distance_m > 0 ? "" : " the distance,",
                 h->wavelength_m > 0 ? "" : " the wavelength,",
                 h->has_beam ? "" : " the beam centre,");
}

static enum status use_header(const char *path, struct request *q, struct geometry_panels *p,
                              struct experiment *x, struct error *e)
{
    struct image_header h;
    enum status s = image_header_read(path, &h, e);
    if (s)
        return s;
    s = geometry_image_axis(path, &h, REPLAY_NO_AXIS, e);
    if (s)
        return s;
    tell_missing(path, &h);
    q->beam.wavelength_m = h.wavelength_m > 0 ? h.wavelength_m : WAVELENGTH_M;
    take_sensor(h.thickness_m, h.material, q);
    s = place_header(path, &h, q, p, e);
    q->detector.places = p->places;
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = h.saturation;
    x->adc_offset = h.adc_offset;
    return s;
}

/* Makes the crystals of an NXmx file.  Each crystal gets the unit cell of its first lattice. */
static enum status use_crystals(const struct nxmx_rows *rows, struct request *q,
                                struct experiment *x, struct error *e)
{
    size_t count = 0;
    for (size_t i = 0; rows && i < rows->nlattices; i++)
        if (rows->lattices[i].crystal >= count)
            count = (size_t)rows->lattices[i].crystal + 1;
    if (!count || count > rows->nlattices)
        return STATUS_OK;
    struct crystal_request *crystals = mem_array(count, sizeof *crystals);
    for (size_t i = rows->nlattices; i-- > 0;) {
        const struct nxmx_lattice *l = &rows->lattices[i];
        struct crystal_request *c = &crystals[l->crystal];
        *c = (struct crystal_request){.has_cell = true, .cells = {1, 1, 1}, .fudge = 1};
        for (int k = 0; k < 3; k++) {
            c->cell_A[k] = l->cell[k];
            c->cell_rad[k] = deg_to_rad(l->cell[3 + k]);
        }
    }
    bool whole = true;
    for (size_t i = 0; i < count; i++)
        whole = whole && crystals[i].has_cell;
    q->crystals = crystals;
    q->ncrystals = count;
    const enum status s = whole ? setup_crystals(q, x, e) : STATUS_OK;
    mem_free(crystals);
    return s;
}

static bool moves(const struct nxmx_rows *rows)
{
    bool any = false;
    for (size_t i = 0; rows && i < 3 * rows->nframes; i++)
        any = any || rows->frames[i / 3].shift_m[i % 3] != 0.0;
    return any;
}

/* Copies the reasons for which pixels are masked, if the file contains them for at least one
 * panel. */
static void take_reasons(const struct nxmx_geometry *g, struct experiment *x)
{
    for (size_t i = 0; i < g->npanels; i++)
        x->has_reasons = x->has_reasons || g->panels[i].reasons;
    if (!x->has_reasons)
        return;
    x->reasons = mem_array((size_t)experiment_pixels(x), 1);
    for (size_t i = 0; i < g->npanels; i++)
        if (g->panels[i].reasons)
            memcpy(x->reasons + x->panels[i].first_pixel, g->panels[i].reasons,
                   (size_t)(x->panels[i].fast_pixels * x->panels[i].slow_pixels));
}

static enum status use_nxmx(const char *path, const struct nxmx_rows *rows, struct request *q,
                            struct geometry_panels *p, struct experiment *x, struct error *e)
{
    struct nxmx_geometry g;
    enum status s = nxmx_geometry_read(path, &g, e);
    if (!s)
        geometry_take_panels(g.panels, g.npanels, q, p);
    q->detector.places = p->places;
    q->probe = g.names_probe ? g.probe : PROBE_XRAY;
    q->beam.no_polarization = q->probe != PROBE_XRAY;
    q->beam.wavelength_m = g.wavelength_m > 0 ? g.wavelength_m : WAVELENGTH_M;
    if (!s && !(g.wavelength_m > 0))
        log_line(LOG_WARNING,
                 "%s: no wavelength found, so resolutions are wrong (used instead: 1 A)", path);
    if (!s && g.other_wavelength_m > 0)
        log_line(LOG_WARNING,
                 "%s: contains two wavelengths, %.6g and %.6g A; the first one is used", path,
                 m_to_angstrom(g.wavelength_m), m_to_angstrom(g.other_wavelength_m));
    if (!s)
        take_sensor(g.thickness_m, g.material, q);
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = s ? 0.0 : g.saturation;
    if (!s)
        take_reasons(&g, x);
    nxmx_geometry_free(&g);
    if (s)
        return s;
    return use_crystals(rows, q, x, e);
}

enum status replay_setup_header(const char *path, struct experiment *x, struct error *e)
{
    struct request q = plain_request();
    struct geometry_panels p = {0};
    const enum status s = use_header(path, &q, &p, x, e);
    geometry_panels_free(&p, q.detector.nplaces);
    x->gain = 1;
    return s;
}

enum status replay_setup_nxmx(const char *path, const struct nxmx_rows *rows, struct experiment *x,
                              double axes[9], struct error *e)
{
    struct request q = plain_request();
    struct geometry_panels p = {0};
    const enum status s = use_nxmx(path, rows, &q, &p, x, e);
    geometry_panels_free(&p, q.detector.nplaces);
    x->gain = 1;
    x->detector_moves = moves(rows);
    x->sample_moves = rows && rows->has_samples;
    x->matter_varies = rows && rows->has_matter;
    x->sizes_vary = rows && rows->nlattices && rows->lattices->cells[0] > 0.0;
    x->spreads_vary = rows && rows->nlattices && rows->lattices->has_spread;
    x->b_factors_vary = rows && rows->nlattices && rows->lattices->has_b_factor;
    if (s == STATUS_OK)
        experiment_nexus_axes(x, axes);
    return s;
}
