#include "io/detectors/gain_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"

enum { PLANES = GAIN_FILES_STAGES + 1 };

static void put(struct hdf5_file *f, const char *path, hid_t type, int rank, const hsize_t *size,
                const void *values)
{
    const hid_t data = hdf5_data(f, path, type, rank, size, H5P_DEFAULT, values);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

static void put_planes(struct hdf5_file *f, const hsize_t size[3],
                       float *const plane[GAIN_FILES_STAGES])
{
    const size_t count = (size_t)(size[1] * size[2]);
    float *all = mem_array(count, PLANES * sizeof *all);
    if (!hdf5_good(f, all ? 0 : -1))
        return;
    for (size_t i = 0; i < PLANES; i++)
        memcpy(all + i * count, plane[i % GAIN_FILES_STAGES], count * sizeof *all);
    put(f, "/gains", H5T_NATIVE_FLOAT, 3, size, all);
    mem_free(all);
}

static void put_mask(struct hdf5_file *f, const hsize_t size[3], const struct experiment *x)
{
    uint32_t *mask = mem_array((size_t)(size[1] * size[2]), sizeof *mask);
    if (!hdf5_good(f, mask ? 0 : -1))
        return;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t i = 0; p->mask && i < p->fast_pixels * p->slow_pixels; i++)
            mask[p->first_pixel + i] = p->mask[i] ? 0 : experiment_mask_word(x, p->first_pixel + i);
    put(f, "/pixel_mask", H5T_NATIVE_UINT32, 2, size + 1, mask);
    mem_free(mask);
}

enum status gain_file_open(struct hdf5_file *f, const char *prefix, const char *what,
                           const struct experiment *x, struct error *e)
{
    char path[PATH_MAX];
    for (size_t i = 1; i < x->npanels; i++)
        if (x->panels[i].fast_pixels != x->panels[0].fast_pixels)
            return error_set(e, STATUS_INPUT,
                             "calibration files need panels of one width, those of panels 0 and "
                             "%zu differ",
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
    const enum status s = gain_file_open(&f, prefix, what, x, e);
    if (s)
        return s;
    put_planes(&f, size, plane);
    if (masked)
        put_mask(&f, size, x);
    return hdf5_commit(&f, e);
}

enum status gain_files_write(const char *prefix, const struct experiment *x,
                             float *const gain[GAIN_FILES_STAGES],
                             float *const pedestal[GAIN_FILES_STAGES], struct error *e)
{
    const enum status s = write_one(prefix, "gains", x, gain, false, e);
    return s ? s : write_one(prefix, "pedestals", x, pedestal, true, e);
}
