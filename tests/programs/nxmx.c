/*
 * nxmx FILE: what a data file of bragg-write holds, decoded without any filter of HDF5:
 * a line of number and CRC-32C of the pixels for each image, as in the index.
 * nxmx --master FILE: number and data file of each frame, then the sources of the
 * virtual data set.  For the tests.
 */
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "codec/bslz4.h"
#include "io/nxmx/nxmx_layout.h"
#include "io/nxmx/nxmx_read.h"

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

int main(int argc, char **argv)
{
    struct hdf5_file f;
    struct nxmx_rows rows;
    const bool master = argc == 3 && strcmp(argv[1], "--master") == 0;
    struct error e;
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
