/*
 * The geometry of images from another file, for --geometry-from: detector, beam, and the place of
 * each panel in the image.  The readers are those of bragg-geometry.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/units.h"
#include "io/crystfel/geom.h"
#include "physics/setup.h"
#include "replay.h"
#include "stages/geometry/geometry.h"

#define OPTION "--geometry-from"

static enum filetype type_of(const char *path)
{
    struct stat st;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    const enum filetype type = in ? filetype_of_file(in) : FILETYPE_OTHER;
    if (in)
        (void)fclose(in);
    return type;
}

/* Sets a value of bragg-geometry, as if its option were typed. */
static enum status give(struct geometry_options *o, const char *name, const char *text,
                        struct error *e)
{
    const struct opt *row = opt_find(geometry_table, name, strlen(name));
    opt_mark(row, o, true);
    return opt_store(row, o, text, e);
}

static enum status give_number(struct geometry_options *o, const char *name, double number,
                               struct error *e)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.17g", number);
    return give(o, name, text, e);
}

/* Returns the option of bragg-geometry that reads such a file; NULL: there is none. */
static const char *option_of(enum filetype type)
{
    switch (type) {
    case FILETYPE_GEOM:
        return "geom";
    case FILETYPE_EXPT:
        return "expt";
    case FILETYPE_PONI:
    case FILETYPE_HDF5:
    case FILETYPE_CBF:
    case FILETYPE_CBOR:
    case FILETYPE_SMV:
        return "detector";
    default:
        return NULL;
    }
}

/* A file of CrystFEL may name data sets of each frame instead of energy and distance.  Gives the
 * values that the images have of them. */
static enum status complete_geom(struct replay_geometry *g, struct geometry_options *o,
                                 struct error *e)
{
    struct geom file;
    const bool names = geom_read(g->path, 0, &file, NULL) != STATUS_OK && g->distance_m > 0;
    geom_free(&file);
    enum status s = names ? give_number(o, "distance", m_to_mm(g->distance_m), e) : STATUS_OK;
    if (s)
        return s;
    s = geom_read(g->path, names ? g->distance_m : 0, &file, e);
    if (!s && !(file.wavelength_m > 0) && g->wavelength_m > 0)
        s = give_number(o, "wavelength", m_to_angstrom(g->wavelength_m), e);
    if (!s) {
        g->gain = geom_gain(&file, file.wavelength_m > 0 ? file.wavelength_m : g->wavelength_m);
        g->saturation = isfinite(file.max_adu) ? file.max_adu + 1 : 0;
    }
    geom_free(&file);
    return s;
}

/* Names the option in an error of bragg-geometry, whose own options do not help here. */
static enum status name_option(const struct replay_geometry *g, enum status s, struct error *e)
{
    struct error cause = *e;
    char *hint = strstr(cause.text, ". Give --");
    if (hint)
        *hint = '\0';
    return error_set(e, s, "%s%s%s", cause.text, hint ? ". Write a number into " : "",
                     hint ? g->path : "");
}

static enum status set_up(struct replay_geometry *g, struct geometry_options *o,
                          struct experiment *x, struct error *e)
{
    struct request q = {0};
    struct geometry_panels p = {0};
    enum status s = geometry_request(o, &q, e);
    s = s ? s : geometry_panels(o, &q, &p, e);
    q.crystals = NULL;
    q.ncrystals = 0;
    if (!s) {
        g->npanels = q.detector.nplaces;
        g->first = p.first;
        p.first = NULL;
        s = setup_laboratory(&q, x, e);
    } else {
        mem_free(q.detector.mask);
    }
    x->saturation = g->saturation > 0 ? g->saturation : p.saturation;
    x->counts_photons = p.counts;
    x->gain = g->gain;
    geometry_panels_free(&p, q.detector.nplaces);
    return s;
}

