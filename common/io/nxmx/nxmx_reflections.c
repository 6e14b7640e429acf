/*
 * The reflections of NXmx files (nxmx_layout.h): columns of all frames, one frame after the
 * other.
 */
#include "io/nxmx/nxmx_layout.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "io/hdf5/hdf5_file.h"

#define GROUP "/entry/reflections"
#define PIXELS NXMX_TRUTH "/reflection_pixels"

enum { PATH_BYTES = 64 };

enum kind { I4, F4, F8, U8 };

/* Columns that all files have. */
enum { COLUMNS_AT_FIRST = 15 };

/* The columns of the table.  The first one is the number of the frame, which is not a member of
 * struct reflection_row. */
static const struct column {
    const char *name;
    enum kind kind;
    size_t offset;  // in struct reflection_row
    const char *units;
} columns[NXMX_COLUMNS] = {
    {"frame", U8, 0, NULL},
#define COLUMN(name, kind, member, units)                          \
    {                                                              \
        name, kind, offsetof(struct reflection_row, member), units \
    }
    COLUMN("lattice", I4, lattice, NULL),
    COLUMN("h", I4, hkl[0], NULL),
    COLUMN("k", I4, hkl[1], NULL),
    COLUMN("l", I4, hkl[2], NULL),
    COLUMN("panel", I4, panel, NULL),
    COLUMN("fast", F8, fast, "pixels"),
    COLUMN("slow", F8, slow, "pixels"),
    COLUMN("photons", F8, photons, "counts"),
    COLUMN("peak", F4, peak, "counts"),
    COLUMN("pixels", I4, pixels, NULL),
    COLUMN("phi", F8, phi_deg, "deg"),
    COLUMN("s", F8, s_1_A, "1/angstrom"),
    COLUMN("F2", F4, F2, NULL),
    COLUMN("background", F4, background, "counts"),
    COLUMN("z", F4, z, NULL),
    COLUMN("wavelength", F4, wavelength_A, "angstrom"),
    COLUMN("orders", I4, orders, NULL),
#undef COLUMN
};

static size_t size_of(const struct column *c)
{
    return c->kind == I4 || c->kind == F4 ? 4 : 8;
}

/* Returns the HDF5 type of a column.  The caller must not close it. */
static hid_t type_of(const struct column *c)
{
    switch (c->kind) {
    case I4:
        return H5T_STD_I32LE;
    case F4:
        return H5T_IEEE_F32LE;
    case F8:
        return H5T_IEEE_F64LE;
    case U8:
        break;
    }
    return H5T_STD_U64LE;
}

static const char *path_of(const struct column *c, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, GROUP "/%s", c->name);
    return path;
}

/* Creates the group and its columns of `total` rows.  made[] has the creation property lists of
 * the columns; NULL: the default (see hdf5_data).  data[] gets the open columns; NULL: the
 * columns are closed. */
static void create(struct hdf5_file *f, uint64_t total, const hid_t made[NXMX_COLUMNS],
                   hid_t data[NXMX_COLUMNS])
{
    const hsize_t dims = total;
    char path[PATH_BYTES];
    hdf5_group(f, GROUP, "NXdata");
    hdf5_note_text(f, GROUP, "signal", "photons");
    for (int i = 0; i < NXMX_COLUMNS; i++) {
        const struct column *c = &columns[i];
        const hid_t one = hdf5_data(f, path_of(c, path), type_of(c), 1, &dims,
                                    made ? made[i] : H5P_DEFAULT, NULL);
        if (c->units)
            hdf5_note_text(f, path, "units", c->units);
        if (data)
            data[i] = one;
        else if (one >= 0)
            (void)hdf5_good(f, H5Dclose(one));
    }
}

static uint64_t sum_of(const struct nxmx_rows *rows, size_t first, size_t end)
{
    uint64_t sum = 0;
    for (size_t i = first; i < end; i++)
        sum += rows->reflections[i].rows;
    return sum;
}

static uint64_t pixels_of(const struct nxmx_rows *rows, size_t first, size_t end)
{
    uint64_t sum = 0;
    for (size_t i = first; i < end; i++)
        sum += rows->reflections[i].pixels;
    return sum;
}

/* Creates the list of pixels with the creation property list `made`.  The caller closes it.
 * Returns -1 if no frame lists pixels. */
static hid_t create_pixels(struct hdf5_file *f, const struct nxmx_rows *rows, hid_t made)
{
    const hsize_t dims = pixels_of(rows, 0, rows->nframes);
    return dims ? hdf5_data(f, PIXELS, H5T_STD_U32LE, 1, &dims, made, NULL) : -1;
}

