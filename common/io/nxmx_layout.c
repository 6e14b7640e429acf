#include "io/nxmx_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "base/version.h"

#define INSTRUMENT "/entry/instrument"
#define DETECTOR INSTRUMENT "/detector"
#define WAVELENGTH INSTRUMENT "/beam/incident_wavelength"
#define OMEGA "/entry/sample/transformations/omega"

enum { GROUP_BYTES = 64, PATH_BYTES = 128 };

/* Of a sensor without thickness: dxtbx wants more than 0. */
static const double THIN_M = 1e-9;

/* --- pieces -------------------------------------------------------------- */

hid_t nxmx_pixel_type(enum pixel_type type)
{
    switch (type) {
    case PIXEL_F32:
        return H5T_IEEE_F32LE;
    case PIXEL_U16:
        return H5T_STD_U16LE;
    case PIXEL_U32:
        return H5T_STD_U32LE;
    case PIXEL_I32:
        break;
    }
    return H5T_STD_I32LE;
}

void nxmx_image_size(const struct experiment *x, hsize_t size[2])
{
    size[0] = 0;
    for (size_t i = 0; i < x->npanels; i++)
        size[0] += (hsize_t)x->panels[i].slow_pixels;
    size[1] = (hsize_t)x->panels->fast_pixels;
}

/* What makes a data set an axis; `on` is the one that it depends on. */
static void note_axis(struct hdf5_file *f, const char *path, const char *type, const double v[3],
                      const char *units, const char *on)
{
    static const double none[3];
    hdf5_note_text(f, path, "transformation_type", type);
    hdf5_note_reals(f, path, "vector", 3, v);
    hdf5_note_reals(f, path, "offset", 3, none);
    hdf5_note_text(f, path, "offset_units", "m");
    hdf5_note_text(f, path, "units", units);
    hdf5_note_text(f, path, "depends_on", on);
}

/* A translation by `length_m` along the unit vector v. */
static void put_translation(struct hdf5_file *f, const char *path, double length_m,
                            const double v[3], const char *on)
{
    hdf5_real(f, path, length_m, NULL);
    note_axis(f, path, "translation", v, "m", on);
}

