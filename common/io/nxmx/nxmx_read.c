/*
 * Reads back what NXmx files of bragg-write contain: the ground truth, single frames to be
 * compared, and the true places of misaligned panels.
 */
#include "io/nxmx/nxmx.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "io/crystfel/geom.h"
#include "io/nxmx/nexus.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_rows.h"

enum { PATH_BYTES = 4096, COMPRESSION_BYTES = 16 };

/* --- ground truth -------------------------------------------------------- */

static enum status foreign(const char *path, struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: not an NXmx file of bragg-write, or corrupt", path);
}

static enum status read_truth(const char *path, hdf5_reader *reader,
                              char history[EXPERIMENT_HISTORY_SIZE], struct nxmx_rows *rows,
                              struct error *e)
{
    struct hdf5_file f;
    *rows = (struct nxmx_rows){0};
    history[0] = 0;
    const enum status s = hdf5_open(&f, path, reader, e);
    if (s)
        return s;
    if (!hdf5_read_text(&f, NXMX_TRUTH "/history", history, EXPERIMENT_HISTORY_SIZE))
        history[0] = 0;
    const bool good = nxmx_get_rows(&f, rows);
    hdf5_abort(&f);
    return good ? STATUS_OK : foreign(path, e);
}

enum status nxmx_read_truth(const char *path, char history[EXPERIMENT_HISTORY_SIZE],
                            struct nxmx_rows *rows, struct error *e)
{
    return read_truth(path, nxmx_try, history, rows, e);
}

enum status nxmx_read_series_truth(const char *path, struct nxmx_rows *rows, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    return read_truth(path, nxmx_try_series, history, rows, e);
}

/* --- images -------------------------------------------------------------- */

/* Sets *type to the pixel type of a data set.  Returns false if its HDF5 type is not a pixel
 * type. */
static bool is_pixel_type(hid_t data, enum pixel_type *type)
{
    static const enum pixel_type all[] = {PIXEL_F32, PIXEL_U16, PIXEL_U32, PIXEL_I32};
    const hid_t stored = H5Dget_type(data);
    bool found = false;
    for (size_t i = 0; i < sizeof all / sizeof *all && !found; i++)
        if ((found = H5Tequal(stored, nxmx_pixel_type(all[i])) > 0))
            *type = all[i];
    if (stored >= 0)
        (void)H5Tclose(stored);
    return found;
}

/* Gets the type and the number of pixels of one image in a data set [frame, slow, fast].
 * Returns false if the data set cannot hold images. */
static bool size_image(hid_t data, enum pixel_type *type, size_t *pixels)
{
    hsize_t dims[3] = {0};
    const hid_t space = H5Dget_space(data);
    const bool good =
        space >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
        H5Sget_simple_extent_dims(space, dims, NULL) == 3 && is_pixel_type(data, type) &&
        !__builtin_mul_overflow(dims[1], dims[2], pixels) && *pixels && *pixels <= INT32_MAX;
    if (space >= 0)
        (void)H5Sclose(space);
    return good;
}

/* Reads the image of the frame.  Returns false if it does not have `expected` pixels, or if
 * reading fails.  An image of another size is not unpacked, because a small chunk of a corrupt
 * file may need any amount of memory.  one->pixels then has the number of pixels in the file. */
static bool read_image(hid_t data, size_t expected, struct nxmx_one *one)
{
    enum pixel_type type = PIXEL_F32;  // gcc 14 does not see that size_image sets `type`
    size_t pixels;
    if (!size_image(data, &type, &pixels))
        return false;
    one->pixels = pixels;
    if (pixels != expected || !nxmx_get_chunk(data, one->place, &one->chunk))
        return false;
    one->starved = !image_reserve(&one->image, type, UNIT_ADU, pixels);
    return !one->starved &&
           nxmx_unpack(one->compression, &one->chunk, &one->image, NULL) == STATUS_OK;
}