/* ---- writing ------------------------------------------------------------ */

void nxmx_columns_create(struct nxmx_columns *c, struct hdf5_file *f, const struct nxmx_rows *rows)
{
    *c = (struct nxmx_columns){.pixels = -1};
    for (int i = 0; i < NXMX_COLUMNS; i++)
        c->data[i] = -1;
    if (!rows->has_reflections)
        return;
    create(f, sum_of(rows, 0, rows->nframes), NULL, c->data);
    c->pixels = create_pixels(f, rows, H5P_DEFAULT);
}

/* Selects the items first .. first + count - 1 of a data set.  *file and *memory get the data
 * spaces for reading and writing these items.  The caller closes both.  Returns false if the
 * library fails. */
static bool select_rows(hid_t data, uint64_t first, size_t count, hid_t *file, hid_t *memory)
{
    const hsize_t start = first, n = count;
    *file = H5Dget_space(data);
    *memory = H5Screate_simple(1, &n, NULL);
    return *file >= 0 && *memory >= 0 &&
           H5Sselect_hyperslab(*file, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0;
}

/* Writes the items first .. first + count - 1 of an open data set.  *f stores a failure. */
static void put_items(struct hdf5_file *f, hid_t data, hid_t type, uint64_t first, size_t count,
                      const void *values)
{
    hid_t file, memory;
    const bool good = select_rows(data, first, count, &file, &memory);
    (void)hdf5_good(f, good ? H5Dwrite(data, type, memory, file, H5P_DEFAULT, values) : -1);
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
}

static bool reserve_values(struct nxmx_columns *c, size_t count)
{
    if (count <= c->room)
        return true;
    mem_free(c->values);
    c->values = mem_try_array(count, sizeof(uint64_t));
    c->room = c->values ? count : 0;
    return c->values;
}

void nxmx_columns_put(struct nxmx_columns *c, struct hdf5_file *f, uint64_t frame,
                      const struct reflection_table *t)
{
    if (!t->count || !hdf5_good(f, reserve_values(c, t->count) ? 0 : -1))
        return;
    for (int i = 0; i < NXMX_COLUMNS && !f->failed; i++) {
        const size_t size = size_of(&columns[i]);
        for (size_t k = 0; k < t->count; k++)
            memcpy((char *)c->values + k * size,
                   i ? (const char *)&t->rows[k] + columns[i].offset : (const char *)&frame, size);
        put_items(f, c->data[i], type_of(&columns[i]), c->next, t->count, c->values);
    }
    if (t->npixels)
        put_items(f, c->pixels, H5T_STD_U32LE, c->next_pixel, t->npixels, t->pixels);
    c->next += t->count;
    c->next_pixel += t->npixels;
}

void nxmx_columns_close(struct nxmx_columns *c)
{
    for (int i = 0; i < NXMX_COLUMNS; i++)
        if (c->data[i] >= 0)
            (void)H5Dclose(c->data[i]);
    if (c->pixels >= 0)
        (void)H5Dclose(c->pixels);
    mem_free(c->values);
    *c = (struct nxmx_columns){0};
}

/* ---- reading -------------------------------------------------------------- */

/* Returns true if a data set has `count` values from `first` on, of the same type as in memory.
 * Other types are not accepted, because the library reads out of bounds when it converts values of
 * a corrupt type. */
static bool holds(hid_t data, hid_t type, uint64_t first, size_t count)
{
    const hid_t stored = H5Dget_type(data), space = H5Dget_space(data);
    hsize_t length;
    const bool good = H5Tequal(stored, type) > 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                      H5Sget_simple_extent_dims(space, &length, NULL) == 1 && first <= length &&
                      count <= length - first;
    (void)H5Sclose(space);
    (void)H5Tclose(stored);
    return good;
}

/* Reads the items first .. first + count - 1 of the data set at a path.  Returns false if the
 * data set does not have them, or has another type. */
static bool get_items(struct hdf5_file *f, const char *path, hid_t type, uint64_t first,
                      size_t count, void *values)
{
    hid_t file = -1, memory = -1;
    const hid_t data = hdf5_open_data(f->id, path);
    const bool good = data >= 0 && holds(data, type, first, count) &&
                      select_rows(data, first, count, &file, &memory) &&
                      H5Dread(data, type, memory, file, H5P_DEFAULT, values) >= 0;
    if (memory >= 0)
        (void)H5Sclose(memory);
    if (file >= 0)
        (void)H5Sclose(file);
    if (data >= 0)
        (void)H5Dclose(data);
    return good;
}

bool nxmx_columns_get(struct hdf5_file *f, uint64_t first, size_t count,
                      struct reflection_row *rows)
{
    char path[PATH_BYTES];
    void *values = mem_try_array(count, sizeof(uint64_t));
    bool good = values;
    memset(rows, 0, count * sizeof *rows);
    for (int i = 1; i < NXMX_COLUMNS && good && count; i++) {
        const struct column *c = &columns[i];
        /* Files of previous versions do not have all of the last columns. */
        if (i >= COLUMNS_AT_FIRST && H5Lexists(f->id, path_of(c, path), hdf5_links()) <= 0)
            continue;
        const size_t size = size_of(c);
        good = get_items(f, path_of(c, path), type_of(c), first, count, values);
        for (size_t k = 0; k < count && good; k++)
            memcpy((char *)&rows[k] + c->offset, (const char *)values + k * size, size);
    }
    mem_free(values);
    return good;
}

bool nxmx_columns_sum(struct hdf5_file *f, const struct reflection_row *rows, size_t count,
                      uint64_t first_pixel, uint64_t npixels, uint32_t *sum)
{
    const size_t n = (size_t)npixels;
    *sum = nxmx_reflections_sum(*sum, rows, count);
    if (!npixels)
        return true;
    uint32_t *pixels = npixels <= UINT32_MAX && hdf5_affords(f, n * sizeof *pixels)
                           ? mem_try_array(n, sizeof *pixels)
                           : NULL;
    const bool good = pixels && get_items(f, PIXELS, H5T_STD_U32LE, first_pixel, n, pixels);
    if (good)
        *sum = crc32c(*sum, pixels, n * sizeof *pixels);
    mem_free(pixels);
    return good;
}

void nxmx_columns_touch(struct hdf5_file *f)
{
    char path[PATH_BYTES];
    for (int i = 0; i <= NXMX_COLUMNS; i++) {
        const hid_t data =
            hdf5_open_data(f->id, i < NXMX_COLUMNS ? path_of(&columns[i], path) : PIXELS);
        if (data < 0)
            continue;
        hdf5_touch(data);
        (void)H5Dclose(data);
    }
}

bool nxmx_table_reserve(struct reflection_table *t, const struct nxmx_reflection_counts *counts)
{
    t->rows = mem_try_array((size_t)counts->rows, sizeof *t->rows);
    t->pixels = mem_try_array((size_t)counts->pixels, sizeof *t->pixels);
    t->count = t->rows ? (size_t)counts->rows : 0;
    t->npixels = t->pixels ? (size_t)counts->pixels : 0;
    t->least_photons = counts->least_photons;
    t->rest_photons = counts->rest_photons;
    return t->rows && t->pixels;
}

bool nxmx_table_get(struct hdf5_file *f, const struct nxmx_rows *rows, size_t place,
                    struct reflection_table *t)
{
    return (!t->count || nxmx_columns_get(f, sum_of(rows, 0, place), t->count, t->rows)) &&
           (!t->npixels ||
            get_items(f, PIXELS, H5T_STD_U32LE, pixels_of(rows, 0, place), t->npixels, t->pixels));
}

/* ---- the master ------------------------------------------------------------- */

void nxmx_columns_map(struct hdf5_file *f, const struct nxmx_rows *rows, const struct nxmx_map *map)
{
    hid_t made[NXMX_COLUMNS + 1];
    char path[PATH_BYTES];
    if (!rows->has_reflections)
        return;
    for (int i = 0; i <= NXMX_COLUMNS; i++)
        made[i] = hdf5_creation(f);
    for (int i = 0; i < NXMX_COLUMNS; i++)
        nxmx_map_put(map, f, made[i], NXMX_REFLECTIONS, 0, NULL, path_of(&columns[i], path));
    nxmx_map_put(map, f, made[NXMX_COLUMNS], NXMX_PIXELS, 0, NULL, PIXELS);
    create(f, map->total[NXMX_REFLECTIONS], made, NULL);
    const hid_t listed = create_pixels(f, rows, made[NXMX_COLUMNS]);
    if (listed >= 0)
        (void)hdf5_good(f, H5Dclose(listed));
    for (int i = 0; i <= NXMX_COLUMNS; i++)
        (void)H5Pclose(made[i]);
}
