#include "io/nxmx/nxmx_layers.h"

#include <stdio.h>
#include <string.h>

#include "io/hdf5/hdf5_read.h"
#include "io/nxmx/nxmx_layout.h"

enum {
    FILTER_LZ4 = 32004,
    FILTER_BITSHUFFLE = 32008,
    PATH_BYTES = 64,
    NAMES_BYTES = PLANES_MAX * PLANE_NAME_SIZE + 1
};

#define GROUP "/entry/derivatives"
#define NAMES NXMX_TRUTH "/derivatives"
#define LABELS NXMX_TRUTH "/labels"

size_t nxmx_layers_count(const struct nxmx_kind *kind)
{
    return 1 + kind->nplanes + kind->labels;
}

/* Labels come last. */
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

/* The names of all planes, parted by commas. */
static void list_names(const struct nxmx_kind *kind, char names[NAMES_BYTES])
{
    size_t used = 0;
    names[0] = 0;
    for (size_t i = 0; i < kind->nplanes; i++)
        used += (size_t)snprintf(names + used, NAMES_BYTES - used, i ? ",%s" : "%s",
                                 kind->planes[i].name);
}

/* The group of the planes, before its data sets. */
static void put_names(struct hdf5_file *f, const struct nxmx_kind *kind)
{
    char names[NAMES_BYTES];
    if (!kind->nplanes)
        return;
    list_names(kind, names);
    hdf5_text(f, NAMES, names);
    hdf5_group(f, GROUP, "NXcollection");
}

/* What values are per, of a plane that was created. */
static void note_unit(struct hdf5_file *f, const struct nxmx_kind *kind, size_t layer)
{
    char path[PATH_BYTES];
    if (layer > 0 && !is_labels(kind, layer))
        hdf5_note_text(f, path_of(kind, layer, path), "parameter_units",
                       kind->planes[layer - 1].unit);
}

/* Declares how chunks are packed.  As optional, for that needs no filter to write: all chunks
 * are packed all the same. */
static void declare_filter(struct hdf5_file *f, hid_t made, enum nxmx_compression compression,
                           enum pixel_type type)
{
    /* As bitshuffle 0.3 itself notes them: version, bytes of an item, default block, LZ4. */
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
    declare_filter(f, made, kind->compression, type);
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
    for (size_t k = 0; k < l->count; k++)
        (void)hdf5_good(
            f, H5Dwrite_chunk(l->data[k], H5P_DEFAULT, 0, at, chunks[k].length, chunks[k].bytes));
}

/* The plane of the next of the names that commas part; *names is NULL behind the last. */
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
    if (H5Dget_chunk_storage_size(data, at, &length) < 0 || !length ||
        !nxmx_chunk_reserve(chunk, (size_t)length))
        return false;
    chunk->length = (size_t)length;
    return H5Dread_chunk(data, H5P_DEFAULT, at, &mask, chunk->bytes) >= 0 && !mask;
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

/* --- the master ---------------------------------------------------------- */

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
