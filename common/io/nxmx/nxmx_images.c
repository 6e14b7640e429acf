/*
 * The images of NXmx files (nxmx_layout.h): packed chunks, and the virtual data sets of a
 * master.
 */
#include "io/nxmx/nxmx_layout.h"
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/isa.h"
#include "codec/bslz4.h"
#include "io/hdf5/hdf5_file.h"

/* --- packing ------------------------------------------------------------- */

enum { GZIP_LEVEL = 1 };

static const char *const compressions[] = {"bslz4", "lz4", "gzip", "none"};

const char *nxmx_compression_name(enum nxmx_compression compression)
{
    return compressions[compression];
}

bool nxmx_compression_of(const char *name, enum nxmx_compression *compression)
{
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
        if (strcmp(compressions[i], name) == 0) {
            *compression = (enum nxmx_compression)i;
            return true;
        }
    return false;
}

static size_t bound(enum nxmx_compression compression, const struct image *image, size_t bytes)
{
    switch (compression) {
    case NXMX_BSLZ4:
        return bslz4_bound(image->count, pixel_size(image->type));
    case NXMX_LZ4:
        return lz4_blocks_bound(bytes);
    case NXMX_GZIP:
        return compressBound(bytes);
    case NXMX_NONE:
        break;
    }
    return bytes;
}

/* Makes room for `length` bytes.  The previous content is lost. */
static void nxmx_chunk_reserve(struct nxmx_chunk *chunk, size_t room)
{
    if (room > chunk->room) {
        nxmx_chunk_free(chunk);
        chunk->own = mem_room(room);
        chunk->room = room;
    }
    chunk->bytes = chunk->own;
}

static enum status pack_gzip(const void *pixels, size_t bytes, struct nxmx_chunk *chunk,
                             struct error *e)
{
    uLongf length = chunk->room;
    if (compress2(chunk->own, &length, pixels, bytes, GZIP_LEVEL) != Z_OK)
        return error_memory(e, "the compressor");
    chunk->length = length;
    return STATUS_OK;
}

/* Packs an image, unless it came packed.  Forms the checksum of the pixels in the same pass, if the
 * owner of the image needs it. */
static void pack_bslz4(const struct image *image, struct nxmx_chunk *chunk)
{
    uint32_t sum = 0;
    if (image->chunk) {
        chunk->bytes = image->chunk;
        chunk->length = image->chunk_bytes;
        return;
    }
    chunk->length =
        bslz4_compress_summed(isa_best(), image->pixels, image->count, pixel_size(image->type),
                              chunk->own, image->was_read ? &sum : NULL);
    image_was_summed(image, sum);
}

enum status nxmx_pack(enum nxmx_compression compression, const struct image *image,
                      struct nxmx_chunk *chunk, struct error *e)
{
    const size_t size = pixel_size(image->type), bytes = image->count * size;
    if (bytes > LZ4_MAX_INPUT_SIZE)
        return error_set(e, STATUS_INPUT,
                         "an image of %zu bytes does not fit into a chunk; expected at most %d",
                         bytes, LZ4_MAX_INPUT_SIZE);
    nxmx_chunk_reserve(chunk, bound(compression, image, bytes));
    switch (compression) {
    case NXMX_BSLZ4:
        pack_bslz4(image, chunk);
        break;
    case NXMX_LZ4:
        chunk->length = lz4_blocks_compress(image->pixels, bytes, chunk->own);
        break;
    case NXMX_GZIP:
        return pack_gzip(image->pixels, bytes, chunk, e);
    case NXMX_NONE:
        image_was_summed(image, crc32c_copy(chunk->own, image->pixels, bytes));
        chunk->length = bytes;
        break;
    }
    return STATUS_OK;
}

