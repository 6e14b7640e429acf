#include "io/nxmx/cxi_images.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"

#define DATA "/entry_1/data_1/data"
#define MASK "/entry_1/data_1/mask"
#define SHARED "/entry_1/data_1/mask_shared"
#define ENERGY "/LCLS/photon_energy_eV"
#define DISTANCE "/LCLS/detector_1/EncoderValue"
#define OWN "/entry/braggpipe"

static const uint64_t PIXELS_MAX = UINT64_C(1) << 50;

/* --- the images --------------------------------------------------------------------- */

/* Sets the type in which frames have the pixels.  Returns false for other types. */
static bool find_type(hid_t data, enum pixel_type *type)
{
    const hid_t kind = H5Dget_type(data);
    const H5T_class_t class = H5Tget_class(kind);
    const size_t size = H5Tget_size(kind);
    const bool is_signed = class == H5T_INTEGER && H5Tget_sign(kind) == H5T_SGN_2;
    (void)H5Tclose(kind);
    *type = class == H5T_FLOAT ? PIXEL_F32
            : is_signed        ? PIXEL_I32
            : size == 4        ? PIXEL_U32
                               : PIXEL_U16;
    return (class == H5T_FLOAT && size == 4) ||
           (class == H5T_INTEGER && (size == 1 || size == 2 || size == 4));
}

/* Returns the number of the first filter of the chunks that this library may not use, because its
 * code is not part of HDF5 or does not survive damage.  0: there is none. */
static int find_filter(hid_t data)
{
    const hid_t made = H5Dget_create_plist(data);
    int found = 0;
    for (int i = 0; i < H5Pget_nfilters(made) && !found; i++) {
        unsigned flags, how;
        size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(made, (unsigned)i, &flags, &values, NULL, 0, NULL, &how);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
            filter != H5Z_FILTER_FLETCHER32)
            found = (int)filter;
    }
    (void)H5Pclose(made);
    return found;
}

static enum status open_images(const struct hdf5_file *f, const char *path, hid_t *data,
                               struct cxi_images *c, struct error *e)
{
    hsize_t size[4];
    *data = hdf5_open_data(f->id, DATA);
    if (hdf5_sizes(*data, 3, 3, PIXELS_MAX, size) != 3)
        return error_set(e, STATUS_INPUT,
                         "%s: " DATA " is missing, empty or has another form; expected images "
                         "[frame, slow, fast]",
                         path);
    c->frames = (size_t)size[0];
    c->slow = (int64_t)size[1];
    c->fast = (int64_t)size[2];
    if (!find_type(*data, &c->type))
        return error_set(e, STATUS_INPUT,
                         "%s: " DATA " has pixels of another type; expected whole numbers of 8, 16 "
                         "or 32 bits, or float32",
                         path);
    const int filter = find_filter(*data);
    return filter ? error_set(e, STATUS_INPUT,
                              "%s: " DATA " is compressed with filter %d, which cannot be read; "
                              "expected deflate or no compression. h5repack -f GZIP=1 %s NEW.cxi "
                              "converts the file, if HDF5 has the filter",
                              path, filter, path)
                  : STATUS_OK;
}

static hid_t memory_type(enum pixel_type type)
{
    return type == PIXEL_F32   ? H5T_NATIVE_FLOAT
           : type == PIXEL_U16 ? H5T_NATIVE_UINT16
           : type == PIXEL_U32 ? H5T_NATIVE_UINT32
                               : H5T_NATIVE_INT32;
}

/* Reads image number i into pixels[]. */
static bool read_pixels(hid_t data, const struct cxi_images *c, size_t i, void *pixels)
{
    const hsize_t start[3] = {i, 0, 0}, size[3] = {1, (hsize_t)c->slow, (hsize_t)c->fast};
    const hid_t file = H5Dget_space(data), memory = H5Screate_simple(3, size, NULL);
    const bool good = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                      H5Dread(data, memory_type(c->type), memory, file, H5P_DEFAULT, pixels) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
    return good;
}

/* --- tables -------------------------------------------------------------------------- */

