#include "io/nxmx_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/nxmx_layout.h"
#include "io/nxmx_reflections.h"

enum { PATH_BYTES = 4096, COMPRESSION_BYTES = 16 };

/* --- what it says -------------------------------------------------------- */

static enum status foreign(const char *path, struct error *e)
{
    if (access(path, R_OK))
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    return error_set(e, STATUS_INPUT, "%s: is no NXmx file of bragg-write, or damaged", path);
}

enum status nxmx_read_truth(const char *path, char history[EXPERIMENT_HISTORY_SIZE],
                            struct nxmx_rows *rows, struct error *e)
{
    struct hdf5_file f;
    *rows = (struct nxmx_rows){0};
    history[0] = 0;
    if (!hdf5_open(&f, path))
        return foreign(path, e);
    if (!hdf5_read_text(&f, NXMX_TRUTH "/history", history, EXPERIMENT_HISTORY_SIZE))
        history[0] = 0;
    const bool good = nxmx_get_rows(&f, rows);
    hdf5_abort(&f);
    return good ? STATUS_OK : foreign(path, e);
}

/* --- images -------------------------------------------------------------- */

bool nxmx_get_chunk(hid_t data, size_t place, struct nxmx_chunk *chunk)
{
    const hsize_t at[3] = {place};
    hsize_t length;
    uint32_t mask;
    if (H5Dget_chunk_storage_size(data, at, &length) < 0 || !length ||
        !nxmx_chunk_reserve(chunk, (size_t)length))
        return false;
    chunk->length = (size_t)length;
    return H5Dread_chunk(data, H5P_DEFAULT, at, &mask, chunk->bytes) >= 0 && !mask;
}

/* The type of pixels that a type of HDF5 stands for. */
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

/* An image of the size and type of those of a data set. */
static bool reserve_image(hid_t data, struct image *image)
{
    hsize_t dims[3] = {0};
    enum pixel_type type;
    size_t pixels;
    const hid_t space = H5Dget_space(data);
    const bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
                      H5Sget_simple_extent_dims(space, dims, NULL) == 3 &&
                      is_pixel_type(data, &type) &&
                      !__builtin_mul_overflow(dims[1], dims[2], &pixels) && pixels &&
                      pixels <= INT32_MAX && image_reserve(image, type, UNIT_ADU, pixels);
    if (space >= 0)
        (void)H5Sclose(space);
    return good;
}

static bool read_image(struct hdf5_file *f, hid_t data, struct nxmx_one *one)
{
    char compression[COMPRESSION_BYTES];
    return hdf5_read_text(f, NXMX_TRUTH "/compression", compression, sizeof compression) &&
           nxmx_compression_of(compression, &one->compression) &&
           nxmx_get_chunk(data, one->place, &one->chunk) && reserve_image(data, &one->image) &&
           nxmx_unpack(one->compression, &one->chunk, &one->image, NULL) == STATUS_OK;
}

/* --- the master ---------------------------------------------------------- */

/* The data file, beside the master, that holds the image at a place of the virtual data set
 * `made`. */
static bool find_file(hid_t made, const char *master, size_t place, char path[PATH_BYTES])
{
    const char *slash = strrchr(master, '/');
    const int folder = slash ? (int)(slash + 1 - master) : 0;
    size_t count = 0;
    (void)H5Pget_virtual_count(made, &count);
    for (size_t i = 0; i < count; i++) {
        char name[PATH_BYTES];
        hsize_t first[3] = {1}, last[3] = {0};
        const hid_t space = H5Pget_virtual_vspace(made, i);
        const bool found = space >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
                           H5Sget_select_bounds(space, first, last) >= 0 && first[0] <= place &&
                           place <= last[0] &&
                           H5Pget_virtual_filename(made, i, name, sizeof name) > 0;
        if (space >= 0)
            (void)H5Sclose(space);
        if (found)
            return snprintf(path, PATH_BYTES, "%.*s%s", folder, master, name) < PATH_BYTES;
    }
    return false;
}

/* Reads the frame, or says in `path` which file of a master holds it. */
static bool read_one(struct hdf5_file *f, const char *master, struct nxmx_one *one,
                     char path[PATH_BYTES])
{
    const hid_t data = H5Dopen2(f->id, NXMX_DATA, H5P_DEFAULT);
    const hid_t made = data >= 0 ? H5Dget_create_plist(data) : -1;
    bool good = made >= 0;
    if (good)
        good = H5Pget_layout(made) == H5D_VIRTUAL ? find_file(made, master, one->place, path)
                                                  : read_image(f, data, one);
    if (made >= 0)
        (void)H5Pclose(made);
    if (data >= 0)
        (void)H5Dclose(data);
    return good;
}

/* The reflections of the frame, which lie behind those of the frames before it. */
static bool read_reflections(struct hdf5_file *f, struct nxmx_one *one)
{
    uint64_t first = 0;
    if (!one->rows.has_reflections)
        return true;
    for (size_t i = 0; i < one->place; i++)
        first += one->rows.reflections[i];
    const uint64_t count = one->rows.reflections[one->place];
    one->reflections = mem_array((size_t)count, sizeof *one->reflections);
    one->nreflections = one->reflections ? (size_t)count : 0;
    return one->reflections &&
           (!count || nxmx_columns_get(f, first, (size_t)count, one->reflections));
}

/* --- both ---------------------------------------------------------------- */

static enum status read_file(const char *path, uint64_t id, struct nxmx_one *one,
                             char source[PATH_BYTES], struct error *e)
{
    struct hdf5_file f;
    *one = (struct nxmx_one){0};
    source[0] = 0;
    if (!hdf5_open(&f, path))
        return foreign(path, e);
    enum status s = nxmx_get_rows(&f, &one->rows) ? STATUS_OK : foreign(path, e);
    const int64_t place = nxmx_rows_find(&one->rows, id);
    one->place = (size_t)place;
    if (!s && place < 0)
        s = error_set(e, STATUS_INPUT, "%s: has no frame %" PRIu64, path, id);
    if (!s && !read_one(&f, path, one, source))
        s = error_set(e, STATUS_INPUT, "%s: cannot read the image of frame %" PRIu64, path, id);
    if (!s && !source[0] && !read_reflections(&f, one))
        s = error_set(e, STATUS_INPUT, "%s: cannot read the reflections of frame %" PRIu64, path,
                      id);
    hdf5_abort(&f);
    return s;
}

enum status nxmx_one_read(const char *path, uint64_t id, struct nxmx_one *one, struct error *e)
{
    char source[PATH_BYTES], none[PATH_BYTES];
    enum status s = read_file(path, id, one, source, e);
    if (s || !source[0])
        return s;
    nxmx_one_free(one);
    s = read_file(source, id, one, none, e);
    return s || !none[0] ? s : foreign(source, e);
}

void nxmx_one_free(struct nxmx_one *one)
{
    nxmx_chunk_free(&one->chunk);
    image_free(&one->image);
    nxmx_rows_free(&one->rows);
    mem_free(one->reflections);
    *one = (struct nxmx_one){0};
}