enum status nxmx_unpack(enum nxmx_compression compression, const struct nxmx_chunk *chunk,
                        struct image *image, struct error *e)
{
    const size_t size = pixel_size(image->type), bytes = image->count * size;
    uLongf length = bytes;
    switch (compression) {
    case NXMX_BSLZ4:
        return bslz4_decompress(chunk->bytes, chunk->length, image->pixels, image->count, size, e);
    case NXMX_LZ4:
        return lz4_blocks_decompress(chunk->bytes, chunk->length, image->pixels, bytes, e);
    case NXMX_GZIP:
        if (uncompress(image->pixels, &length, chunk->bytes, chunk->length) != Z_OK ||
            length != bytes)
            return error_set(e, STATUS_INPUT, "gzip: corrupt, or not %zu bytes when unpacked",
                             bytes);
        return STATUS_OK;
    case NXMX_NONE:
        break;
    }
    if (chunk->length != bytes)
        return error_set(e, STATUS_INPUT, "the chunk of an image has %zu bytes; expected %zu",
                         chunk->length, bytes);
    memcpy(image->pixels, chunk->bytes, bytes);
    return STATUS_OK;
}

uint32_t nxmx_images_sum(const struct image *image, const struct planes *planes,
                         const struct reflection_table *t)
{
    uint32_t sum = image->has_sum
                       ? image->sum
                       : crc32c(0, image->pixels, image->count * pixel_size(image->type));
    for (size_t i = 0; i < planes->count; i++)
        sum = crc32c(sum, planes->items[i].values, planes->items[i].count * sizeof(float));
    return crc32c(sum, t->labels, t->nlabels * sizeof *t->labels);
}

/* Copies with a checksum, because only this copy is divided between threads. */
void nxmx_chunk_take(struct nxmx_chunk *chunk)
{
    const uint8_t *from = chunk->bytes;
    if (from == chunk->own)
        return;
    nxmx_chunk_reserve(chunk, chunk->length);
    (void)crc32c_copy(chunk->own, from, chunk->length);
}

void nxmx_chunk_free(struct nxmx_chunk *chunk)
{
    mem_free(chunk->own);
    *chunk = (struct nxmx_chunk){0};
}

/* --- virtual data sets --------------------------------------------------- */

enum { NAME_BYTES = 4096, RANK_MAX = 3 };

static int compare_runs(const void *a, const void *b)
{
    const struct nxmx_run *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->first[NXMX_FRAMES] > y->first[NXMX_FRAMES]) -
           (x->first[NXMX_FRAMES] < y->first[NXMX_FRAMES]);
}

void nxmx_map_make(struct nxmx_map *m, const struct nxmx_rows *rows, nxmx_name *name,
                   const void *owner)
{
    *m = (struct nxmx_map){.name = name, .owner = owner};
    m->runs = mem_array(rows->nframes, sizeof *m->runs);
    for (size_t i = 0; i < rows->nframes; i++) {
        const uint64_t file = rows->frames[i].file;
        const uint64_t count[NXMX_AXES] = {1, rows->reflections[i].rows,
                                           rows->reflections[i].pixels};
        if (!i || m->runs[m->nruns - 1].file != file) {
            struct nxmx_run *run = &m->runs[m->nruns++];
            *run = (struct nxmx_run){.file = file};
            memcpy(run->first, m->total, sizeof run->first);
        }
        for (int axis = 0; axis < NXMX_AXES; axis++) {
            m->runs[m->nruns - 1].count[axis] += count[axis];
            m->total[axis] += count[axis];
        }
    }
    qsort(m->runs, m->nruns, sizeof *m->runs, compare_runs);
}

/* Adds one data file to the map in the creation property list `made`.  m->runs[first] to
 * m->runs[end - 1] are the runs of the file.  Together they are all items of its data set at
 * `path`, in the same order.  Overwrites dims[0]. */
static void map_file(const struct nxmx_map *m, size_t first, size_t end, struct hdf5_file *f,
                     hid_t made, hid_t space, enum nxmx_axis axis, hsize_t dims[RANK_MAX],
                     const char *path)
{
    char name[NAME_BYTES];
    const int rank = H5Sget_simple_extent_ndims(space);
    hsize_t start[RANK_MAX] = {0}, total = 0;
    for (size_t i = first; i < end; i++) {
        start[0] = m->runs[i].first[axis];
        dims[0] = m->runs[i].count[axis];
        if (dims[0])
            (void)hdf5_good(f, H5Sselect_hyperslab(space, total ? H5S_SELECT_OR : H5S_SELECT_SET,
                                                   start, NULL, dims, NULL));
        total += dims[0];
    }
    if (!total)
        return;
    dims[0] = total;
    const hid_t source = H5Screate_simple(rank, dims, NULL);
    m->name(m->owner, m->runs[first].file, name, sizeof name);
    (void)hdf5_good(f, H5Pset_virtual(made, space, name, path, source));
    (void)H5Sclose(source);
}