static void put_pair(struct hdf5_file *f, const char *path, uint64_t first, uint64_t second)
{
    const uint64_t pair[2] = {first, second};
    const hid_t data = hdf5_data(f, path, H5T_NATIVE_UINT64, 1, &(hsize_t){2}, H5P_DEFAULT, pair);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

/* --- sample -------------------------------------------------------------- */

/* One member of all frames, in new memory. */
static double *column(struct hdf5_file *f, const struct nxmx_rows *rows, size_t offset)
{
    double *values = mem_array(rows->nframes, sizeof *values);
    if (!values)
        (void)hdf5_good(f, -1);
    for (size_t i = 0; values && i < rows->nframes; i++)
        memcpy(&values[i], (const char *)&rows->frames[i] + offset, sizeof *values);
    return values;
}

static void put_omega(struct hdf5_file *f, const struct experiment *x, const struct nxmx_rows *rows)
{
    double *start = column(f, rows, offsetof(struct nxmx_frame, rotation_start)),
           *width = column(f, rows, offsetof(struct nxmx_frame, rotation_width));
    double axes[9], spindle[3];
    const hsize_t n = rows->nframes;
    nxmx_axes(x, axes);
    nxmx_turn(axes, x->spindle, spindle);
    if (start && width) {
        hdf5_reals(f, OMEGA, 1, &n, start);
        note_axis(f, OMEGA, "rotation", spindle, "deg", ".");
        for (size_t i = 0; i < n; i++)
            start[i] += width[i];
        hdf5_reals(f, OMEGA "_end", 1, &n, start);
        hdf5_note_text(f, OMEGA "_end", "units", "deg");
        hdf5_real(f, OMEGA "_increment_set", width[0], "deg");
    }
    mem_free(start);
    mem_free(width);
}

static void put_sample(struct hdf5_file *f, const struct experiment *x,
                       const struct nxmx_rows *rows)
{
    hdf5_group(f, "/entry/sample", "NXsample");
    hdf5_text(f, "/entry/sample/name", x->ncrystals ? x->crystals->name : "");
    bool rotates = false;
    for (size_t i = 0; i < rows->nframes; i++)
        rotates |= rows->frames[i].rotation_width != 0.0;
    if (!rotates)
        return;
    hdf5_group(f, "/entry/sample/transformations", "NXtransformations");
    put_omega(f, x, rows);
    hdf5_text(f, "/entry/sample/depends_on", OMEGA);
}

/* --- beam ---------------------------------------------------------------- */

/* A value of the frames: one number if it is the same for all. */
static void put_varying(struct hdf5_file *f, const char *path, const struct nxmx_rows *rows,
                        size_t offset, const char *units)
{
    double *values = column(f, rows, offset);
    if (!values)
        return;
    bool same = true;
    for (size_t i = 1; i < rows->nframes; i++)
        same &= values[i] == values[0];
    hdf5_reals(f, path, !same, &(hsize_t){rows->nframes}, values);
    hdf5_note_text(f, path, "units", units);
    mem_free(values);
}

/* The sources of the beam if they differ in wavelength. */
static void put_spectrum(struct hdf5_file *f, const struct beam *b)
{
    bool same = true;
    for (size_t i = 1; i < b->nsources; i++)
        same &= b->sources[i].wavelength_m == b->sources[0].wavelength_m;
    double *values = same ? NULL : mem_array(b->nsources, sizeof *values);
    if (same || !hdf5_good(f, values ? 0 : -1))
        return;
    const hsize_t n = b->nsources;
    for (size_t i = 0; i < n; i++)
        values[i] = m_to_angstrom(b->sources[i].wavelength_m);
    hdf5_reals(f, WAVELENGTH "_spectrum", 1, &n, values);
    hdf5_note_text(f, WAVELENGTH "_spectrum", "units", "angstrom");
    for (size_t i = 0; i < n; i++)
        values[i] = b->sources[i].weight;
    hdf5_reals(f, WAVELENGTH "_spectrum_weights", 1, &n, values);
    hdf5_note_text(f, WAVELENGTH, "variant", "incident_wavelength_spectrum");
    mem_free(values);
}

static void put_beam(struct hdf5_file *f, const struct experiment *x, const struct nxmx_rows *rows)
{
    hdf5_group(f, INSTRUMENT "/beam", "NXbeam");
    put_varying(f, WAVELENGTH, rows, offsetof(struct nxmx_frame, wavelength), "angstrom");
    put_spectrum(f, &x->beam);
    /* An exposure has 1 s, see frame_time. */
    put_varying(f, INSTRUMENT "/beam/flux", rows, offsetof(struct nxmx_frame, fluence),
                "1/(m^2*s)");
    if (x->beam.size_m > 0.0) {
        const double size[2] = {x->beam.size_m, x->beam.size_m};
        hdf5_reals(f, INSTRUMENT "/beam/incident_beam_size", 1, &(hsize_t){2}, size);
        hdf5_note_text(f, INSTRUMENT "/beam/incident_beam_size", "units", "m");
    }
    hdf5_group(f, "/entry/source", "NXsource");
    hdf5_text(f, "/entry/source/name", "braggpipe " BRAGG_VERSION ", simulated");
}

/* --- detector ------------------------------------------------------------ */

static void put_module(struct hdf5_file *f, const struct experiment *x, size_t number,
                       const char *group, hsize_t slow_origin)
{
    const struct panel *p = &x->panels[number];
    double axes[9], origin[3], v[3];
    char offset[PATH_BYTES], path[PATH_BYTES];
    nxmx_axes(x, axes);
    nxmx_turn(axes, p->origin_m, origin);
    origin[2] -= x->panels->distance_m;  // that is in det_z
    const double length =
        sqrt(origin[0] * origin[0] + origin[1] * origin[1] + origin[2] * origin[2]);
    for (int i = 0; i < 3; i++)
        v[i] = length > 0.0 ? origin[i] / length : i == 0;
#define IN(name) (snprintf(path, sizeof path, "%s/" name, group), path)
    hdf5_group(f, group, "NXdetector_module");
    put_pair(f, IN("data_origin"), slow_origin, 0);
    put_pair(f, IN("data_size"), (uint64_t)p->slow_pixels, (uint64_t)p->fast_pixels);
    (void)snprintf(offset, sizeof offset, "%s/module_offset", group);
    put_translation(f, offset, length, v, DETECTOR "/transformations/det_z");
    nxmx_turn(axes, p->fast, v);
    put_translation(f, IN("fast_pixel_direction"), p->pixel_m, v, offset);
    nxmx_turn(axes, p->slow, v);
    put_translation(f, IN("slow_pixel_direction"), p->pixel_m, v, offset);
#undef IN
}

static void put_modules(struct hdf5_file *f, const struct experiment *x)
{
    hsize_t slow = 0;
    hdf5_group(f, DETECTOR "/transformations", "NXtransformations");
    put_translation(f, DETECTOR "/transformations/det_z", x->panels->distance_m,
                    (const double[]){0, 0, 1}, ".");
    hdf5_text(f, DETECTOR "/depends_on", DETECTOR "/transformations/det_z");
    for (size_t i = 0; i < x->npanels; i++) {
        char group[GROUP_BYTES] = DETECTOR "/module";
        if (x->npanels > 1)
            (void)snprintf(group, sizeof group, DETECTOR "/module_%03zu", i);
        put_module(f, x, i, group, slow);
        slow += (hsize_t)x->panels[i].slow_pixels;
    }
}

/* Bit 0 of a pixel: never computed, a gap. */
static void put_mask(struct hdf5_file *f, const struct experiment *x)
{
    hsize_t size[2];
    bool any = false;
    for (size_t i = 0; i < x->npanels; i++)
        any |= x->panels[i].mask != NULL;
    nxmx_image_size(x, size);
    uint32_t *mask = any ? mem_array((size_t)(size[0] * size[1]), sizeof *mask) : NULL;
    if (!any || !hdf5_good(f, mask ? 0 : -1))
        return;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t k = 0; p->mask && k < p->fast_pixels * p->slow_pixels; k++)
            mask[p->first_pixel + k] = !p->mask[k];
    }
    const hid_t packed = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(packed, 2, size));
    (void)hdf5_good(f, H5Pset_deflate(packed, 1));
    const hid_t data =
        hdf5_data(f, DETECTOR "/pixel_mask", H5T_NATIVE_UINT32, 2, size, packed, mask);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Pclose(packed);
    mem_free(mask);
}

