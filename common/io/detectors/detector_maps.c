#include "io/detectors/detector_maps.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/hdf5/hdf5_file.h"
#include "io/images/image_file.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_geometry.h"
#include "io/text/textfile.h"

/* ---- shadows and transmission -------------------------------------------------------------- */

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
    return hdf5_read_numbers(data, path, DATA, H5T_NATIVE_FLOAT, t->passes, e);
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
    for (size_t i = 0; i < t->count; i++)
        t->passes[i] = (float)(image_value(&f->image, i) / (whole ? UINT16_MAX : 1));
    return check_floats(path, t, e);
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

/* ---- gains and pedestals ------------------------------------------------------------------- */

enum { PLANES = GAIN_FILES_STAGES + 1, RANK = 4 };

/* --- gains and pedestals -------------------------------------------------------------- */

static void close_data(struct hdf5_file *f, hid_t data)
{
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

static void put_data(struct hdf5_file *f, const char *path, hid_t type, int rank,
                     const hsize_t *size, const void *values)
{
    close_data(f, hdf5_data(f, path, type, rank, size, H5P_DEFAULT, values));
}

static void put_stages(struct hdf5_file *f, const hsize_t size[3],
                       float *const plane[GAIN_FILES_STAGES])
{
    const size_t count = (size_t)(size[1] * size[2]);
    float *all = mem_try_array(count, PLANES * sizeof *all);
    if (!hdf5_good(f, all ? 0 : -1))
        return;
    for (size_t i = 0; i < PLANES; i++)
        memcpy(all + i * count, plane[i % GAIN_FILES_STAGES], count * sizeof *all);
    put_data(f, "/gains", H5T_NATIVE_FLOAT, 3, size, all);
    mem_free(all);
}

static void put_mask_words(struct hdf5_file *f, const hsize_t size[3], const struct experiment *x)
{
    uint32_t *mask = mem_try_array((size_t)(size[1] * size[2]), sizeof *mask);
    if (!hdf5_good(f, mask ? 0 : -1))
        return;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t i = 0; i < p->fast_pixels * p->slow_pixels; i++)
            if (!panel_computes(p, i % p->fast_pixels, i / p->fast_pixels))
                mask[p->first_pixel + i] = experiment_mask_word(x, p->first_pixel + i);
    put_data(f, "/pixel_mask", H5T_NATIVE_UINT32, 2, size + 1, mask);
    mem_free(mask);
}

/* Creates PREFIX_WHAT.h5 for the frames of *x.  An existing file with other contents is kept:
 * hdf5_commit then fails.  The caller calls hdf5_commit or hdf5_abort.  STATUS_INPUT: the panels
 * have different widths.  STATUS_FAILED: the file cannot be created. */
static enum status open_file(struct hdf5_file *f, const char *prefix, const char *what,
                             const struct experiment *x, struct error *e)
{
    char path[PATH_MAX];
    for (size_t i = 1; i < x->npanels; i++)
        if (x->panels[i].fast_pixels != x->panels[0].fast_pixels)
            return error_set(e, STATUS_INPUT,
                             "panels 0 and %zu have different widths; calibration files need "
                             "panels of one width",
                             i);
    if (snprintf(path, sizeof path, "%s_%s.h5", prefix, what) >= (int)sizeof path)
        return error_set(e, STATUS_FAILED, "%.60s...: the name is too long", prefix);
    const enum status s = hdf5_create(f, path, false, e);
    f->replace.guarded = !s;
    return s;
}

static enum status write_one(const char *prefix, const char *what, const struct experiment *x,
                             float *const plane[GAIN_FILES_STAGES], bool masked, struct error *e)
{
    const hsize_t size[3] = {PLANES, (hsize_t)experiment_rows(x),
                             (hsize_t)x->panels[0].fast_pixels};
    struct hdf5_file f;
    const enum status s = open_file(&f, prefix, what, x, e);
    if (s)
        return s;
    put_stages(&f, size, plane);
    if (masked)
        put_mask_words(&f, size, x);
    return hdf5_commit(&f, e);
}

enum status gain_files_write(const char *prefix, const struct experiment *x,
                             float *const gain[GAIN_FILES_STAGES],
                             float *const pedestal[GAIN_FILES_STAGES], struct error *e)
{
    const enum status s = write_one(prefix, "gains", x, gain, false, e);
    return s ? s : write_one(prefix, "pedestals", x, pedestal, true, e);
}

/* --- memory cells --------------------------------------------------------------------- */

#define GAIN "/stage/gain"
#define BAD "/stage/bad"

/* Adds a group without a NeXus class, because the readers of these files do not use classes. */
static void make_group(struct hdf5_file *f, const char *path)
{
    const hid_t made = H5Pcreate(H5P_GROUP_CREATE);
    (void)H5Pset_obj_track_times(made, false);
    const hid_t id = H5Gcreate2(f->id, path, H5P_DEFAULT, made, H5P_DEFAULT);
    if (hdf5_good(f, id))
        (void)hdf5_good(f, H5Gclose(id));
    (void)H5Pclose(made);
}

/* Writes one plane of a data set: its last two dimensions, whose sizes are `plane`.  at[] has
 * the indices of the other dimensions. */