void nxmx_map_put(const struct nxmx_map *m, struct hdf5_file *f, hid_t made, enum nxmx_axis axis,
                  int ninner, const hsize_t *inner, const char *path)
{
    hsize_t dims[RANK_MAX] = {m->total[axis]};
    for (int i = 0; i < ninner; i++)
        dims[1 + i] = inner[i];
    const hid_t space = H5Screate_simple(1 + ninner, dims, NULL);
    for (size_t first = 0, end; first < m->nruns; first = end) {
        for (end = first; end < m->nruns && m->runs[end].file == m->runs[first].file;)
            end++;
        map_file(m, first, end, f, made, space, axis, dims, path);
    }
    (void)H5Sclose(space);
}

void nxmx_map_free(struct nxmx_map *m)
{
    mem_free(m->runs);
    *m = (struct nxmx_map){0};
}

/* --- images ---------------------------------------------------------------- */

void nxmx_image_size(const struct experiment *x, hsize_t size[2])
{
    size[0] = 0;
    for (size_t i = 0; i < x->npanels; i++)
        size[0] += (hsize_t)x->panels[i].slow_pixels;
    size[1] = (hsize_t)x->panels->fast_pixels;
}

hid_t nxmx_pixel_type(enum pixel_type type)
{
    switch (type) {
    case PIXEL_F32:
        return H5T_IEEE_F32LE;
    case PIXEL_U16:
        return H5T_STD_U16LE;
    case PIXEL_U32:
        return H5T_STD_U32LE;
    case PIXEL_I32:
        break;
    }
    return H5T_STD_I32LE;
}

enum {
    FILTER_LZ4 = 32004,
    FILTER_BITSHUFFLE = 32008,
    PATH_BYTES = 64,
    NAMES_BYTES = PLANES_MAX * PLANE_NAME_SIZE + 1
};

#define GROUP "/entry/derivatives"
#define NAMES NXMX_TRUTH "/derivatives"
#define LABELS NXMX_TRUTH "/labels"

/* Returns the number of layers of files of that kind. */
static size_t nxmx_layers_count(const struct nxmx_kind *kind)
{
    return 1 + kind->nplanes + kind->labels;
}

/* Returns true if a layer is that of the labels, which is the last one. */
static bool is_labels(const struct nxmx_kind *kind, size_t layer)
{
    return layer > kind->nplanes;
}

static const char *path_of(const struct nxmx_kind *kind, size_t layer, char path[PATH_BYTES])
{
    if (layer == 0)
        return NXMX_DATA;
    if (is_labels(kind, layer))
        return LABELS;
    (void)snprintf(path, PATH_BYTES, GROUP "/%s", kind->planes[layer - 1].name);
    return path;
}

static enum pixel_type type_of(const struct nxmx_kind *kind, size_t layer)
{
    return layer == 0 ? kind->type : is_labels(kind, layer) ? PIXEL_U32 : PIXEL_F32;
}

/* Lists the names of all derivative images, separated by commas. */
static void list_names(const struct nxmx_kind *kind, char names[NAMES_BYTES])
{
    size_t used = 0;
    names[0] = 0;
    for (size_t i = 0; i < kind->nplanes; i++)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, i ? ",%s" : "%s",
                                 kind->planes[i].name);
}

/* Writes the names of the derivative images and creates the group for their data sets.  Does
 * nothing if there are no derivative images. */
static void put_names(struct hdf5_file *f, const struct nxmx_kind *kind)
{
    char names[NAMES_BYTES];
    if (!kind->nplanes)
        return;
    list_names(kind, names);
    hdf5_text(f, NAMES, names);
    hdf5_group(f, GROUP, "NXcollection");
}

/* Writes the attribute parameter_units of a layer: the unit of the parameter of a derivative
 * image.  Does nothing for other layers. */
