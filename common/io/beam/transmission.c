#include "io/beam/transmission.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_read.h"
#include "io/images/image_file.h"
#include "io/nxmx/nxmx_geometry.h"

enum { RANK_MAX = 3, PIXELS_MAX = 1 << 28 };
#define DATA "/transmission"

/* --- HDF5 ------------------------------------------------------------------------ */

/* Sizes of the data set; false when it is none of pixels. */
static bool size_of(hid_t data, struct transmission *t)
{
    const hid_t space = H5Dget_space(data);
    hsize_t size[RANK_MAX] = {0};
    const int rank = space < 0 ? 0 : H5Sget_simple_extent_ndims(space);
    bool good =
        rank >= 2 && rank <= RANK_MAX && H5Sget_simple_extent_dims(space, size, NULL) == rank;
    t->count = 1;
    for (int i = 0; i < rank && good; i++) {
        good = size[i] && size[i] <= PIXELS_MAX / t->count;
        t->count *= good ? (size_t)size[i] : 1;
    }
    t->fast_pixels = good ? (int64_t)size[rank - 1] : 0;
    if (space >= 0)
        (void)H5Sclose(space);
    return good;
}

static enum status read_set(hid_t data, const char *path, struct transmission *t, struct error *e)
{
    char missing[HDF5_REASON];
    if (data < 0 || !size_of(data, t))
        return error_set(e, STATUS_INPUT, "%s: must have " DATA ", numbers of 2 or 3 dimensions",
                         path);
    if (hdf5_missing_part(data, missing))
        return error_set(e, STATUS_INPUT, "%s: " DATA " has a part in %s, which is missing", path,
                         missing);
    t->passes = mem_array(t->count, sizeof *t->passes);
    if (!t->passes)
        return error_memory(e, path);
    return H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->passes) < 0
               ? error_set(e, STATUS_INPUT, "%s: " DATA " cannot be read", path)
               : STATUS_OK;
}

static enum status read_open(struct hdf5_file *f, const char *path, struct transmission *t,
                             struct error *e)
{
    const hid_t data = hdf5_open_data(f->id, DATA);
    const enum status s = read_set(data, path, t, e);
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

static void try_hdf5(struct hdf5_file *f)
{
    struct transmission t = {0};
    struct error e;
    (void)read_open(f, "", &t, &e);
    transmission_free(&t);
}

static enum status read_hdf5(const char *path, struct transmission *t, struct error *e)
{
    struct hdf5_file f;
    enum status s = hdf5_open(&f, path, try_hdf5, e);
    s = s ? s : read_open(&f, path, t, e);
    hdf5_abort(&f);
    return s;
}

/* --- images ------------------------------------------------------------------------ */

static enum status take_image(const char *path, const struct image_file *f, struct transmission *t,
                              struct error *e)
{
    const bool whole = f->image.type != PIXEL_F32;
    if (whole && f->image.type != PIXEL_U16)
        return error_set(e, STATUS_INPUT,
                         "%s: must be SMV of 16 bits, raw float32, or HDF5 with " DATA, path);
    t->fast_pixels = f->fast;
    t->count = f->image.count;
    t->passes = mem_array(t->count, sizeof *t->passes);
    for (size_t i = 0; t->passes && i < t->count; i++)
        t->passes[i] = (float)(image_value(&f->image, i) / (whole ? UINT16_MAX : 1));
    return t->passes ? STATUS_OK : error_memory(e, path);
}

static enum status read_image(const char *path, struct transmission *t, struct error *e)
{
    struct image_file f;
    const enum status s = image_file_read(path, &f, e);
    if (s)
        return s;
    const enum status taken = take_image(path, &f, t, e);
    image_free(&f.image);
    return taken;
}

/* --- all ------------------------------------------------------------------------- */

static enum status check(const char *path, const struct transmission *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++)
        if (!(t->passes[i] >= 0.0f && t->passes[i] <= 1.0f))
            return error_set(e, STATUS_INPUT, "%s: pixel %zu lets %g pass, must be from 0 to 1",
                             path, i, (double)t->passes[i]);
    return STATUS_OK;
}

enum status transmission_read(const char *path, struct transmission *t, struct error *e)
{
    *t = (struct transmission){0};
    const enum status s = nxmx_is_hdf5(path) ? read_hdf5(path, t, e) : read_image(path, t, e);
    return s ? s : check(path, t, e);
}

void transmission_free(struct transmission *t)
{
    mem_free(t->passes);
    *t = (struct transmission){0};
}
