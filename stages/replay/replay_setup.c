/* Makes an experiment from the headers of image files. */
#include "replay_setup.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "io/images/image_header.h"
#include "io/nxmx/nxmx_geometry.h"
#include "physics/setup.h"
#include "stages/geometry/geometry.h"

/* Values for entries that are missing in a file.  Most of them do not affect a picture. */
static const double WAVELENGTH_M = 1e-10, DISTANCE_M = 0.1, KAHN = 0.98, FLUENCE_PH_M2 = 1e25;

/* Returns a request with these defaults. */
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

/* Makes a mask of the pixels below 0 in the first image: gaps and dead pixels of CBF. */
static enum status take_mask(const struct image_file *f, uint8_t **mask, struct error *e)
{
    const int32_t *pixels = f->image.pixels;
    size_t bad = 0;
    for (size_t i = 0; f->image.type == PIXEL_I32 && i < f->image.count; i++)
        bad += pixels[i] < 0;
    if (!bad)
        return STATUS_OK;
    *mask = mem_array(f->image.count, 1);
    if (!*mask)
        return error_memory(e, "the mask");
    for (size_t i = 0; i < f->image.count; i++)
        (*mask)[i] = pixels[i] >= 0;
    return STATUS_OK;
}

/* Places the panel of a header perpendicular to the beam. */
static enum status place_header(const char *path, struct image_header *h, struct request *q,
                                struct geometry_panels *p, struct error *e)
{
    struct image_file first = {0};
    enum status s = image_file_read(path, &first, e);
    struct geom_panel panel = {.fast_pixels = h->fast,
                               .slow_pixels = h->slow,
                               .pixel_m = h->pixel_m > 0 ? h->pixel_m : 1e-4,
                               .fast = {1, 0, 0},
                               .slow = {0, 1, 0}};
    if (!h->has_beam) {
        h->beam_fast_m = 0.5 * (double)h->fast * panel.pixel_m;
        h->beam_slow_m = 0.5 * (double)h->slow * panel.pixel_m;
    }
    panel.corner_m[0] = -h->beam_fast_m;
    panel.corner_m[1] = -h->beam_slow_m;
    panel.corner_m[2] = h->distance_m > 0 ? h->distance_m : DISTANCE_M;
    s = s ? s : take_mask(&first, &panel.mask, e);
    s = s ? s : geometry_take_panels(&panel, 1, q, p, e);
    image_free(&first.image);
    mem_free(panel.mask);
    return s;
}

static void tell_missing(const char *path, const struct image_header *h)
{
    if (!(h->pixel_m > 0 && h->distance_m > 0 && h->wavelength_m > 0 && h->has_beam))
        log_line(
            LOG_WARNING,
            "%s: the header lacks%s%s%s%s so resolutions are wrong (used instead: 0.1 mm, 100 mm, "
            "1 A, the middle)",
            path, h->pixel_m > 0 ? "" : " the pixel size,",
            h->distance_m > 0 ? "" : " the distance,",
            h->wavelength_m > 0 ? "" : " the wavelength,", h->has_beam ? "" : " the beam centre,");
    if (h->twotheta_rad != 0)
        log_line(LOG_WARNING, "%s: the detector is rotated by 2theta; this rotation is ignored",
                 path);
}

static enum status use_header(const char *path, struct request *q, struct geometry_panels *p,
                              struct experiment *x, struct error *e)
{
    struct image_header h;
    enum status s = image_header_read(path, &h, e);
    if (s)
        return s;
    tell_missing(path, &h);
    q->beam.wavelength_m = h.wavelength_m > 0 ? h.wavelength_m : WAVELENGTH_M;
    s = place_header(path, &h, q, p, e);
    q->detector.places = p->places;
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = h.saturation;
    x->adc_offset = h.adc_offset;
    return s;
}

/* Makes the crystals, each from its first lattice. */
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
    if (!crystals)
        return error_memory(e, "the crystals");
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

/* Reads why pixels are masked, if the file has this for at least one panel. */
static enum status take_reasons(const struct nxmx_geometry *g, struct experiment *x,
                                struct error *e)
{
    for (size_t i = 0; i < g->npanels; i++)
        x->has_reasons = x->has_reasons || g->panels[i].reasons;
    if (!x->has_reasons)
        return STATUS_OK;
    x->reasons = mem_array((size_t)experiment_pixels(x), 1);
    if (!x->reasons)
        return error_memory(e, "the mask");
    for (size_t i = 0; i < g->npanels; i++)
        if (g->panels[i].reasons)
            memcpy(x->reasons + x->panels[i].first_pixel, g->panels[i].reasons,
                   (size_t)(x->panels[i].fast_pixels * x->panels[i].slow_pixels));
    return STATUS_OK;
}

static enum status use_nxmx(const char *path, const struct nxmx_rows *rows, struct request *q,
                            struct geometry_panels *p, struct experiment *x, struct error *e)
{
    struct nxmx_geometry g;
    enum status s = nxmx_geometry_read(path, &g, e);
    s = s ? s : geometry_take_panels(g.panels, g.npanels, q, p, e);
    q->detector.places = p->places;
    q->beam.wavelength_m = g.wavelength_m > 0 ? g.wavelength_m : WAVELENGTH_M;
    if (!s && !(g.wavelength_m > 0))
        log_line(LOG_WARNING,
                 "%s: no wavelength found, so resolutions are wrong (used instead: 1 A)", path);
    if (!s && g.other_wavelength_m > 0)
        log_line(LOG_WARNING,
                 "%s: contains two wavelengths, %.6g and %.6g A; the first one is used", path,
                 m_to_angstrom(g.wavelength_m), m_to_angstrom(g.other_wavelength_m));
    s = s ? s : setup_laboratory(q, x, e);
    x->saturation = s ? 0.0 : g.saturation;
    s = s ? s : take_reasons(&g, x, e);
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
    if (s == STATUS_OK)
        nxmx_axes(x, axes);
    return s;
}