static void note_unit(struct hdf5_file *f, const struct nxmx_kind *kind, size_t layer)
{
    char path[PATH_BYTES];
    if (layer > 0 && !is_labels(kind, layer))
        hdf5_note_text(f, path_of(kind, layer, path), "parameter_units",
                       kind->planes[layer - 1].unit);
}

void nxmx_declare_filter(struct hdf5_file *f, hid_t made, enum nxmx_compression compression,
                         enum pixel_type type)
{
    /* The values that bitshuffle 0.3 itself stores: version, bytes per item, default block size,
     * LZ4. */
    const unsigned bitshuffle[] = {0, 3, (unsigned)pixel_size(type), 0, 2};
    herr_t result = 0;
    if (compression == NXMX_BSLZ4)
        result = H5Pset_filter(made, FILTER_BITSHUFFLE, H5Z_FLAG_OPTIONAL, 5, bitshuffle);
    else if (compression == NXMX_LZ4)
        result = H5Pset_filter(made, FILTER_LZ4, H5Z_FLAG_OPTIONAL, 0, NULL);
    else if (compression == NXMX_GZIP)
        result = H5Pset_deflate(made, 1);
    (void)hdf5_good(f, result);
}

static hid_t create(struct hdf5_file *f, const struct nxmx_kind *kind, size_t layer, size_t frames)
{
    hsize_t dims[3] = {frames}, chunk[3] = {1};
    char path[PATH_BYTES];
    const enum pixel_type type = type_of(kind, layer);
    nxmx_image_size(kind->experiment, dims + 1);
    memcpy(chunk + 1, dims + 1, 2 * sizeof *dims);
    const hid_t made = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(made, 3, chunk));
    (void)hdf5_good(f, H5Pset_fill_time(made, H5D_FILL_TIME_NEVER));
    nxmx_declare_filter(f, made, kind->compression, type);
    const hid_t data =
        hdf5_data(f, path_of(kind, layer, path), nxmx_pixel_type(type), 3, dims, made, NULL);
    (void)H5Pclose(made);
    note_unit(f, kind, layer);
    return data;
}

void nxmx_layers_create(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind,
                        size_t frames)
{
    put_names(f, kind);
    for (l->count = 0; l->count < nxmx_layers_count(kind); l->count++)
        l->data[l->count] = create(f, kind, l->count, frames);
}

void nxmx_layers_put(struct nxmx_layers *l, struct hdf5_file *f, size_t i,
                     const struct nxmx_chunk *chunks)
{
    const hsize_t at[3] = {i};
    for (size_t k = 0; k < l->count; k++) {
        /* The library does not read the bytes of a chunk that has a place, but refuses NULL. */
        const void *bytes = chunks[k].place ? (const void *)&chunks[k] : chunks[k].bytes;
        f->inplace.place = chunks[k].place;
        f->inplace.place_length = chunks[k].length;
        (void)hdf5_good(f, H5Dwrite_chunk(l->data[k], H5P_DEFAULT, 0, at, chunks[k].length, bytes));
    }
}

/* Adds the derivative image of the next name in *names, which commas separate, to *kind.  Moves
 * *names after the name; NULL: it was the last.  Returns false if the name is not possible, or
 * if the file has no such derivative image. */
static bool find_plane(struct hdf5_file *f, struct nxmx_kind *kind, const char **names)
{
    char path[PATH_BYTES];
    struct nxmx_plane *plane = &kind->planes[kind->nplanes];
    const size_t length = strcspn(*names, ",");
    if (kind->nplanes == PLANES_MAX || !length || length >= PLANE_NAME_SIZE)
        return false;
    *plane = (struct nxmx_plane){0};
    memcpy(plane->name, *names, length);
    *names = (*names)[length] ? *names + length + 1 : NULL;
    return hdf5_read_note(f, path_of(kind, ++kind->nplanes, path), "parameter_units", plane->unit,
                          sizeof plane->unit);
}