/* Reads a derivative image or the labels of the frame: one value of type `wanted` for each pixel
 * of the image.  The caller frees the values with mem_free.  Returns NULL if the data set has
 * other values, or if reading fails. */
static void *read_layer(hid_t data, const struct nxmx_one *one, enum pixel_type wanted,
                        struct nxmx_chunk *chunk)
{
    enum pixel_type type;
    size_t pixels;
    if (!size_image(data, &type, &pixels) || type != wanted || pixels != one->image.count ||
        !nxmx_get_chunk(data, one->place, chunk))
        return NULL;
    void *values = mem_try_array(pixels, pixel_size(type));
    struct image image = {.type = type, .count = pixels, .pixels = values};
    if (values && nxmx_unpack(one->compression, chunk, &image, NULL) == STATUS_OK)
        return values;
    mem_free(values);
    return NULL;
}

static bool read_planes(const struct nxmx_layers *layers, const struct nxmx_kind *kind,
                        struct nxmx_one *one, struct nxmx_chunk *chunk)
{
    struct planes *planes = &one->planes;
    if (kind->nplanes && !planes_reserve(planes, kind->nplanes))
        return false;
    for (size_t i = 0; i < planes->count; i++) {
        struct plane *plane = &planes->items[i];
        memcpy(plane->name, kind->planes[i].name, sizeof plane->name);
        memcpy(plane->unit, kind->planes[i].unit, sizeof plane->unit);
        plane->values = read_layer(layers->data[1 + i], one, PIXEL_F32, chunk);
        plane->count = plane->values ? one->image.count : 0;
    }
    return !planes_fault(planes, one->image.count);
}

static bool read_labels(const struct nxmx_layers *layers, struct nxmx_one *one,
                        struct nxmx_chunk *chunk)
{
    struct reflection_table *t = &one->reflections;
    t->labels = read_layer(layers->data[layers->count - 1], one, PIXEL_U32, chunk);
    t->nlabels = t->labels ? one->image.count : 0;
    return t->labels;
}

/* Reads the image of the frame, its derivative images and its labels.  Returns false if reading
 * fails. */
static bool read_layers(struct hdf5_file *f, size_t pixels, struct nxmx_one *one)
{
    char compression[COMPRESSION_BYTES];
    struct nxmx_kind kind = {0};
    struct nxmx_layers layers = {0};
    struct nxmx_chunk chunk = {0};
    const bool good =
        hdf5_read_text(f, NXMX_TRUTH "/compression", compression, sizeof compression) &&
        nxmx_compression_of(compression, &one->compression) && nxmx_layers_find(f, &kind) &&
        nxmx_layers_open(&layers, f, &kind) && read_image(layers.data[0], pixels, one) &&
        read_planes(&layers, &kind, one, &chunk) &&
        (!kind.labels || read_labels(&layers, one, &chunk));
    nxmx_layers_close(&layers);
    nxmx_chunk_free(&chunk);
    return good;
}

/* --- the master ---------------------------------------------------------- */

/* Returns true if the selection of a data space contains the image at index `place`.  Overwrites
 * the selection.  The images of a data file need not be consecutive in the master. */
static bool selects(hid_t images, hsize_t place)
{
    const hsize_t start[3] = {place}, one[3] = {1, 1, 1};
    return H5Sget_simple_extent_ndims(images) == 3 &&
           H5Sselect_hyperslab(images, H5S_SELECT_AND, start, NULL, one, NULL) >= 0 &&
           H5Sget_select_npoints(images) > 0;
}

/* Finds the data file, in the folder of the master, that holds the image at index `place` of the
 * virtual data set with the creation list `made`. */
