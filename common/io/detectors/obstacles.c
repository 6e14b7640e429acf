#include "io/detectors/obstacles.h"

#include <float.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/hdf5/hdf5_read.h"
#include "io/images/image_file.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/text/textfile.h"

/* --- polygons -------------------------------------------------------------------- */

/* Begins a new polygon with a line "shadow TRANSMISSION [MM]".  STATUS_INPUT: the line is wrong,
 * or there are too many shadows. */
static enum status add_polygon(const struct text_file *t, struct shadows *s, struct error *e)
{
    struct polygon *p = &s->polygons[s->npolygons];
    double distance_mm = 0.0;
    if (s->npolygons == SHADOWS_MAX)
        return text_error(t, e, "more than %d shadows", SHADOWS_MAX);
    if (t->nwords < 2 || t->nwords > 3)
        return text_error(
            t, e, "unknown line; expected 'shadow TRANSMISSION' or 'shadow TRANSMISSION MM'");
    enum status status = text_real(t, 1, "transmission", 0.0, 1.0, &p->transmission, e);
    if (!status && t->nwords == 3)
        status = text_real(t, 2, "distance in mm", 1e-3, 1e6, &distance_mm, e);
    p->distance_m = mm_to_m(distance_mm);
    p->first = s->ncorners;
    p->count = 0;
    s->npolygons += !status;
    return status;
}

static enum status add_corner(const struct text_file *t, struct shadows *s, struct error *e)
{
    if (!s->npolygons)
        return text_error(
            t, e,
            "a corner precedes the first shadow; expected a line 'shadow TRANSMISSION' before it");
    if (s->ncorners == SHADOW_CORNERS_MAX)
        return text_error(t, e, "more than %d corners in all shadows", SHADOW_CORNERS_MAX);
    if (t->nwords != 2)
        return text_error(t, e, "%d columns; expected two: mm from the beam along fast and slow",
                          t->nwords);
    static const char *const names[] = {"mm along fast", "mm along slow"};
    for (int i = 0; i < 2; i++) {
        double mm;
        const enum status status = text_real(t, i, names[i], -1e4, 1e4, &mm, e);
        if (status)
            return status;
        s->corners_m[s->ncorners][i] = mm_to_m(mm);
    }
    s->ncorners++;
    s->polygons[s->npolygons - 1].count++;
    return STATUS_OK;
}

/* Checks the last polygon at its end.  STATUS_INPUT: it has fewer than 3 corners. */
static enum status close_polygon(const struct text_file *t, const struct shadows *s,
                                 struct error *e)
{
    return s->npolygons && s->polygons[s->npolygons - 1].count < 3
               ? text_error(t, e, "the previous shadow has %zu corners; expected at least 3",
                            s->polygons[s->npolygons - 1].count)
               : STATUS_OK;
}

static enum status read_shadows(struct text_file *t, struct shadows *s, struct error *e)
{
    enum status status;
    while (!(status = text_line(t, TEXT_SPACE, '#', e)) && t->nwords) {
        const bool begins = strcmp(t->word[0], "shadow") == 0;
        status = begins ? close_polygon(t, s, e) : STATUS_OK;
        status = status ? status : begins ? add_polygon(t, s, e) : add_corner(t, s, e);
        if (status)
            return status;
    }
    if (!status && !s->npolygons)
        return error_set(e, STATUS_INPUT,
                         "%s: no shadow found; expected a line 'shadow TRANSMISSION'", t->path);
    return status ? status : close_polygon(t, s, e);
}

enum status shadows_read(const char *path, struct shadows *s, struct error *e)
{
    struct text_file t;
    *s = (struct shadows){.polygons = mem_array(SHADOWS_MAX, sizeof *s->polygons),
                          .corners_m = mem_array(SHADOW_CORNERS_MAX, sizeof *s->corners_m)};
    if (!s->polygons || !s->corners_m)
        return error_memory(e, "the shadows");
    enum status status = text_open(&t, path, FILETYPE_SHADOWS, TEXT_BYTES_MAX, e);
    status = status ? status : read_shadows(&t, s, e);
    text_close(&t);
    return status;
}

void shadows_free(struct shadows *s)
{
    mem_free(s->polygons);
    mem_free(s->corners_m);
    *s = (struct shadows){0};
}

/* --- maps: HDF5 -------------------------------------------------------------------- */

enum { RANK_MAX = 3, PIXELS_MAX = 1 << 28 };
#define DATA "/transmission"

/* Checks the unit of the map.  STATUS_INPUT: the map has a unit, but a transmission is a
 * fraction without one. */