static void put_range(struct hdf5_file *f, const struct experiment *x, enum pixel_type type)
{
    static const double most[] = {
        [PIXEL_U16] = UINT16_MAX, [PIXEL_U32] = UINT32_MAX, [PIXEL_I32] = INT32_MAX};
    if (type == PIXEL_F32)
        return;
    const double limit =
        x->saturation > 0.0 && x->saturation < most[type] ? x->saturation : most[type];
    hdf5_whole(f, DETECTOR "/saturation_value", (uint64_t)limit);
    hdf5_whole(f, DETECTOR "/underload_value", 0);
    hdf5_whole(f, DETECTOR "/bit_depth_readout", 8 * pixel_size(type));
}

static void put_detector(struct hdf5_file *f, const struct nxmx_kind *kind)
{
    const struct panel *p = kind->experiment->panels;
    hdf5_group(f, DETECTOR, "NXdetector");
    hdf5_text(f, DETECTOR "/description", "simulated");
    hdf5_text(f, DETECTOR "/type", "pixel");
    hdf5_text(f, DETECTOR "/sensor_material", "Si");
    hdf5_real(f, DETECTOR "/sensor_thickness", p->thickness_m > 0.0 ? p->thickness_m : THIN_M, "m");
    hdf5_real(f, DETECTOR "/count_time", 1.0, "s");
    hdf5_real(f, DETECTOR "/frame_time", 1.0, "s");
    hdf5_real(f, DETECTOR "/distance", p->distance_m, "m");
    hdf5_real(f, DETECTOR "/x_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/y_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/beam_center_x", p->beam_fast_m / p->pixel_m, "pixel");
    hdf5_real(f, DETECTOR "/beam_center_y", p->beam_slow_m / p->pixel_m, "pixel");
    put_range(f, kind->experiment, kind->type);
    put_mask(f, kind->experiment);
    put_modules(f, kind->experiment);
}

/* --- the truth ----------------------------------------------------------- */

static void put_crystal(struct hdf5_file *f, const struct crystal *c, size_t number)
{
    char group[GROUP_BYTES], path[PATH_BYTES];
    (void)snprintf(group, sizeof group, NXMX_TRUTH "/crystal_%zu", number);
#define IN(name) (snprintf(path, sizeof path, "%s/" name, group), path)
    double cell[6];
    crystal_cell(c, cell);
    hdf5_group(f, group, "NXcollection");
    hdf5_text(f, IN("name"), c->name);
    hdf5_reals(f, IN("cell"), 1, &(hsize_t){6}, cell);
    hdf5_reals(f, IN("cells_along_axes"), 1, &(hsize_t){3}, c->cells);
#undef IN
}

static void put_truth(struct hdf5_file *f, const struct nxmx_kind *kind,
                      const struct nxmx_rows *rows)
{
    const struct experiment *x = kind->experiment;
    double axes[9];
    nxmx_axes(x, axes);
    hdf5_group(f, NXMX_TRUTH, "NXcollection");
    hdf5_text(f, NXMX_TRUTH "/version", BRAGG_VERSION);
    hdf5_text(f, NXMX_TRUTH "/lineage", kind->lineage);
    hdf5_text(f, NXMX_TRUTH "/history", x->history);
    hdf5_text(f, NXMX_TRUTH "/compression", nxmx_compression_name(kind->compression));
    hdf5_reals(f, NXMX_TRUTH "/lab_to_nexus", 2, (const hsize_t[]){3, 3}, axes);
    hdf5_real(f, NXMX_TRUTH "/adc_offset", x->adc_offset, NULL);
    hdf5_real(f, NXMX_TRUTH "/gain", x->gain, NULL);
    for (size_t i = 0; i < x->ncrystals; i++)
        put_crystal(f, &x->crystals[i], i);
    nxmx_put_rows(f, rows);
}

void nxmx_layout(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows)
{
    hdf5_note_text(f, "/", "default", "entry");
    hdf5_group(f, "/entry", "NXentry");
    hdf5_text(f, "/entry/definition", "NXmx");
    hdf5_note_text(f, "/entry", "default", "data");
    hdf5_group(f, "/entry/data", "NXdata");
    hdf5_note_text(f, "/entry/data", "signal", "data");
    put_sample(f, kind->experiment, rows);
    hdf5_group(f, INSTRUMENT, "NXinstrument");
    hdf5_text(f, INSTRUMENT "/name", "braggpipe");
    put_beam(f, kind->experiment, rows);
    put_detector(f, kind);
    put_truth(f, kind, rows);
}