static bool find_file(hid_t made, const char *master, size_t place, char path[PATH_BYTES])
{
    const char *slash = strrchr(master, '/');
    const int folder = slash ? (int)(slash + 1 - master) : 0;
    size_t count = 0;
    (void)H5Pget_virtual_count(made, &count);
    for (size_t i = 0; i < count; i++) {
        char name[PATH_BYTES];
        const hid_t space = H5Pget_virtual_vspace(made, i);
        const bool found = space >= 0 && selects(space, place) &&
                           H5Pget_virtual_filename(made, i, name, sizeof name) > 0;
        if (space >= 0)
            (void)H5Sclose(space);
        if (found)
            return snprintf(path, PATH_BYTES, "%.*s%s", folder, master, name) < PATH_BYTES;
    }
    return false;
}

/* Reads the layers of the frame.  If the file is a master, sets `path` to the data file that
 * holds the frame instead.  Returns false if reading fails. */
static bool read_one(struct hdf5_file *f, const char *master, size_t pixels, struct nxmx_one *one,
                     char path[PATH_BYTES])
{
    const hid_t data = hdf5_open_data(f->id, NXMX_DATA);
    const hid_t made = data >= 0 ? H5Dget_create_plist(data) : -1;
    bool good = made >= 0;
    if (good)
        good = H5Pget_layout(made) == H5D_VIRTUAL ? find_file(made, master, one->place, path)
                                                  : read_layers(f, pixels, one);
    if (made >= 0)
        (void)H5Pclose(made);
    if (data >= 0)
        (void)H5Dclose(data);
    return good;
}

/* Returns true if a table is consistent: each label is the number of a row or 0, the rows have
 * as many pixels as are listed, and the listed pixels are within the image. */
static bool is_sound(const struct reflection_table *t, size_t pixels)
{
    uint64_t listed = 0;
    for (size_t i = 0; i < t->count && t->npixels; i++)
        listed += t->rows[i].pixels < 0 ? UINT32_MAX : (uint64_t)t->rows[i].pixels;
    for (size_t i = 0; i < t->npixels; i++)
        if (t->pixels[i] >= pixels)
            return false;
    for (size_t i = 0; i < t->nlabels; i++)
        if (t->labels[i] > t->count)
            return false;
    return listed == t->npixels;
}

static bool read_reflections(struct hdf5_file *f, struct nxmx_one *one)
{
    struct reflection_table *t = &one->reflections;
    const struct nxmx_reflection_counts *counts = &one->rows.reflections[one->place];
    t->present = one->rows.has_reflections;
    return t->present
               ? counts->rows <= UINT32_MAX && counts->pixels <= UINT32_MAX &&
                     hdf5_affords(f, counts->rows * sizeof *t->rows) &&
                     hdf5_affords(f, counts->pixels * sizeof *t->pixels) &&
                     nxmx_table_reserve(t, counts) &&
                     nxmx_table_get(f, &one->rows, one->place, t) && is_sound(t, one->image.count)
               : !t->nlabels;
}

/* --- single frames ------------------------------------------------------- */

/* Sets *e to the error that images cannot be read or, if that is the reason, that they do not
 * have `pixels` pixels.  Returns STATUS_INPUT; STATUS_FAILED: memory ran out. */
static enum status cannot_read(const char *path, uint64_t id, const struct nxmx_one *one,
                               size_t pixels, struct error *e)
{
    if (one->starved)
        return error_memory(e, path);
    return one->pixels && one->pixels != pixels
               ? error_set(e, STATUS_INPUT,
                           "%s: images have %zu pixels; expected %zu, as the detector has", path,
                           one->pixels, pixels)
               : error_set(e, STATUS_INPUT, "%s: cannot read the images of frame %" PRIu64, path,
                           id);
}

static enum status read_file(const char *path, uint64_t id, size_t pixels, struct nxmx_one *one,
                             char source[PATH_BYTES], struct error *e)
{
    struct hdf5_file f;
    *one = (struct nxmx_one){0};
    source[0] = 0;
    enum status s = hdf5_open(&f, path, nxmx_try, e);
    if (s)
        return s;
    s = nxmx_get_rows(&f, &one->rows) ? STATUS_OK : foreign(path, e);
    const int64_t place = nxmx_rows_find(&one->rows, id);
    one->place = (size_t)place;
    if (!s && place < 0)
        s = error_set(e, STATUS_INPUT, "%s: has no frame %" PRIu64, path, id);
    if (!s && !read_one(&f, path, pixels, one, source))
        s = cannot_read(path, id, one, pixels, e);
    if (!s && !source[0] && !read_reflections(&f, one))
        s = error_set(e, STATUS_INPUT, "%s: cannot read the reflections of frame %" PRIu64, path,
                      id);
    hdf5_abort(&f);
    return s;
}

