#include "io/nxmx/image_data.h"

#include "codec/bslz4.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_layout.h"

enum { FILTER_LZ4 = 32004, FILTER_BITSHUFFLE = 32008, BITSHUFFLE_LZ4 = 2, FILTER_VALUES = 8 };

static const uint64_t PIXELS_MAX = UINT64_C(1) << 50;

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

/* HDF5 may use only the filters whose code is its own and survives damage. */
static bool unpacks(H5Z_filter_t filter)
{
    return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
           filter == H5Z_FILTER_FLETCHER32;
}

int image_data_filter(hid_t data)
{
    const hid_t made = H5Dget_create_plist(data);
    int found = 0;
    for (int i = 0; i < H5Pget_nfilters(made) && !found; i++) {
        unsigned flags, how;
        size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(made, (unsigned)i, &flags, &values, NULL, 0, NULL, &how);
        found = unpacks(filter) ? 0 : (int)filter;
    }
    (void)H5Pclose(made);
    return found;
}

/* Returns true if the only filter is LZ4, or bitshuffle with LZ4, and a chunk is an image. */
static bool is_packed(const struct image_data *d)
{
    const hid_t made = H5Dget_create_plist(d->data);
    unsigned flags, how, values[FILTER_VALUES] = {0};
    size_t count = FILTER_VALUES;
    hsize_t chunk[3] = {0};
    const bool one = H5Pget_nfilters(made) == 1;
    const H5Z_filter_t filter =
        one ? H5Pget_filter2(made, 0, &flags, &count, values, 0, NULL, &how) : 0;
    const bool good =
        (filter == FILTER_LZ4 || (filter == FILTER_BITSHUFFLE && values[4] == BITSHUFFLE_LZ4)) &&
        H5Pget_chunk(made, 3, chunk) == 3 && chunk[0] == 1 && chunk[1] == (hsize_t)d->slow &&
        chunk[2] == (hsize_t)d->fast;
    (void)H5Pclose(made);
    return good;
}

/* Checks that the images can be unpacked, and sets d->filter. */
static enum status find_filter(struct image_data *d, const char *path, const char *name,
                               struct error *e)
{
    const int filter = image_data_filter(d->data);
    if (!filter)
        return STATUS_OK;
    d->filter = filter;
    if (is_packed(d))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: %s is compressed with filter %d, which cannot be read; expected no "
                     "compression, deflate, or LZ4 or bitshuffle-LZ4 with an image in each chunk. "
                     "h5repack -f GZIP=1 %s NEW converts the file, if HDF5 has the filter",
                     path, name, filter, path);
}

enum status image_data_open(hid_t file, const char *path, const char *name, struct image_data *d,
                            struct error *e)
{
    hsize_t size[3];
    char reason[HDF5_REASON];
    *d = (struct image_data){.data = hdf5_open_data(file, name)};
    if (d->data < 0 && hdf5_explain(file, name, reason))
        return error_set(e, STATUS_INPUT, "%s: %s", path, reason);
    if (hdf5_sizes(d->data, 3, 3, PIXELS_MAX, size) != 3)
        return error_set(e, STATUS_INPUT,
                         "%s: %s is missing, empty or has another form; expected images "
                         "[frame, slow, fast]",
                         path, name);
    d->frames = (size_t)size[0];
    d->slow = (int64_t)size[1];
    d->fast = (int64_t)size[2];
    if (!find_type(d->data, &d->type))
        return error_set(e, STATUS_INPUT,
                         "%s: %s has pixels of another type; expected whole numbers of 8, 16 "
                         "or 32 bits, or float32",
                         path, name);
    return find_filter(d, path, name, e);
}

void image_data_close(struct image_data *d)
{
    if (d->data > 0)
        (void)H5Dclose(d->data);
    d->data = -1;
}

bool image_data_match(const struct image_data *a, const struct image_data *b)
{
    return a->slow == b->slow && a->fast == b->fast && a->type == b->type;
}

static hid_t memory_type(enum pixel_type type)
{
    return type == PIXEL_F32   ? H5T_NATIVE_FLOAT
           : type == PIXEL_U16 ? H5T_NATIVE_UINT16
           : type == PIXEL_U32 ? H5T_NATIVE_UINT32
                               : H5T_NATIVE_INT32;
}

static bool read_pixels(const struct image_data *d, size_t i, void *pixels)
{
    const hsize_t start[3] = {i, 0, 0}, size[3] = {1, (hsize_t)d->slow, (hsize_t)d->fast};
    const hid_t file = H5Dget_space(d->data), memory = H5Screate_simple(3, size, NULL);
    const bool good =
        H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
        H5Dread(d->data, memory_type(d->type), memory, file, H5P_DEFAULT, pixels) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
    return good;
}

/* The codec has the sizes of items, which may be smaller than the pixels of *image: HDF5 converts
 * them in place. */
static bool unpack(const struct image_data *d, size_t i, struct image *image)
{
    struct nxmx_chunk chunk = {0};
    const hid_t kind = H5Dget_type(d->data);
    const size_t size = H5Tget_size(kind), bytes = size * image->count;
    bool good = nxmx_get_chunk(d->data, i, &chunk);
    if (good && d->filter == FILTER_BITSHUFFLE)
        good =
            !bslz4_decompress(chunk.bytes, chunk.length, image->pixels, image->count, size, NULL);
    else if (good)
        good = !lz4_blocks_decompress(chunk.bytes, chunk.length, image->pixels, bytes, NULL);
    good = good && H5Tconvert(kind, memory_type(d->type), image->count, image->pixels, NULL,
                              H5P_DEFAULT) >= 0;
    (void)H5Tclose(kind);
    nxmx_chunk_free(&chunk);
    return good;
}

enum status image_data_read(const struct image_data *d, const char *path, const char *name,
                            size_t i, struct image *image, struct error *e)
{
    if (!image_reserve(image, d->type, UNIT_ADU, (size_t)(d->slow * d->fast)))
        return error_memory(e, "a frame");
    if (d->filter ? unpack(d, i, image) : read_pixels(d, i, image->pixels))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT, "%s: %s: image %zu cannot be read", path, name, i);
}

void image_data_try(const struct image_data *d)
{
    struct image image = {0};
    hdf5_touch(d->data);
    (void)image_data_read(d, "", "", 0, &image, NULL);
    image_free(&image);
}