static enum status check_share_units(struct hdf5_file *f, const char *path, struct error *e)
{
    static const char *const none[] = {"", "1", "none", "dimensionless", "fraction", "unitless"};
    const struct nexus n = {f->id, path};
    char units[NEXUS_TEXT];
    if (!nexus_text(&n, DATA, "units", units))
        return STATUS_OK;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcasecmp(units, none[i]) == 0)
            return STATUS_OK;
    return nexus_error(
        &n, DATA, e, "units are '%.40s'; expected a transmission from 0 to 1 without units", units);
}

static enum status read_map(hid_t data, const char *path, struct transmission *t, struct error *e)
{
    hsize_t size[RANK_MAX];
    const int rank = hdf5_sizes(data, 2, RANK_MAX, PIXELS_MAX, size);
    if (!rank)
        return error_set(
            e, STATUS_INPUT,
            "%s: not a transmission map; expected " DATA ", numbers of 2 or 3 dimensions", path);
    t->count = 1;
    for (int i = 0; i < rank; i++)
        t->count *= (size_t)size[i];
    t->fast_pixels = (int64_t)size[rank - 1];
    t->passes = mem_array(t->count, sizeof *t->passes);
    return t->passes ? hdf5_read_numbers(data, path, DATA, H5T_NATIVE_FLOAT, t->passes, e)
                     : error_memory(e, path);
}

static enum status take_map(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    const hid_t data = hdf5_open_data(f->id, DATA);
    enum status s = read_map(data, path, what, e);
    s = s ? s : check_share_units(f, path, e);
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

static void try_map(struct hdf5_file *f)
{
    struct transmission t = {0};
    struct error e;
    (void)take_map(f, "", &t, &e);
    transmission_free(&t);
}

/* --- maps: images ------------------------------------------------------------------------ */

/* Checks that values were written as float32 of this byte order.  STATUS_INPUT: a value is
 * denormal.  Whole numbers, and floats of the other byte order, look like such tiny values. */
static enum status check_floats(const char *path, const struct transmission *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->passes[i] > 0.0f && t->passes[i] < FLT_MIN)
            return error_set(e, STATUS_INPUT,
                             "%s: pixel %zu has a transmission of %g; expected little-endian "
                             "float32 from 0 to 1, not integers and not big-endian",
                             path, i, (double)t->passes[i]);
    return STATUS_OK;
}

/* Reads pixel size and wavelength from the header of an image whose format has one. */
static enum status read_header(const char *path, struct transmission *t, struct error *e)
{
    struct image_header h;
    const enum status s = image_header_read(path, &h, e);
    if (!s) {
        t->pixel_m = h.pixel_m;
        t->wavelength_m = h.wavelength_m;
    }
    return s;
}

static enum status take_image(const char *path, const struct image_file *f, struct transmission *t,
                              struct error *e)
{
    const bool whole = f->image.type != PIXEL_F32;
    if (whole && f->image.type != PIXEL_U16)
        return error_set(e, STATUS_INPUT,
                         "%s: not a transmission map; expected SMV with 16 bits, raw float32, or "
                         "HDF5 with " DATA,
                         path);
    t->fast_pixels = f->fast;
    t->count = f->image.count;
    t->passes = mem_array(t->count, sizeof *t->passes);
    for (size_t i = 0; t->passes && i < t->count; i++)
        t->passes[i] = (float)(image_value(&f->image, i) / (whole ? UINT16_MAX : 1));
    return t->passes ? check_floats(path, t, e) : error_memory(e, path);
}

static enum status read_image(const char *path, struct transmission *t, struct error *e)
{
    struct image_file f;
    const enum status s = image_file_read(path, &f, e);
    if (s)
        return s;
    enum status taken = take_image(path, &f, t, e);
    taken = taken || !f.fast ? taken : read_header(path, t, e);
    image_free(&f.image);
    return taken;
}

/* --- maps: checks ----------------------------------------------------------------------- */

static enum status check_map(const char *path, const struct transmission *t, struct error *e)
{
    bool dark = true;
    for (size_t i = 0; i < t->count; i++)
        if (!(t->passes[i] >= 0.0f && t->passes[i] <= 1.0f))
            return error_set(e, STATUS_INPUT,
                             "%s: pixel %zu has a transmission of %g; expected a value from 0 to 1",
                             path, i, (double)t->passes[i]);
        else
            dark = dark && t->passes[i] == 0.0f;
    return dark ? error_set(e, STATUS_INPUT,
                            "%s: all pixels are 0, so no photon passes; expected transmissions "
                            "from 0 to 1",
                            path)
                : STATUS_OK;
}

enum status transmission_read(const char *path, struct transmission *t, struct error *e)
{
    *t = (struct transmission){0};
    const enum status s =
        nxmx_is_hdf5(path) ? hdf5_take(path, try_map, take_map, t, e) : read_image(path, t, e);
    return s ? s : check_map(path, t, e);
}

void transmission_free(struct transmission *t)
{
    mem_free(t->passes);
    *t = (struct transmission){0};
}