/* Reads a number of each frame.  *values stays NULL if the file does not have them. */
static enum status read_table(const struct hdf5_file *f, const char *path, const char *name,
                              size_t frames, double **values, struct error *e)
{
    hsize_t size[1];
    if (!hdf5_exists(f->id, name))
        return STATUS_OK;
    const hid_t data = hdf5_open_data(f->id, name);
    enum status s = STATUS_OK;
    if (hdf5_sizes(data, 1, 1, frames, size) != 1 || size[0] != frames || find_filter(data)) {
        s = error_set(e, STATUS_INPUT, "%s: %s: expected a number for each of %zu frames", path,
                      name, frames);
    } else {
        *values = mem_array(frames, sizeof **values);
        s = hdf5_read_numbers(data, path, name, H5T_NATIVE_DOUBLE, *values, e);
    }
    for (size_t i = 0; i < frames && !s; i++)
        if (!((*values)[i] > 0 && (*values)[i] < 1e9))
            s = error_set(e, STATUS_INPUT, "%s: %s: frame %zu has %g; expected a number above 0",
                          path, name, i, (*values)[i]);
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

/* Reads the mask of all frames. */
static enum status read_mask(const struct hdf5_file *f, const char *path, struct cxi_images *c,
                             struct error *e)
{
    hsize_t size[3];
    const char *name = hdf5_exists(f->id, SHARED) ? SHARED : MASK;
    if (!hdf5_exists(f->id, name))
        return STATUS_OK;
    const hid_t data = hdf5_open_data(f->id, name);
    enum status s = STATUS_OK;
    if (hdf5_sizes(data, 2, 2, PIXELS_MAX, size) != 2 || size[0] != (hsize_t)c->slow ||
        size[1] != (hsize_t)c->fast || find_filter(data)) {
        s = error_set(e, STATUS_INPUT,
                      "%s: %s: expected one mask of %" PRId64 " x %" PRId64
                      " pixels for all frames (slow x fast)",
                      path, name, c->slow, c->fast);
    } else {
        c->mask = mem_array((size_t)(c->slow * c->fast), sizeof *c->mask);
        s = hdf5_read_numbers(data, path, name, H5T_NATIVE_UINT16, c->mask, e);
    }
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

/* --- files ------------------------------------------------------------------------------ */

static enum status take_all(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    struct cxi_images *c = what;
    hid_t data = -1;
    enum status s = open_images(f, path, &data, c, e);
    if (data >= 0)
        (void)H5Dclose(data);
    s = s ? s : read_table(f, path, ENERGY, c->frames, &c->energy_eV, e);
    s = s ? s : read_table(f, path, DISTANCE, c->frames, &c->distance_mm, e);
    return s ? s : read_mask(f, path, c, e);
}

/* Reads all tables, the index of the chunks and the first image, in the trial process. */
static void try_all(struct hdf5_file *f)
{
    struct cxi_images c = {0};
    hid_t data = -1;
    if (!take_all(f, "", &c, NULL) && !open_images(f, "", &data, &c, NULL)) {
        void *pixels = mem_array((size_t)(c.slow * c.fast), pixel_size(c.type));
        hdf5_touch(data);
        (void)read_pixels(data, &c, 0, pixels);
        mem_free(pixels);
    }
    if (data >= 0)
        (void)H5Dclose(data);
    cxi_images_free(&c);
}

static enum status look(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    (void)path, (void)e;
    *(bool *)what = hdf5_exists(f->id, DATA) && !hdf5_exists(f->id, OWN);
    return STATUS_OK;
}

bool cxi_images_are(const char *path)
{
    bool found = false;
    return hdf5_take(path, try_all, look, &found, NULL) == STATUS_OK && found;
}

enum status cxi_images_read(const char *path, struct cxi_images *c, struct error *e)
{
    *c = (struct cxi_images){0};
    return hdf5_take(path, try_all, take_all, c, e);
}

/* An image that is to be read. */
struct wanted {
    const struct cxi_images *c;
    size_t i;
    struct image *image;
};

static enum status take_image(struct hdf5_file *f, const char *path, void *what, struct error *e)
{
    const struct wanted *w = what;
    const struct cxi_images *c = w->c;
    struct cxi_images now = {0};
    hid_t data = -1;
    enum status s = open_images(f, path, &data, &now, e);
    if (!s && (now.frames != c->frames || now.slow != c->slow || now.fast != c->fast ||
               now.type != c->type))
        s = error_set(e, STATUS_INPUT, "%s: the file has changed while it was being read", path);
    if (!s && !image_reserve(w->image, c->type, UNIT_ADU, (size_t)(c->slow * c->fast)))
        s = error_memory(e, "a frame");
    if (!s && !read_pixels(data, c, w->i, w->image->pixels))
        s = error_set(e, STATUS_INPUT, "%s: " DATA ": image %zu cannot be read", path, w->i);
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

enum status cxi_image_read(const char *path, const struct cxi_images *c, size_t i,
                           struct image *image, struct error *e)
{
    struct wanted w = {.c = c, .i = i, .image = image};
    return hdf5_take(path, try_all, take_image, &w, e);
}

void cxi_images_free(struct cxi_images *c)
{
    mem_free(c->energy_eV);
    mem_free(c->distance_mm);
    mem_free(c->mask);
    *c = (struct cxi_images){0};
}
