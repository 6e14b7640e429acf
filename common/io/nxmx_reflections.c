#include "io/nxmx_reflections.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define GROUP "/entry/reflections"

enum { PATH_BYTES = 64, NAME_BYTES = 4096 };

enum kind { I4, F4, F8, U8 };

/* The number of the frame, which rows do not hold, comes first. */
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
#undef COLUMN
};

static size_t size_of(const struct column *c)
{
    return c->kind == I4 || c->kind == F4 ? 4 : 8;
}

/* Need not be closed. */
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

/* The group and its columns by a creation list, see hdf5_data; those that stay open in data[], if
 * that is not NULL. */
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
        sum += rows->reflections[i];
    return sum;
}

/* ---- writing ------------------------------------------------------------ */

void nxmx_columns_create(struct nxmx_columns *c, struct hdf5_file *f, const struct nxmx_rows *rows)
{
    *c = (struct nxmx_columns){0};
    for (int i = 0; i < NXMX_COLUMNS; i++)
        c->data[i] = -1;
    if (rows->has_reflections)
        create(f, sum_of(rows, 0, rows->nframes), NULL, c->data);
}

/* Rows first .. first + count - 1 of a column. */
static bool select_rows(hid_t data, uint64_t first, size_t count, hid_t *file, hid_t *memory)
{
    const hsize_t start = first, n = count;
    *file = H5Dget_space(data);
    *memory = H5Screate_simple(1, &n, NULL);
    return *file >= 0 && *memory >= 0 &&
           H5Sselect_hyperslab(*file, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0;
}

static void put_column(struct nxmx_columns *c, struct hdf5_file *f, int i, size_t count)
{
    hid_t file, memory;
    const bool good = select_rows(c->data[i], c->next, count, &file, &memory);
    (void)hdf5_good(
        f, good ? H5Dwrite(c->data[i], type_of(&columns[i]), memory, file, H5P_DEFAULT, c->values)
                : -1);
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
}

void nxmx_columns_put(struct nxmx_columns *c, struct hdf5_file *f, uint64_t frame, size_t count,
                      const struct reflection_row *rows)
{
    if (count > c->room) {
        mem_free(c->values);
        c->values = mem_array(count, sizeof(uint64_t));
        c->room = c->values ? count : 0;
    }
    if (!count || !hdf5_good(f, c->values ? 0 : -1))
        return;
    for (int i = 0; i < NXMX_COLUMNS && !f->failed; i++) {
        const size_t size = size_of(&columns[i]);
        for (size_t k = 0; k < count; k++)
            memcpy((char *)c->values + k * size,
                   i ? (const char *)&rows[k] + columns[i].offset : (const char *)&frame, size);
        put_column(c, f, i, count);
    }
    c->next += count;
}

void nxmx_columns_close(struct nxmx_columns *c)
{
    for (int i = 0; i < NXMX_COLUMNS; i++)
        if (c->data[i] >= 0)
            (void)H5Dclose(c->data[i]);
    mem_free(c->values);
    *c = (struct nxmx_columns){0};
}

/* ---- reading -------------------------------------------------------------- */

static bool get_column(struct hdf5_file *f, const struct column *c, uint64_t first, size_t count,
                       void *values)
{
    char path[PATH_BYTES];
    hid_t file = -1, memory = -1;
    const hid_t data = H5Dopen2(f->id, path_of(c, path), H5P_DEFAULT);
    const bool good = data >= 0 && select_rows(data, first, count, &file, &memory) &&
                      H5Dread(data, type_of(c), memory, file, H5P_DEFAULT, values) >= 0;
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
    void *values = mem_array(count, sizeof(uint64_t));
    bool good = values;
    memset(rows, 0, count * sizeof *rows);
    for (int i = 1; i < NXMX_COLUMNS && good && count; i++) {
        const size_t size = size_of(&columns[i]);
        good = get_column(f, &columns[i], first, count, values);
        for (size_t k = 0; k < count && good; k++)
            memcpy((char *)&rows[k] + columns[i].offset, (const char *)values + k * size, size);
    }
    mem_free(values);
    return good;
}

/* ---- the master ------------------------------------------------------------- */

/* Maps rows first .. first + count - 1 of each column, which are those of one file. */
static void map_file(struct hdf5_file *f, const hid_t made[NXMX_COLUMNS], hid_t space,
                     uint64_t first, uint64_t count, const char *name)
{
    const hsize_t start = first, n = count;
    char path[PATH_BYTES];
    const hid_t source = H5Screate_simple(1, &n, NULL);
    (void)hdf5_good(f, H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL));
    for (int i = 0; i < NXMX_COLUMNS; i++)
        (void)hdf5_good(f,
                        H5Pset_virtual(made[i], space, name, path_of(&columns[i], path), source));
    (void)H5Sclose(source);
}

void nxmx_columns_map(struct hdf5_file *f, const struct nxmx_rows *rows,
                      void (*name)(const void *owner, uint64_t file, char *name, size_t size),
                      const void *owner)
{
    hid_t made[NXMX_COLUMNS];
    char file[NAME_BYTES];
    const hsize_t total = rows->has_reflections ? sum_of(rows, 0, rows->nframes) : 0;
    if (!rows->has_reflections)
        return;
    for (int i = 0; i < NXMX_COLUMNS; i++)
        made[i] = hdf5_creation(f);
    const hid_t space = H5Screate_simple(1, &total, NULL);
    uint64_t row = 0;
    for (size_t first = 0, end; first < rows->nframes; first = end) {
        for (end = first;
             end < rows->nframes && rows->frames[end].file == rows->frames[first].file;)
            end++;
        const uint64_t count = sum_of(rows, first, end);
        name(owner, rows->frames[first].file, file, sizeof file);
        if (count)
            map_file(f, made, space, row, count, file);
        row += count;
    }
    create(f, total, made, NULL);
    (void)H5Sclose(space);
    for (int i = 0; i < NXMX_COLUMNS; i++)
        (void)H5Pclose(made[i]);
}
