#include "io/detectors/gain_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"

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
    float *all = mem_array(count, PLANES * sizeof *all);
    if (!hdf5_good(f, all ? 0 : -1))
        return;
    for (size_t i = 0; i < PLANES; i++)
        memcpy(all + i * count, plane[i % GAIN_FILES_STAGES], count * sizeof *all);
    put_data(f, "/gains", H5T_NATIVE_FLOAT, 3, size, all);
    mem_free(all);
}

static void put_mask_words(struct hdf5_file *f, const hsize_t size[3], const struct experiment *x)
{
    uint32_t *mask = mem_array((size_t)(size[1] * size[2]), sizeof *mask);
    if (!hdf5_good(f, mask ? 0 : -1))
        return;
    for (const struct panel *p = x->panels; p < x->panels + x->npanels; p++)
        for (int64_t i = 0; p->mask && i < p->fast_pixels * p->slow_pixels; i++)
            mask[p->first_pixel + i] = p->mask[i] ? 0 : experiment_mask_word(x, p->first_pixel + i);
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
    uint8_t *bad = mem_array((size_t)(size[1] * size[2]), sizeof *bad);
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