static void put_plane(struct hdf5_file *f, hid_t data, int rank, const hsize_t *at,
                      const hsize_t *plane, hid_t type, const void *values)
{
    hsize_t start[RANK] = {0}, count[RANK];
    if (data < 0)
        return;
    for (int i = 0; i < rank; i++) {
        start[i] = i < rank - 2 ? at[i] : 0;
        count[i] = i < rank - 2 ? 1 : plane[i - rank + 2];
    }
    const hid_t file = H5Dget_space(data), memory = H5Screate_simple(2, plane, NULL);
    (void)hdf5_good(f, H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL));
    (void)hdf5_good(f, H5Dwrite(data, type, memory, file, H5P_DEFAULT, values));
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
}

/* Adds a virtual data set that shows the data set `from` for each memory cell, so that data that
 * are the same for all cells are stored once. */
static void put_view(struct cell_files *f, const char *path, const char *from, hid_t type)
{
    const hsize_t stage[] = {GAIN_FILES_STAGES, f->size[2], f->size[3]};
    const hsize_t count[] = {GAIN_FILES_STAGES, 1, f->size[2], f->size[3]};
    const hid_t made = hdf5_creation(&f->file);
    const hid_t all = H5Screate_simple(RANK, f->size, NULL);
    const hid_t source = H5Screate_simple(3, stage, NULL);
    for (hsize_t cell = 0; cell < f->size[1]; cell++) {
        const hsize_t start[] = {0, cell, 0, 0};
        (void)hdf5_good(&f->file,
                        H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, count, NULL));
        (void)hdf5_good(&f->file, H5Pset_virtual(made, all, ".", from, source));
    }
    close_data(&f->file, hdf5_data(&f->file, path, type, RANK, f->size, made, NULL));
    (void)H5Sclose(source);
    (void)H5Sclose(all);
    (void)H5Pclose(made);
}

enum status cell_files_open(struct cell_files *f, const char *prefix, const struct experiment *x,
                            uint64_t cells, struct error *e)
{
    const enum status s = open_file(&f->file, prefix, "agipd", x, e);
    if (s)
        return s;
    const hsize_t size[RANK] = {GAIN_FILES_STAGES, cells, (hsize_t)experiment_rows(x),
                                (hsize_t)x->panels[0].fast_pixels};
    memcpy(f->size, size, sizeof size);
    make_group(&f->file, "/stage");
    f->offsets =
        hdf5_data(&f->file, "/AnalogOffset", H5T_NATIVE_FLOAT, RANK, size, H5P_DEFAULT, NULL);
    f->levels =
        hdf5_data(&f->file, "/DigitalGainLevel", H5T_NATIVE_FLOAT, RANK, size, H5P_DEFAULT, NULL);
    const hsize_t stage[] = {GAIN_FILES_STAGES, size[2], size[3]};
    f->gains = hdf5_data(&f->file, GAIN, H5T_NATIVE_FLOAT, 3, stage, H5P_DEFAULT, NULL);
    return STATUS_OK;
}

void cell_files_offsets(struct cell_files *f, int stage, uint64_t cell, const float *plane)
{
    put_plane(&f->file, f->offsets, RANK, (hsize_t[]){(hsize_t)stage, cell}, f->size + 2,
              H5T_NATIVE_FLOAT, plane);
}

void cell_files_levels(struct cell_files *f, int stage, uint64_t cell, const float *plane)
{
    put_plane(&f->file, f->levels, RANK, (hsize_t[]){(hsize_t)stage, cell}, f->size + 2,
              H5T_NATIVE_FLOAT, plane);
}

void cell_files_gains(struct cell_files *f, int stage, double mean_adu_keV, const float *gain,
                      float *room)
{
    for (hsize_t i = 0; i < f->size[2] * f->size[3]; i++)
        room[i] = (float)(mean_adu_keV / (double)gain[i]);
    put_plane(&f->file, f->gains, 3, (hsize_t[]){(hsize_t)stage}, f->size + 2, H5T_NATIVE_FLOAT,
              room);
    if (stage == 0)
        hdf5_real(&f->file, "/adu_per_keV", mean_adu_keV, NULL);
}

static void put_bad_pixels(struct cell_files *f, const struct experiment *x)
{
    const hsize_t size[] = {GAIN_FILES_STAGES, f->size[2], f->size[3]};
    uint8_t *bad = mem_try_array((size_t)(size[1] * size[2]), sizeof *bad);
    if (!hdf5_good(&f->file, bad ? 0 : -1))
        return;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t i = 0; p->mask && i < p->fast_pixels * p->slow_pixels; i++)
            bad[p->first_pixel + i] = !p->mask[i];
    const hid_t data = hdf5_data(&f->file, BAD, H5T_NATIVE_UINT8, 3, size, H5P_DEFAULT, NULL);
    for (hsize_t stage = 0; stage < GAIN_FILES_STAGES; stage++)
        put_plane(&f->file, data, 3, &stage, size + 1, H5T_NATIVE_UINT8, bad);
    close_data(&f->file, data);
    mem_free(bad);
}

enum status cell_files_commit(struct cell_files *f, const struct experiment *x, struct error *e)
{
    put_bad_pixels(f, x);
    put_view(f, "/RelativeGain", GAIN, H5T_NATIVE_FLOAT);
    put_view(f, "/Badpixel", BAD, H5T_NATIVE_UINT8);
    close_data(&f->file, f->offsets);
    close_data(&f->file, f->levels);
    close_data(&f->file, f->gains);
    return hdf5_commit(&f->file, e);
}