enum status nxmx_one_read(const char *path, uint64_t id, size_t pixels, struct nxmx_one *one,
                          struct error *e)
{
    char source[PATH_BYTES], none[PATH_BYTES];
    enum status s = read_file(path, id, pixels, one, source, e);
    if (s || !source[0])
        return s;
    nxmx_one_free(one);
    s = read_file(source, id, pixels, one, none, e);
    return s || !none[0] ? s : foreign(source, e);
}

enum status nxmx_damaged(const char *path, const char *what, uint64_t id, const char *hint,
                         enum status s, struct error *e)
{
    return error_set(e, s,
                     "%s: the %s of frame %" PRIu64
                     " is damaged: it has another checksum than when it was written. %s",
                     path, what, id, hint);
}

enum status nxmx_one_check(const char *path, uint64_t id, const struct nxmx_one *one,
                           const struct nxmx_rows *rows, struct error *e)
{
    const int64_t place = nxmx_rows_find(rows, id);
    const struct nxmx_frame *frame = place < 0 ? NULL : &rows->frames[place];
    if (!frame || !frame->summed)
        return STATUS_OK;
    const bool images =
        nxmx_images_sum(&one->image, &one->planes, &one->reflections) == frame->images_sum;
    if (images && nxmx_rows_sum(rows, (size_t)place, &one->reflections) == frame->truth_sum)
        return STATUS_OK;
    return nxmx_damaged(path, images ? "ground truth" : "image", id, NXMX_WRITE_AGAIN, STATUS_INPUT,
                        e);
}

void nxmx_one_free(struct nxmx_one *one)
{
    nxmx_chunk_free(&one->chunk);
    image_free(&one->image);
    nxmx_rows_free(&one->rows);
    reflection_table_free(&one->reflections);
    planes_free(&one->planes);
    *one = (struct nxmx_one){0};
}

/* Reads the spindle, which bragg-score needs in addition to the tables. */
static void read_spindle(struct hdf5_file *f)
{
    const struct nexus n = {f->id, ""};
    char path[NEXUS_PATH];
    double v[3], length;
    struct error ignored;
    if (nexus_has(&n, "/entry/sample/transformations", "omega", path))
        (void)nexus_vector(&n, path, v, &length, &ignored);
}

void nxmx_try(struct hdf5_file *f)
{
    static char history[EXPERIMENT_HISTORY_SIZE];
    struct nxmx_rows rows;
    struct nxmx_kind kind = {0};
    struct nxmx_layers layers = {0};
    if (hdf5_read_text(f, NXMX_TRUTH "/history", history, sizeof history))
        history[0] = 0;
    if (nxmx_get_rows(f, &rows))
        (void)nxmx_get_spectra(f, &rows);
    nxmx_rows_free(&rows);
    if (nxmx_layers_find(f, &kind) && nxmx_layers_open(&layers, f, &kind))
        for (size_t i = 0; i < layers.count; i++)
            hdf5_touch(layers.data[i]);
    nxmx_layers_close(&layers);
    nxmx_columns_touch(f);
    read_spindle(f);
}

static void try_file(const char *path)
{
    struct hdf5_file f;
    struct error ignored;
    if (!hdf5_open(&f, path, nxmx_try, &ignored))
        nxmx_try(&f);
    hdf5_abort(&f);
}

