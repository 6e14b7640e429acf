/* The truth about frames as compound data sets. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/hdf5/hdf5_read.h"
#include "io/nxmx/nxmx_layout.h"

#define FRAMES NXMX_TRUTH "/frames"
#define LATTICES NXMX_TRUTH "/lattices"
#define REFLECTIONS NXMX_TRUTH "/reflections"
#define SHIFTS NXMX_TRUTH "/detector_shift"

enum { FRAME_BYTES = offsetof(struct nxmx_frame, shift_m) };  // in files

static void add(hid_t type, const char *name, size_t offset, hid_t member)
{
    (void)H5Tinsert(type, name, offset, member);
}

static void add_array(hid_t type, const char *name, size_t offset, unsigned rank,
                      const hsize_t *dims)
{
    const hid_t member = H5Tarray_create2(H5T_NATIVE_DOUBLE, rank, dims);
    add(type, name, offset, member);
    (void)H5Tclose(member);
}

static hid_t frame_type(void)
{
#define MEMBER(name, kind) add(type, #name, HOFFSET(struct nxmx_frame, name), H5T_NATIVE_##kind)
    const hid_t type = H5Tcreate(H5T_COMPOUND, FRAME_BYTES);
    MEMBER(number, UINT64);
    MEMBER(seed, UINT64);
    MEMBER(file, UINT64);
    MEMBER(rotation_start, DOUBLE);
    MEMBER(rotation_width, DOUBLE);
    MEMBER(wavelength, DOUBLE);
    MEMBER(fluence, DOUBLE);
    MEMBER(lattices, UINT64);
#undef MEMBER
    return type;
}

static hid_t lattice_type(void)
{
    static const hsize_t cell[] = {6}, matrix[] = {3, 3};
#define OFFSET(name) #name, HOFFSET(struct nxmx_lattice, name)
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct nxmx_lattice));
    add(type, OFFSET(frame), H5T_NATIVE_UINT64);
    add(type, OFFSET(crystal), H5T_NATIVE_UINT64);
    add(type, OFFSET(share), H5T_NATIVE_DOUBLE);
    add_array(type, OFFSET(cell), 1, cell);
    add_array(type, OFFSET(orientation), 2, matrix);
    add_array(type, OFFSET(a_matrix), 2, matrix);
#undef OFFSET
    return type;
}

static hid_t told_type(void)
{
#define MEMBER(name, kind) add(type, #name, HOFFSET(struct nxmx_told, name), H5T_NATIVE_##kind)
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct nxmx_told));
    MEMBER(rows, UINT64);
    MEMBER(pixels, UINT64);
    MEMBER(least_photons, DOUBLE);
    MEMBER(rest_photons, DOUBLE);
#undef MEMBER
    return type;
}

static void put_table(struct hdf5_file *f, const char *path, hid_t type, size_t count,
                      const void *items)
{
    const hsize_t dims = count;
    const hid_t data = hdf5_data(f, path, type, 1, &dims, H5P_DEFAULT, count ? items : NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Tclose(type);
}

static void put_frames(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    char *packed = mem_array(rows->nframes, FRAME_BYTES);
    if (!hdf5_good(f, packed ? 0 : -1))
        return;
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(packed + i * FRAME_BYTES, &rows->frames[i], FRAME_BYTES);
    put_table(f, FRAMES, frame_type(), rows->nframes, packed);
    mem_free(packed);
}

static void put_shifts(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    double(*shifts_m)[3] = mem_array(rows->nframes, sizeof *shifts_m);
    if (!hdf5_good(f, shifts_m ? 0 : -1))
        return;
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(shifts_m[i], rows->frames[i].shift_m, sizeof *shifts_m);
    hdf5_reals(f, SHIFTS, 2, (const hsize_t[]){rows->nframes, 3}, *shifts_m);
    hdf5_note_text(f, SHIFTS, "units", "m");
    mem_free(shifts_m);
}

void nxmx_put_rows(struct hdf5_file *f, const struct nxmx_rows *rows, bool moves)
{
    put_frames(f, rows);
    if (moves)
        put_shifts(f, rows);
    put_table(f, LATTICES, lattice_type(), rows->nlattices, rows->lattices);
    if (rows->has_reflections)
        put_table(f, REFLECTIONS, told_type(), rows->nframes, rows->reflections);
}

/* True when items are stored as they are in memory; the library reads beyond damaged types that it
 * has to convert. */
static bool is_stored_as(hid_t data, hid_t type)
{
    const hid_t stored = H5Dget_type(data);
    const bool same = stored >= 0 && H5Tequal(stored, type) > 0;
    if (stored >= 0)
        (void)H5Tclose(stored);
    return same;
}

/* Reads a whole table of items of `size` bytes into new memory. */
static bool get_table(struct hdf5_file *f, const char *path, hid_t type, size_t size, size_t *count,
                      void *items)
{
    const hid_t data = hdf5_open_data(f->id, path);
    const hid_t space = data >= 0 ? H5Dget_space(data) : -1;
    const hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    const bool fits = n > 0 && (size_t)n <= SIZE_MAX / size && hdf5_affords(f, (size_t)n * size);
    void *memory = fits ? calloc((size_t)n, size) : NULL;
    bool good = n == 0 || memory;
    if (memory)
        good = is_stored_as(data, type) &&
               H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, memory) >= 0;
    if (good) {
        *(void **)items = memory;
        *count = (size_t)n;
    } else {
        free(memory);
    }
    if (space >= 0)
        (void)H5Sclose(space);
    if (data >= 0)
        (void)H5Dclose(data);
    (void)H5Tclose(type);
    return good;
}

