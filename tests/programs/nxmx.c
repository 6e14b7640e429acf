/*
 * nxmx FILE: what a data file of bragg-write holds, decoded without any filter of HDF5:
 * a line of number and CRC-32C of the pixels for each image, as in the index.
 * nxmx --master FILE: number and data file of each frame, then the sources of the
 * virtual data set.
 * nxmx --same FILE FILE: the objects, attributes and values of two data files are equal, and so are
 * their chunks, wherever they are in the files.  Otherwise names what differs, with status 1.
 */
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "codec/bslz4.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_layout.h"

/* What H5Oget_info2 and H5Ovisit2 take: HDF5 1.12 has another H5O_info_t. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info1_t object_info;
#else
typedef H5O_info_t object_info;
#endif

static int fail(const char *what)
{
    fprintf(stderr, "nxmx: %s\n", what);
    return 1;
}

static bool print_image(hid_t data, uint64_t place, uint64_t number, size_t count, size_t size)
{
    const hsize_t at[3] = {place};
    hsize_t length = 0;
    uint32_t mask;
    if (H5Dget_chunk_storage_size(data, at, &length) < 0 || !length)
        return false;
    uint8_t *chunk = mem_array((size_t)length, 1);
    void *pixels = mem_array(count, size);
    const bool good =
        chunk && pixels && H5Dread_chunk(data, H5P_DEFAULT, at, &mask, chunk) >= 0 &&
        bslz4_decompress(chunk, (size_t)length, pixels, count, size, NULL) == STATUS_OK;
    if (good)
        printf("%" PRIu64 "\t%08" PRIx32 "\n", number, crc32c(0, pixels, count * size));
    mem_free(chunk);
    mem_free(pixels);
    return good;
}

static int print_images(hid_t data, const struct nxmx_rows *rows)
{
    hsize_t dims[3];
    const hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    if (H5Sget_simple_extent_dims(space, dims, NULL) != 3 || dims[0] != rows->nframes)
        return fail("no images, or of other frames");
    for (size_t i = 0; i < rows->nframes; i++)
        if (!print_image(data, i, rows->frames[i].number, (size_t)(dims[1] * dims[2]),
                         H5Tget_size(type)))
            return fail("an image cannot be read");
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    return 0;
}

static int print_sources(hid_t data, const struct nxmx_rows *rows)
{
    char name[256];
    size_t sources = 0;
    const hid_t made = H5Dget_create_plist(data);
    for (size_t i = 0; i < rows->nframes; i++)
        printf("%" PRIu64 "\t%" PRIu64 "\n", rows->frames[i].number, rows->frames[i].file);
    (void)H5Pget_virtual_count(made, &sources);
    for (size_t i = 0; i < sources; i++)
        if (H5Pget_virtual_filename(made, i, name, sizeof name) > 0)
            puts(name);
    (void)H5Pclose(made);
    return 0;
}

/* --- --same ---------------------------------------------------------------- */

enum { VALUES_MAX = 1 << 24 };
static unsigned char values[2][VALUES_MAX];

/* Two files that are compared. */
struct pair {
    hid_t file[2];
    hsize_t objects;  // that were compared
};

/* Reads all values of a data set or an attribute. */
typedef herr_t reader(hid_t object, hid_t type, void *to);

static herr_t read_data(hid_t data, hid_t type, void *to)
{
    return H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
}

static bool are_values_equal(const hid_t object[2], const hid_t type[2], const hid_t space[2],
                             reader *read)
{
    if (H5Tequal(type[0], type[1]) <= 0 || H5Sextent_equal(space[0], space[1]) <= 0)
        return false;
    const size_t size = H5Tget_size(type[0]) * (size_t)H5Sget_simple_extent_npoints(space[0]);
    if (size > VALUES_MAX || read(object[0], type[0], values[0]) < 0 ||
        read(object[1], type[0], values[1]) < 0)
        return false;
    return H5Tis_variable_str(type[0]) > 0
               ? strcmp(*(char **)(void *)values[0], *(char **)(void *)values[1]) == 0
               : memcmp(values[0], values[1], size) == 0;
}

static bool is_chunk_equal(const hid_t data[2], const hid_t space[2], hsize_t i)
{
    hsize_t at[H5S_MAX_RANK], size[2];
    unsigned mask;
    haddr_t address;
    if (H5Dget_chunk_info(data[0], space[0], i, at, &mask, &address, &size[0]) < 0 ||
        H5Dget_chunk_storage_size(data[1], at, &size[1]) < 0 || size[0] != size[1] ||
        size[0] > VALUES_MAX)
        return false;
    for (int k = 0; k < 2; k++)
        if (H5Dread_chunk(data[k], H5P_DEFAULT, at, &mask, values[k]) < 0 || mask)
            return false;
    return memcmp(values[0], values[1], size[0]) == 0;
}