void nxmx_try_series(struct hdf5_file *f)
{
    char master[PATH_MAX] = "", name[PATH_MAX], path[PATH_MAX];
    size_t count = 0;
    nxmx_try(f);
    (void)H5Fget_name(f->id, master, sizeof master);
    const char *slash = strrchr(master, '/');
    const hid_t data = hdf5_open_data(f->id, NXMX_DATA);
    const hid_t made = data >= 0 ? H5Dget_create_plist(data) : -1;
    if (made >= 0 && H5Pget_layout(made) == H5D_VIRTUAL)
        (void)H5Pget_virtual_count(made, &count);
    for (size_t i = 0; i < count; i++)
        if (H5Pget_virtual_filename(made, i, name, sizeof name) > 0 &&
            snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - master) : 0, master,
                     name) < PATH_MAX)
            try_file(path);
    if (made >= 0)
        (void)H5Pclose(made);
    if (data >= 0)
        (void)H5Dclose(data);
}

/* --- true places of misaligned panels ------------------------------------------------ */

#define TRUE_PANELS NXMX_TRUTH "/true_panels"
enum { TRUE_PANELS_MAX = 100000 };

/* Reads the table of true places; the caller frees *values.  *count is the number of panels; 0: the
 * file has no table. */
static enum status read_places(struct hdf5_file *f, const char *path, double **values,
                               size_t *count, struct error *e)
{
    hsize_t size[3] = {0};
    *values = NULL;
    *count = 0;
    if (!hdf5_exists(f->id, TRUE_PANELS))
        return STATUS_OK;
    const hid_t data = hdf5_open_data(f->id, TRUE_PANELS);
    const bool fits = hdf5_sizes(data, 3, 3, 9 * TRUE_PANELS_MAX, size) == 3 && size[1] == 3 &&
                      size[2] == 3 && hdf5_affords(f, size[0] * 9 * sizeof(double));
    enum status s =
        fits ? STATUS_OK
             : error_set(e, STATUS_INPUT, "%s: %s is corrupt; expected a place for each panel",
                         path, TRUE_PANELS);
    if (!s) {
        *count = (size_t)size[0];
        *values = mem_array(*count, 9 * sizeof **values);
        s = hdf5_read_numbers(data, path, TRUE_PANELS, H5T_NATIVE_DOUBLE, *values, e);
    }
    if (data >= 0)
        (void)H5Dclose(data);
    return s;
}

/* hdf5_reader for the trial process. */
static void try_places(struct hdf5_file *f)
{
    double *values;
    size_t count;
    (void)read_places(f, "", &values, &count, NULL);
    mem_free(values);
}

/* Moves a panel to the place v[9], in the coordinate system of NeXus.  Returns false if it is
 * impossible. */
static bool place_true(const double v[9], struct geom_panel *p)
{
    double *const to[] = {p->corner_m, p->fast, p->slow};
    for (int k = 0; k < 9; k++) {
        if (!isfinite(v[k]))
            return false;
        to[k / 3][k % 3] = k % 3 < 2 ? 0.0 - v[k] : v[k];
    }
    return fabs(vec_length(p->fast) - 1.0) < 1e-3 && fabs(vec_length(p->slow) - 1.0) < 1e-3;
}

enum status nxmx_read_true_panels(const char *path, struct geom_panel *panels, size_t npanels,
                                  bool *moved, struct error *e)
{
    struct hdf5_file f;
    double *values;
    size_t count;
    *moved = false;
    enum status s = hdf5_open(&f, path, try_places, e);
    if (s)
        return s;
    s = read_places(&f, path, &values, &count, e);
    hdf5_abort(&f);
    if (!s && count && count != npanels)
        s = error_set(e, STATUS_INPUT, "%s: %s has %zu panels; expected %zu", path, TRUE_PANELS,
                      count, npanels);
    for (size_t i = 0; i < count && !s; i++)
        if (!place_true(values + 9 * i, &panels[i]))
            s = error_set(e, STATUS_INPUT, "%s: %s: panel %zu has an impossible place", path,
                          TRUE_PANELS, i);
    *moved = count;
    mem_free(values);
    return s;
}
