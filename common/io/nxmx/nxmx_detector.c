/* The detector of an NXmx file: its modules, where they stand, and its mask. */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/nxmx/nxmx_layout.h"

#define DETECTOR NXMX_INSTRUMENT "/detector"
#define SHIFT DETECTOR "/transformations/shift_"

enum { GROUP_BYTES = 64, PATH_BYTES = 128 };

/* Of a sensor without depth: dxtbx wants more than 0. */
static const double THIN_M = 1e-9;

void nxmx_image_size(const struct experiment *x, hsize_t size[2])
{
    size[0] = 0;
    for (size_t i = 0; i < x->npanels; i++)
        size[0] += (hsize_t)x->panels[i].slow_pixels;
    size[1] = (hsize_t)x->panels->fast_pixels;
}

void nxmx_note_axis(struct hdf5_file *f, const char *path, const char *type, const double v[3],
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
    nxmx_note_axis(f, path, "translation", v, "m", on);
}

static void put_pair(struct hdf5_file *f, const char *path, uint64_t first, uint64_t second)
{
    const uint64_t pair[2] = {first, second};
    const hid_t data = hdf5_data(f, path, H5T_NATIVE_UINT64, 1, &(hsize_t){2}, H5P_DEFAULT, pair);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

static void put_module(struct hdf5_file *f, const struct experiment *x, size_t number,
                       const char *group, hsize_t slow_origin)
{
    const struct panel *p = &x->panels[number];
    double axes[9], origin[3], v[3];
    char offset[PATH_BYTES], path[PATH_BYTES];
    nxmx_axes(x, axes);
    mat_apply(axes, p->origin_m, origin);
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
    mat_apply(axes, p->fast, v);
    put_translation(f, IN("fast_pixel_direction"), p->pixel_m, v, offset);
    mat_apply(axes, p->slow, v);
    put_translation(f, IN("slow_pixel_direction"), p->pixel_m, v, offset);
#undef IN
}

/* Axes along x, y and z, each with a number for every frame; the last is that of z. */
static void put_shifts(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    static const char *const paths[] = {".", SHIFT "x", SHIFT "y", SHIFT "z"};
    double *values = mem_array(rows->nframes, sizeof *values);
    if (!hdf5_good(f, values ? 0 : -1))
        return;
    for (int k = 0; k < 3; k++) {
        const double along[3] = {k == 0, k == 1, k == 2};
        for (size_t i = 0; i < rows->nframes; i++)
            values[i] = rows->frames[i].shift_m[k];
        hdf5_reals(f, paths[k + 1], 1, &(hsize_t){rows->nframes}, values);
        nxmx_note_axis(f, paths[k + 1], "translation", along, "m", paths[k]);
    }
    mem_free(values);
}

static void put_modules(struct hdf5_file *f, const struct experiment *x,
                        const struct nxmx_rows *rows)
{
    hsize_t slow = 0;
    hdf5_group(f, DETECTOR "/transformations", "NXtransformations");
    if (x->detector_moves)
        put_shifts(f, rows);
    put_translation(f, DETECTOR "/transformations/det_z", x->panels->distance_m,
                    (const double[]){0, 0, 1}, x->detector_moves ? SHIFT "z" : ".");
    hdf5_text(f, DETECTOR "/depends_on", DETECTOR "/transformations/det_z");
    for (size_t i = 0; i < x->npanels; i++) {
        char group[GROUP_BYTES] = DETECTOR "/module";
        if (x->npanels > 1)
            (void)snprintf(group, sizeof group, DETECTOR "/module_%03zu", i);
        put_module(f, x, i, group, slow);
        slow += (hsize_t)x->panels[i].slow_pixels;
    }
}

/* Why pixels never count. */
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
            mask[p->first_pixel + k] = p->mask[k] ? 0 : experiment_mask_word(x, p->first_pixel + k);
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

void nxmx_put_detector(struct hdf5_file *f, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows)
{
    const struct panel *p = kind->experiment->panels;
    hdf5_group(f, DETECTOR, "NXdetector");
    hdf5_text(f, DETECTOR "/description", "simulated");
    hdf5_text(f, DETECTOR "/type", "pixel");
    hdf5_text(f, DETECTOR "/sensor_material", panel_material(p));
    const double depth_m = panel_depth_m(p);
    hdf5_real(f, DETECTOR "/sensor_thickness", depth_m > 0.0 ? depth_m : THIN_M, "m");
    hdf5_real(f, DETECTOR "/count_time", 1.0, "s");
    hdf5_real(f, DETECTOR "/frame_time", 1.0, "s");
    hdf5_real(f, DETECTOR "/distance", p->distance_m, "m");
    hdf5_flag(f, DETECTOR "/distance_derived", false);
    hdf5_real(f, DETECTOR "/x_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/y_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/beam_center_x", p->beam_fast_m / p->pixel_m, "pixel");
    hdf5_real(f, DETECTOR "/beam_center_y", p->beam_slow_m / p->pixel_m, "pixel");
    hdf5_link(f, DETECTOR "/data", NXMX_DATA);
    put_range(f, kind->experiment, kind->type);
    put_mask(f, kind->experiment);
    put_modules(f, kind->experiment, rows);
}
