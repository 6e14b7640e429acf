#include "io/nxmx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/hdf5_file.h"
#include "io/nxmx_layout.h"
#include "io/nxmx_reflections.h"

enum { FILTER_LZ4 = 32004, FILTER_BITSHUFFLE = 32008, NAME_BYTES = 4096 };

enum status nxmx_check(const struct experiment *x, const struct image *image, struct error *e)
{
    int64_t pixels = 0;
    for (size_t i = 0; i < x->npanels; i++) {
        const struct panel *p = &x->panels[i];
        if (p->fast_pixels != x->panels->fast_pixels || p->first_pixel != pixels)
            return error_set(e, STATUS_INPUT,
                             "panels of different widths (%" PRId64 " and %" PRId64
                             " pixels), NXmx holds one below the other",
                             x->panels->fast_pixels, p->fast_pixels);
        pixels += p->fast_pixels * p->slow_pixels;
    }
    if (!image->pixels || (int64_t)image->count != pixels || !pixels)
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, its panels %" PRId64,
                         image->pixels ? image->count : 0, pixels);
    return STATUS_OK;
}

/* --- images -------------------------------------------------------------- */

/* Declares how chunks are packed.  As optional, for that needs no filter to write: all chunks
 * are packed all the same. */
static void declare_filter(struct hdf5_file *f, hid_t made, const struct nxmx_kind *kind)
{
    /* As bitshuffle 0.3 itself notes them: version, bytes of an item, default block, LZ4. */
    const unsigned bitshuffle[] = {0, 3, (unsigned)pixel_size(kind->type), 0, 2};
    herr_t result = 0;
    if (kind->compression == NXMX_BSLZ4)
        result = H5Pset_filter(made, FILTER_BITSHUFFLE, H5Z_FLAG_OPTIONAL, 5, bitshuffle);
    else if (kind->compression == NXMX_LZ4)
        result = H5Pset_filter(made, FILTER_LZ4, H5Z_FLAG_OPTIONAL, 0, NULL);
    else if (kind->compression == NXMX_GZIP)
        result = H5Pset_deflate(made, 1);
    (void)hdf5_good(f, result);
}

static hid_t create_data(struct hdf5_file *f, const struct nxmx_kind *kind, size_t frames)
{
    hsize_t dims[3] = {frames}, chunk[3] = {1};
    nxmx_image_size(kind->experiment, dims + 1);
    memcpy(chunk + 1, dims + 1, 2 * sizeof *dims);
    const hid_t made = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(made, 3, chunk));
    (void)hdf5_good(f, H5Pset_fill_time(made, H5D_FILL_TIME_NEVER));
    declare_filter(f, made, kind);
    const hid_t data = hdf5_data(f, NXMX_DATA, nxmx_pixel_type(kind->type), 3, dims, made, NULL);
    (void)H5Pclose(made);
    return data;
}

/* Writes image and reflections of frame number i of the file. */
static enum status put_frame(struct hdf5_file *f, hid_t data, struct nxmx_columns *columns,
                             const struct nxmx_rows *rows, size_t i, struct nxmx_chunk *chunk,
                             nxmx_source *source, void *owner, struct error *e)
{
    const hsize_t at[3] = {i};
    const uint64_t number = rows->frames[i].number;
    const size_t count = (size_t)rows->reflections[i];
    struct reflection_row *reflections = mem_array(count, sizeof *reflections);
    if (!reflections)
        return error_memory(e, "the reflections");
    const enum status s = source(owner, number, chunk, count, reflections, e);
    if (s == STATUS_OK) {
        (void)hdf5_good(f, H5Dwrite_chunk(data, H5P_DEFAULT, 0, at, chunk->length, chunk->bytes));
        nxmx_columns_put(columns, f, number, count, reflections);
    }
    mem_free(reflections);
    return s;
}

enum status nxmx_write(const char *path, const struct nxmx_kind *kind, const struct nxmx_rows *rows,
                       nxmx_source *source, void *owner, struct error *e)
{
    struct hdf5_file f;
    struct nxmx_chunk chunk = {0};
    struct nxmx_columns columns;
    enum status s = hdf5_create(&f, path, kind->sync, e);
    if (s)
        return s;
    f.replace.guarded = kind->guarded;
    nxmx_layout(&f, kind, rows);
    const hid_t data = create_data(&f, kind, rows->nframes);
    nxmx_columns_create(&columns, &f, rows);
    for (size_t i = 0; i < rows->nframes && !f.failed && !s; i++)
        s = put_frame(&f, data, &columns, rows, i, &chunk, source, owner, e);
    nxmx_columns_close(&columns);
    if (data >= 0)
        (void)hdf5_good(&f, H5Dclose(data));
    nxmx_chunk_free(&chunk);
    if (s == STATUS_OK)
        return hdf5_commit(&f, e);
    hdf5_abort(&f);
    return s;
}

/* --- the master ---------------------------------------------------------- */