bool nxmx_layers_find(struct hdf5_file *f, struct nxmx_kind *kind)
{
    char names[NAMES_BYTES];
    const char *rest = NULL;
    kind->nplanes = 0;
    kind->labels = H5Lexists(f->id, LABELS, hdf5_links()) > 0;
    if (H5Lexists(f->id, NAMES, hdf5_links()) > 0) {
        if (!hdf5_read_text(f, NAMES, names, sizeof names))
            return false;
        rest = names;
    }
    while (rest)
        if (!find_plane(f, kind, &rest))
            return false;
    return true;
}

bool nxmx_layers_open(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind)
{
    char names[NAMES_BYTES], found[NAMES_BYTES] = "", path[PATH_BYTES];
    *l = (struct nxmx_layers){0};
    list_names(kind, names);
    const bool has = H5Lexists(f->id, NAMES, hdf5_links()) > 0;
    if ((has && !hdf5_read_text(f, NAMES, found, sizeof found)) || strcmp(names, found) != 0 ||
        (H5Lexists(f->id, LABELS, hdf5_links()) > 0) != kind->labels)
        return false;
    for (size_t k = 0; k < nxmx_layers_count(kind); k++) {
        const hid_t data = hdf5_open_data(f->id, path_of(kind, k, path));
        if (data < 0)
            return false;
        l->data[l->count++] = data;
    }
    return true;
}

bool nxmx_get_chunk(hid_t data, size_t place, struct nxmx_chunk *chunk)
{
    const hsize_t at[3] = {place};
    hsize_t length;
    uint32_t mask;
    /* HDF5 has no larger chunks, so a damaged file claims this length. */
    if (H5Dget_chunk_storage_size(data, at, &length) < 0 || !length || length > UINT32_MAX)
        return false;
    nxmx_chunk_reserve(chunk, (size_t)length);
    chunk->length = (size_t)length;
    return H5Dread_chunk(data, H5P_DEFAULT, at, &mask, chunk->own) >= 0 && !mask;
}

bool nxmx_layers_sum(const struct nxmx_kind *kind, const struct nxmx_chunk *chunks, uint32_t *sum)
{
    hsize_t size[2];
    bool good = true;
    nxmx_image_size(kind->experiment, size);
    const size_t pixels = (size_t)(size[0] * size[1]);
    void *values = mem_array(pixels, sizeof(uint32_t));
    *sum = 0;
    for (size_t k = 0; k < nxmx_layers_count(kind) && good; k++) {
        struct image image = {.type = type_of(kind, k), .count = pixels, .pixels = values};
        good = nxmx_unpack(kind->compression, &chunks[k], &image, NULL) == STATUS_OK;
        if (good)
            *sum = crc32c(*sum, values, pixels * pixel_size(image.type));
    }
    mem_free(values);
    return good;
}

bool nxmx_layers_get(const struct nxmx_layers *l, size_t place, struct nxmx_chunk *chunks)
{
    for (size_t k = 0; k < l->count; k++)
        if (!nxmx_get_chunk(l->data[k], place, &chunks[k]))
            return false;
    return true;
}

void nxmx_layers_close(struct nxmx_layers *l)
{
    for (size_t k = 0; k < l->count; k++)
        if (l->data[k] >= 0)
            (void)H5Dclose(l->data[k]);
    l->count = 0;
}

/* --- images of a master -------------------------------------------------- */

static void map_layer(struct hdf5_file *f, const struct nxmx_kind *kind, size_t layer,
                      const struct nxmx_map *map)
{
    hsize_t dims[3] = {map->total[NXMX_FRAMES]};
    char buffer[PATH_BYTES];
    const char *path = path_of(kind, layer, buffer);
    nxmx_image_size(kind->experiment, dims + 1);
    const hid_t made = hdf5_creation(f);
    nxmx_map_put(map, f, made, NXMX_FRAMES, 2, dims + 1, path);
    const hid_t data =
        hdf5_data(f, path, nxmx_pixel_type(type_of(kind, layer)), 3, dims, made, NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Pclose(made);
    note_unit(f, kind, layer);
}

void nxmx_layers_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_map *map)
{
    put_names(f, kind);
    for (size_t layer = 0; layer < nxmx_layers_count(kind); layer++)
        map_layer(f, kind, layer, map);
}
