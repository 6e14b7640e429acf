#include "io/nxmx/cxi_images.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/image_data.h"

#define DATA "/entry_1/data_1/data"
#define MASK "/entry_1/data_1/mask"
#define SHARED "/entry_1/data_1/mask_shared"
#define ENERGY "/LCLS/photon_energy_eV"
#define DISTANCE "/LCLS/detector_1/EncoderValue"
#define OWN "/entry/braggpipe"

static const uint64_t PIXELS_MAX = UINT64_C(1) << 50;

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
    if (hdf5_sizes(data, 1, 1, frames, size) != 1 || size[0] != frames || image_data_filter(data)) {
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
        size[1] != (hsize_t)c->fast || image_data_filter(data)) {
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
    struct image_data d;
    enum status s = image_data_open(f->id, path, DATA, &d, e);
    c->frames = d.frames;
    c->slow = d.slow;
    c->fast = d.fast;
    c->type = d.type;
    image_data_close(&d);
    s = s ? s : read_table(f, path, ENERGY, c->frames, &c->energy_eV, e);
    s = s ? s : read_table(f, path, DISTANCE, c->frames, &c->distance_mm, e);
    return s ? s : read_mask(f, path, c, e);
}

/* Reads all tables, the index of the chunks and the first image, in the trial process. */
static void try_all(struct hdf5_file *f)
{
    struct cxi_images c = {0};
    struct image_data d = {.data = -1};
    if (!take_all(f, "", &c, NULL) && !image_data_open(f->id, "", DATA, &d, NULL))
        image_data_try(&d);
    image_data_close(&d);
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
    const struct image_data listed = {.slow = w->c->slow, .fast = w->c->fast, .type = w->c->type};
    struct image_data d;
    enum status s = image_data_open(f->id, path, DATA, &d, e);
    if (!s && (d.frames != w->c->frames || !image_data_match(&d, &listed)))
        s = error_set(e, STATUS_INPUT, "%s: the file has changed while it was being read", path);
    s = s ? s : image_data_read(&d, path, DATA, w->i, w->image, e);
    image_data_close(&d);
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