static bool are_data_equal(const hid_t data[2])
{
    const hid_t type[2] = {H5Dget_type(data[0]), H5Dget_type(data[1])};
    const hid_t space[2] = {H5Dget_space(data[0]), H5Dget_space(data[1])};
    const hid_t made[2] = {H5Dget_create_plist(data[0]), H5Dget_create_plist(data[1])};
    hsize_t n[2] = {0};
    bool same = H5Tequal(type[0], type[1]) > 0 && H5Sextent_equal(space[0], space[1]) > 0 &&
                H5Pequal(made[0], made[1]) > 0;
    if (same && H5Pget_layout(made[0]) == H5D_CHUNKED) {
        same = H5Dget_num_chunks(data[0], space[0], &n[0]) >= 0 &&
               H5Dget_num_chunks(data[1], space[1], &n[1]) >= 0 && n[0] == n[1];
        for (hsize_t i = 0; same && i < n[0]; i++)
            same = is_chunk_equal(data, space, i);
    } else if (same) {
        same = are_values_equal(data, type, space, read_data);
    }
    for (int k = 0; k < 2; k++) {
        (void)H5Tclose(type[k]);
        (void)H5Sclose(space[k]);
        (void)H5Pclose(made[k]);
    }
    return same;
}

static bool are_attributes_equal(const hid_t object[2])
{
    object_info info[2];
    bool same = H5Oget_info2(object[0], &info[0], H5O_INFO_NUM_ATTRS) >= 0 &&
                H5Oget_info2(object[1], &info[1], H5O_INFO_NUM_ATTRS) >= 0 &&
                info[0].num_attrs == info[1].num_attrs;
    for (hsize_t i = 0; same && i < info[0].num_attrs; i++) {
        hid_t note[2], type[2], space[2];
        for (int k = 0; k < 2; k++) {
            note[k] = H5Aopen_by_idx(object[k], ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT,
                                     H5P_DEFAULT);
            type[k] = H5Aget_type(note[k]);
            space[k] = H5Aget_space(note[k]);
            (void)H5Aget_name(note[k], VALUES_MAX, (char *)values[k]);
        }
        same = strcmp((char *)values[0], (char *)values[1]) == 0 &&
               are_values_equal(note, type, space, H5Aread);
        for (int k = 0; k < 2; k++) {
            (void)H5Aclose(note[k]);
            (void)H5Tclose(type[k]);
            (void)H5Sclose(space[k]);
        }
    }
    return same;
}

/* Compares the object at this path in both files.  Returns 1, which ends the visit, if they
 * differ. */
static herr_t compare_objects(hid_t root, const char *path, const object_info *info, void *owner)
{
    struct pair *p = owner;
    const hid_t object[2] = {H5Oopen(root, path, H5P_DEFAULT),
                             H5Oopen(p->file[1], path, H5P_DEFAULT)};
    const bool same = object[1] >= 0 && H5Iget_type(object[0]) == H5Iget_type(object[1]) &&
                      are_attributes_equal(object) &&
                      (info->type != H5O_TYPE_DATASET || are_data_equal(object));
    for (int k = 0; k < 2; k++)
        if (object[k] >= 0)
            (void)H5Oclose(object[k]);
    p->objects++;
    if (!same)
        printf("%s differs\n", path);
    return !same;
}

static herr_t count_object(hid_t root, const char *path, const object_info *info, void *count)
{
    (void)root, (void)path, (void)info;
    ++*(hsize_t *)count;
    return 0;
}

static int compare_files(char **paths)
{
    struct hdf5_file f[2];
    struct error e;
    hsize_t objects = 0;
    for (int k = 0; k < 2; k++)
        if (hdf5_open(&f[k], paths[k], nxmx_try, &e))
            return fail("cannot open a file");
    struct pair p = {.file = {f[0].id, f[1].id}};
    const bool same =
        H5Ovisit2(f[0].id, H5_INDEX_NAME, H5_ITER_INC, compare_objects, &p, H5O_INFO_BASIC) == 0 &&
        H5Ovisit2(f[1].id, H5_INDEX_NAME, H5_ITER_INC, count_object, &objects, H5O_INFO_BASIC) ==
            0 &&
        objects == p.objects;
    hdf5_abort(&f[0]);
    hdf5_abort(&f[1]);
    return same ? 0 : fail("the files differ");
}

int main(int argc, char **argv)
{
    struct hdf5_file f;
    struct nxmx_rows rows;
    const bool master = argc == 3 && strcmp(argv[1], "--master") == 0;
    struct error e;
    if (argc == 4 && strcmp(argv[1], "--same") == 0)
        return compare_files(argv + 2);
    if (argc != 2 + master || hdf5_open(&f, argv[argc - 1], nxmx_try, &e))
        return fail("give one HDF5 file");
    const hid_t data = H5Dopen2(f.id, "/entry/data/data", H5P_DEFAULT);
    if (data < 0 || !nxmx_get_rows(&f, &rows))
        return fail("not written by bragg-write");
    const int status = master ? print_sources(data, &rows) : print_images(data, &rows);
    nxmx_rows_free(&rows);
    (void)H5Dclose(data);
    hdf5_abort(&f);
    return status;
}