/* Each frame has its lattices, in the same order: what the searches in the tables rely on. */
static bool is_consistent(const struct nxmx_rows *rows)
{
    size_t at = 0;
    for (size_t i = 0; i < rows->nframes; i++) {
        const struct nxmx_frame *frame = &rows->frames[i];
        if ((i && frame[-1].number >= frame->number) || frame->lattices > rows->nlattices - at)
            return false;
        for (size_t k = 0; k < frame->lattices; k++)
            if (rows->lattices[at++].frame != frame->number)
                return false;
    }
    return at == rows->nlattices;
}

/* Files of before tell only how many rows each frame has. */
static bool get_counts(struct hdf5_file *f, struct nxmx_rows *rows, size_t *count)
{
    uint64_t *counts = NULL;
    bool good = get_table(f, REFLECTIONS, H5Tcopy(H5T_STD_U64LE), sizeof *counts, count, &counts) &&
                *count == rows->nframes &&
                (rows->reflections = calloc(*count + 1, sizeof(struct nxmx_told)));
    for (size_t i = 0; i < *count && good; i++)
        rows->reflections[i].rows = counts[i];
    free(counts);
    return good;
}

/* What frames tell of reflections: nothing where the file does not. */
static bool get_reflections(struct hdf5_file *f, struct nxmx_rows *rows)
{
    size_t count = rows->nframes;
    rows->has_reflections = H5Lexists(f->id, REFLECTIONS, hdf5_links()) > 0;
    if (rows->has_reflections)
        return (get_table(f, REFLECTIONS, told_type(), sizeof *rows->reflections, &count,
                          &rows->reflections) ||
                get_counts(f, rows, &count)) &&
               count == rows->nframes;
    rows->reflections = calloc(count ? count : 1, sizeof *rows->reflections);
    return rows->reflections;
}

static bool get_frames(struct hdf5_file *f, struct nxmx_rows *rows)
{
    char *packed = NULL;
    if (!get_table(f, FRAMES, frame_type(), FRAME_BYTES, &rows->nframes, &packed))
        return false;
    rows->frames = calloc(rows->nframes + 1, sizeof *rows->frames);
    for (size_t i = 0; rows->frames && i < rows->nframes; i++)
        memcpy(&rows->frames[i], packed + i * FRAME_BYTES, FRAME_BYTES);
    free(packed);
    return rows->frames;
}

/* Of files of a detector that moves. */
static bool get_shifts(struct hdf5_file *f, struct nxmx_rows *rows)
{
    double *shifts_m = NULL;
    size_t count = 0;
    if (H5Lexists(f->id, SHIFTS, hdf5_links()) <= 0)
        return true;
    const bool good =
        get_table(f, SHIFTS, H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *shifts_m, &count, &shifts_m) &&
        count == 3 * rows->nframes;
    for (size_t i = 0; i < count && good; i++)
        rows->frames[i / 3].shift_m[i % 3] = shifts_m[i];
    free(shifts_m);
    return good;
}

static int rank_of(struct hdf5_file *f, const char *path)
{
    const hid_t data = hdf5_open_data(f->id, path);
    const hid_t space = data >= 0 ? H5Dget_space(data) : -1;
    const int rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (space >= 0)
        (void)H5Sclose(space);
    if (data >= 0)
        (void)H5Dclose(data);
    return rank;
}

/* Takes a row of the table in; nxmx_rows_set_spectrum leaves out what only fills it up. */
static bool take_spectrum(struct nxmx_rows *rows, size_t frame, const double *wavelengths,
                          const double *weights, size_t width)
{
    struct error ignored;
    struct nxmx_channel *channels = mem_array(width, sizeof *channels);
    for (size_t i = 0; channels && i < width; i++)
        channels[i] = (struct nxmx_channel){.wavelength = wavelengths[i], .weight = weights[i]};
    const bool good = channels && !nxmx_rows_set_spectrum(rows, rows->frames[frame].number,
                                                          channels, width, &ignored);
    mem_free(channels);
    return good;
}

bool nxmx_get_spectra(struct hdf5_file *f, struct nxmx_rows *rows)
{
    double *wavelengths = NULL, *weights = NULL;
    size_t count = 0, nweights = 0;
    if (H5Lexists(f->id, NXMX_SPECTRUM, hdf5_links()) <= 0 || !rows->nframes)
        return true;
    bool good = get_table(f, NXMX_SPECTRUM, H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *wavelengths, &count,
                          &wavelengths) &&
                get_table(f, NXMX_SPECTRUM "_weights", H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *weights,
                          &nweights, &weights) &&
                count == nweights;
    const size_t width = count / rows->nframes;
    const bool own = count > 1 && rank_of(f, NXMX_SPECTRUM) == 2;
    for (size_t i = 0; i < rows->nframes && good && own; i++)
        good = count % rows->nframes == 0 &&
               take_spectrum(rows, i, wavelengths + i * width, weights + i * width, width);
    free(wavelengths);
    free(weights);
    return good;
}

bool nxmx_get_rows(struct hdf5_file *f, struct nxmx_rows *rows)
{
    *rows = (struct nxmx_rows){0};
    bool good = get_frames(f, rows) && get_shifts(f, rows);
    good = good && get_table(f, LATTICES, lattice_type(), sizeof *rows->lattices, &rows->nlattices,
                             &rows->lattices);
    good = good && get_reflections(f, rows);
    rows->frames_room = rows->reflections_room = rows->nframes;
    rows->lattices_room = rows->nlattices;
    if (good && is_consistent(rows))
        return true;
    nxmx_rows_free(rows);
    return false;
}