/* Maps the frames first .. end-1 of the master, which are those of one file. */
static void map_file(struct hdf5_file *f, hid_t made, hid_t space, const hsize_t dims[3],
                     hsize_t first, hsize_t end, const char *name)
{
    const hsize_t start[3] = {first}, count[3] = {end - first, dims[1], dims[2]};
    const hid_t source = H5Screate_simple(3, count, NULL);
    (void)hdf5_good(f, H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    (void)hdf5_good(f, H5Pset_virtual(made, space, name, NXMX_DATA, source));
    (void)H5Sclose(source);
}

static void put_virtual(struct hdf5_file *f, const struct nxmx_kind *kind,
                        const struct nxmx_rows *rows, nxmx_name *name, const void *owner)
{
    hsize_t dims[3] = {rows->nframes};
    char file[NAME_BYTES];
    nxmx_image_size(kind->experiment, dims + 1);
    const hid_t made = hdf5_creation(f), space = H5Screate_simple(3, dims, NULL);
    for (size_t first = 0, end; first < rows->nframes; first = end) {
        for (end = first;
             end < rows->nframes && rows->frames[end].file == rows->frames[first].file;)
            end++;
        name(owner, rows->frames[first].file, file, sizeof file);
        map_file(f, made, space, dims, first, end, file);
    }
    const hid_t data = hdf5_data(f, NXMX_DATA, nxmx_pixel_type(kind->type), 3, dims, made, NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Sclose(space);
    (void)H5Pclose(made);
}

enum status nxmx_write_master(const char *path, const struct nxmx_kind *kind,
                              const struct nxmx_rows *rows, nxmx_name *name, const void *owner,
                              struct error *e)
{
    struct hdf5_file f;
    const enum status s = hdf5_create(&f, path, kind->sync, e);
    if (s)
        return s;
    f.replace.guarded = kind->guarded;
    nxmx_layout(&f, kind, rows);
    put_virtual(&f, kind, rows, name, owner);
    nxmx_columns_map(&f, rows, name, owner);
    return hdf5_commit(&f, e);
}

/* --- back ---------------------------------------------------------------- */

struct nxmx_file {
    struct hdf5_file hdf5;
    hid_t data;
    char path[NAME_BYTES];
};

static bool is_of_lineage(struct hdf5_file *f, const char *lineage)
{
    char found[32];
    return hdf5_read_text(f, NXMX_TRUTH "/lineage", found, sizeof found) &&
           strcmp(found, lineage) == 0;
}

/* True when the chunks and frames of the file may stand beside those of this kind. */
static bool is_of_kind(struct nxmx_file *file, const struct nxmx_kind *kind, struct nxmx_rows *rows)
{
    char compression[16];
    if (!is_of_lineage(&file->hdf5, kind->lineage) ||
        !hdf5_read_text(&file->hdf5, NXMX_TRUTH "/compression", compression, sizeof compression) ||
        strcmp(compression, nxmx_compression_name(kind->compression)) != 0)
        return false;
    file->data = H5Dopen2(file->hdf5.id, NXMX_DATA, H5P_DEFAULT);
    return file->data >= 0 && nxmx_get_rows(&file->hdf5, rows);
}

enum status nxmx_open(const char *path, const struct nxmx_kind *kind, struct nxmx_file **file,
                      struct nxmx_rows *rows, struct error *e)
{
    *rows = (struct nxmx_rows){0};
    *file = NULL;
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    struct nxmx_file *opened = calloc(1, sizeof *opened);
    if (!opened)
        return error_memory(e, "a file");
    opened->data = -1;
    (void)snprintf(opened->path, sizeof opened->path, "%s", path);
    if (hdf5_open(&opened->hdf5, path) && is_of_kind(opened, kind, rows)) {
        *file = opened;
        return STATUS_OK;
    }
    nxmx_close(opened);
    return error_set(e, STATUS_FAILED,
                     "%s: is there and does not belong to these frames, or is packed in another "
                     "way; --overwrite replaces it",
                     path);
}

bool nxmx_read_rows(const char *path, const char *lineage, struct nxmx_rows *rows)
{
    struct hdf5_file f;
    *rows = (struct nxmx_rows){0};
    if (!hdf5_open(&f, path))
        return false;
    const bool good = is_of_lineage(&f, lineage) && nxmx_get_rows(&f, rows);
    hdf5_abort(&f);
    return good;
}

enum status nxmx_read(struct nxmx_file *file, const struct nxmx_rows *rows, uint64_t frame,
                      struct nxmx_chunk *chunk, size_t count, struct reflection_row *reflections,
                      struct error *e)
{
    const size_t place = (size_t)nxmx_rows_find(rows, frame);
    uint64_t first = 0;
    for (size_t i = 0; i < place; i++)
        first += rows->reflections[i];
    if (!nxmx_get_chunk(file->data, place, chunk) ||
        (count && !nxmx_columns_get(&file->hdf5, first, count, reflections)))
        return error_set(e, STATUS_FAILED, "%s: cannot read image %zu", file->path, place);
    return STATUS_OK;
}

void nxmx_close(struct nxmx_file *file)
{
    if (!file)
        return;
    if (file->data >= 0)
        (void)H5Dclose(file->data);
    hdf5_abort(&file->hdf5);
    free(file);
}