enum status replay_geometry_setup(struct replay_geometry *g, struct experiment *x, struct error *e)
{
    struct geometry_options *o = mem_array(1, sizeof *o);
    const enum filetype type = type_of(g->path);
    const char *name = option_of(type);
    struct stat st;
    g->gain = 1;
    if (stat(g->path, &st)) {
        mem_free(o);
        return error_errno(e, STATUS_FAILED, OPTION ": %s: cannot open", g->path);
    }
    enum status s = name ? opt_defaults(geometry_table, o, e)
                         : error_set(e, STATUS_INPUT,
                                     "%s: has no geometry that " OPTION
                                     " reads; expected a file of CrystFEL (.geom), DIALS (.expt), "
                                     "pyFAI (.poni) or NXmx, or an image (CBF, SMV)",
                                     g->path);
    g->any_place = type == FILETYPE_GEOM;
    s = s ? s : give(o, name, g->path, e);
    if (!s && type == FILETYPE_GEOM)
        s = complete_geom(g, o, e);
    s = s ? s : set_up(g, o, x, e);
    mem_free(o);
    return s && name ? name_option(g, s, e) : s;
}

void replay_geometry_free(struct replay_geometry *g)
{
    mem_free(g->first);
    g->first = NULL;
}

/* Gives panels whose places the file does not have the places one below the other. */
static void stack(struct replay_geometry *g, const struct experiment *x)
{
    bool placed = g->any_place;
    int64_t row = 0;
    for (size_t i = 0; i < g->npanels; i++)
        placed = placed || g->first[i][0] || g->first[i][1];
    for (size_t i = 0; i < g->npanels && !placed; i++) {
        g->first[i][1] = row;
        row += x->panels[i].slow_pixels;
    }
}

enum status replay_geometry_fit(struct replay_geometry *g, const struct experiment *x,
                                const char *path, int64_t fast, int64_t slow, struct error *e)
{
    int64_t end[2] = {0, 0};
    stack(g, x);
    for (size_t i = 0; i < g->npanels; i++) {
        const int64_t last[2] = {g->first[i][0] + x->panels[i].fast_pixels,
                                 g->first[i][1] + x->panels[i].slow_pixels};
        for (int k = 0; k < 2; k++)
            end[k] = last[k] > end[k] ? last[k] : end[k];
    }
    const bool smaller = end[0] < fast || end[1] < slow;
    if (end[0] > fast || end[1] > slow || (smaller && !g->any_place))
        return error_set(e, STATUS_INPUT,
                         "%s: the image has %" PRId64 " x %" PRId64
                         " pixels, but %s describes %" PRId64 " x %" PRId64,
                         path, fast, slow, g->path, end[0], end[1]);
    if (smaller)
        log_line(LOG_WARNING,
                 "%s: the panels of %s end at pixel %" PRId64 ", %" PRId64
                 " of an image of %" PRId64 " x %" PRId64 ". All other pixels are left out",
                 path, g->path, end[0], end[1], fast, slow);
    g->fast = fast;
    g->slow = slow;
    return STATUS_OK;
}

enum status replay_geometry_pixels(const struct replay_geometry *g, const struct experiment *x,
                                   const char *path, const struct image *from, struct image *to,
                                   struct error *e)
{
    const size_t size = pixel_size(from->type);
    if (from->count != (size_t)(g->fast * g->slow))
        return error_set(e, STATUS_INPUT,
                         "%s: the image has %zu pixels; expected %" PRId64 " x %" PRId64, path,
                         from->count, g->fast, g->slow);
    if (!image_reserve(to, from->type, UNIT_ADU, (size_t)experiment_pixels(x)))
        return error_memory(e, "a frame");
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t s = 0; s < p->slow_pixels; s++) {
            const int64_t source = (g->first[i][1] + s) * g->fast + g->first[i][0];
            memcpy((char *)to->pixels + (size_t)(p->first_pixel + s * p->fast_pixels) * size,
                   (const char *)from->pixels + (size_t)source * size,
                   (size_t)p->fast_pixels * size);
        }
    }
    return STATUS_OK;
}

void replay_geometry_mask(const struct replay_geometry *g, struct experiment *x,
                          const uint16_t *mask)
{
    for (size_t i = 0; mask && i < x->npanels; i++) {
        struct panel *p = &x->panels[i];
        const size_t count = (size_t)(p->fast_pixels * p->slow_pixels);
        if (!p->mask)
            memset(p->mask = mem_array(count, 1), 1, count);
        for (size_t k = 0; k < count; k++) {
            const int64_t s = (int64_t)k / p->fast_pixels, f = (int64_t)k % p->fast_pixels;
            if (mask[(g->first[i][1] + s) * g->fast + g->first[i][0] + f])
                p->mask[k] = 0;
        }
    }
}
