/*
 * The rows of struct nxmx_rows as compound data sets of HDF5 files, and the spectra of frames as a
 * table [frames, channels].
 */
#include "io/nxmx/nxmx_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_layout.h"

#define FRAMES NXMX_TRUTH "/frames"
#define LATTICES NXMX_TRUTH "/lattices"
#define REFLECTIONS NXMX_TRUTH "/reflections"
#define SHIFTS NXMX_TRUTH "/detector_shift"
#define SAMPLES NXMX_TRUTH "/sample_place"
#define MATTER NXMX_TRUTH "/matter"
#define SIZES NXMX_TRUTH "/lattice_cells_along_axes"
#define SPREADS NXMX_TRUTH "/lattice_mosaic_spread"
#define B_FACTORS NXMX_TRUTH "/lattice_b_factor"
#define SUMS NXMX_TRUTH "/checksums"
/* Offset and number of the doubles of a member of struct nxmx_frame. */
#define PLACE(member) \
    offsetof(struct nxmx_frame, member), sizeof((struct nxmx_frame *)NULL)->member / sizeof(double)

static void add_member(hid_t type, const char *name, size_t offset, hid_t member)
{
    (void)H5Tinsert(type, name, offset, member);
}

static void add_array(hid_t type, const char *name, size_t offset, unsigned rank,
                      const hsize_t *dims)
{
    const hid_t member = H5Tarray_create2(H5T_NATIVE_DOUBLE, rank, dims);
    add_member(type, name, offset, member);
    (void)H5Tclose(member);
}

static hid_t frame_type(void)
{
#define MEMBER(name, kind) \
    add_member(type, #name, HOFFSET(struct nxmx_frame, name), H5T_NATIVE_##kind)
    const hid_t type = H5Tcreate(H5T_COMPOUND, NXMX_FRAME_BYTES);
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
    const hid_t type = H5Tcreate(H5T_COMPOUND, NXMX_LATTICE_BYTES);
    add_member(type, OFFSET(frame), H5T_NATIVE_UINT64);
    add_member(type, OFFSET(crystal), H5T_NATIVE_UINT64);
    add_member(type, OFFSET(share), H5T_NATIVE_DOUBLE);
    add_array(type, OFFSET(cell), 1, cell);
    add_array(type, OFFSET(orientation), 2, matrix);
    add_array(type, OFFSET(a_matrix), 2, matrix);
#undef OFFSET
    return type;
}

static hid_t counts_type(void)
{
#define MEMBER(name, kind) \
    add_member(type, #name, HOFFSET(struct nxmx_reflection_counts, name), H5T_NATIVE_##kind)
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct nxmx_reflection_counts));
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
    char *packed = mem_array(rows->nframes, NXMX_FRAME_BYTES);
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(packed + i * NXMX_FRAME_BYTES, &rows->frames[i], NXMX_FRAME_BYTES);
    put_table(f, FRAMES, frame_type(), rows->nframes, packed);
    mem_free(packed);
}

static void put_lattices(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    char *packed = mem_array(rows->nlattices, NXMX_LATTICE_BYTES);
    for (size_t i = 0; i < rows->nlattices; i++)
        memcpy(packed + i * NXMX_LATTICE_BYTES, &rows->lattices[i], NXMX_LATTICE_BYTES);
    put_table(f, LATTICES, lattice_type(), rows->nlattices, packed);
    mem_free(packed);
}

/* Writes the unit cells along a, b, c of each lattice. */
static void put_sizes(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    double *cells = mem_array(rows->nlattices, 3 * sizeof *cells);
    for (size_t i = 0; i < rows->nlattices; i++)
        memcpy(cells + 3 * i, rows->lattices[i].cells, 3 * sizeof *cells);
    const hid_t data =
        hdf5_data(f, SIZES, H5T_NATIVE_DOUBLE, 2, (const hsize_t[]){rows->nlattices, 3},
                  H5P_DEFAULT, rows->nlattices ? cells : NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    mem_free(cells);
}

/* Writes a number of each lattice, which is at `offset` in struct nxmx_lattice. */
static void put_each(struct hdf5_file *f, const struct nxmx_rows *rows, const char *path,
                     size_t offset, const char *units)
{
    double *values = mem_array(rows->nlattices, sizeof *values);
    for (size_t i = 0; i < rows->nlattices; i++)
        memcpy(&values[i], (const char *)&rows->lattices[i] + offset, sizeof *values);
    const hid_t data = hdf5_data(f, path, H5T_NATIVE_DOUBLE, 1, (const hsize_t[]){rows->nlattices},
                                 H5P_DEFAULT, rows->nlattices ? values : NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    hdf5_note_text(f, path, "units", units);
    mem_free(values);
}

/* Writes a table with `count` numbers of each frame, which are at `offset` in struct nxmx_frame. */
static void put_places(struct hdf5_file *f, const struct nxmx_rows *rows, const char *path,
                       size_t offset, size_t count, const char *units)
{
    double *values_m = mem_array(count * rows->nframes, sizeof *values_m);
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(values_m + count * i, (const char *)&rows->frames[i] + offset,
               count * sizeof *values_m);
    hdf5_reals(f, path, 2, (const hsize_t[]){rows->nframes, count}, values_m);
    hdf5_note_text(f, path, "units", units);
    mem_free(values_m);
}

/* Writes the checksums of the frames, if those of all frames are known. */
static void put_sums(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    const hsize_t dims[2] = {rows->nframes, 2};
    uint32_t *sums = mem_array(rows->nframes, 2 * sizeof *sums);
    bool known = true;
    for (size_t i = 0; i < rows->nframes; i++) {
        known = known && rows->frames[i].summed;
        sums[2 * i] = rows->frames[i].images_sum;
        sums[2 * i + 1] = rows->frames[i].truth_sum;
    }
    const hid_t data = known ? hdf5_data(f, SUMS, H5T_STD_U32LE, 2, dims, H5P_DEFAULT, sums) : -1;
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    mem_free(sums);
}

void nxmx_put_rows(struct hdf5_file *f, const struct nxmx_rows *rows, const struct experiment *x)
{
    put_frames(f, rows);
    if (x->detector_moves)
        put_places(f, rows, SHIFTS, PLACE(shift_m), "m");
    if (x->sample_moves)
        put_places(f, rows, SAMPLES, PLACE(sample_m), "m");
    if (x->matter_varies)
        put_places(f, rows, MATTER, PLACE(matter), "m, m, m, angstrom, 1");
    put_lattices(f, rows);
    if (x->sizes_vary)
        put_sizes(f, rows);
    if (x->spreads_vary)
        put_each(f, rows, SPREADS, offsetof(struct nxmx_lattice, spread), "deg");
    if (x->b_factors_vary)
        put_each(f, rows, B_FACTORS, offsetof(struct nxmx_lattice, b_factor), "angstrom^2");
    if (rows->has_reflections)
        put_table(f, REFLECTIONS, counts_type(), rows->nframes, rows->reflections);
    put_sums(f, rows);
}

/* Returns true if a data set has the same type as in memory.  Other types are not accepted,
 * because the library reads out of bounds when it converts values of a corrupt type. */
static bool is_stored_as(hid_t data, hid_t type)
{
    const hid_t stored = H5Dget_type(data);
    const bool same = stored >= 0 && H5Tequal(stored, type) > 0;
    if (stored >= 0)
        (void)H5Tclose(stored);
    return same;
}

/* Reads a whole table of items of `size` bytes.  *items is a pointer that gets the new memory,
 * and *count the number of items; the caller frees the memory.  Closes `type`.  Returns false if
 * reading fails. */
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

/* Returns true if each frame has its lattices, in the same order.  Searches in the tables rely on
 * this. */
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

/* Reads the number of rows of each frame from a file of a previous version, which stores nothing
 * else about reflections. */
static bool get_counts(struct hdf5_file *f, struct nxmx_rows *rows, size_t *count)
{
    uint64_t *counts = NULL;
    bool good = get_table(f, REFLECTIONS, H5Tcopy(H5T_STD_U64LE), sizeof *counts, count, &counts) &&
                *count == rows->nframes &&
                (rows->reflections = calloc(*count + 1, sizeof(struct nxmx_reflection_counts)));
    for (size_t i = 0; i < *count && good; i++)
        rows->reflections[i].rows = counts[i];
    free(counts);
    return good;
}

/* Reads the reflection counts of the frames, if the file has them. */
static bool get_reflections(struct hdf5_file *f, struct nxmx_rows *rows)
{
    size_t count = rows->nframes;
    rows->has_samples = H5Lexists(f->id, SAMPLES, hdf5_links()) > 0;
    rows->has_matter = H5Lexists(f->id, MATTER, hdf5_links()) > 0;
    rows->has_reflections = H5Lexists(f->id, REFLECTIONS, hdf5_links()) > 0;
    if (rows->has_reflections)
        return (get_table(f, REFLECTIONS, counts_type(), sizeof *rows->reflections, &count,
                          &rows->reflections) ||
                get_counts(f, rows, &count)) &&
               count == rows->nframes;
    rows->reflections = calloc(count ? count : 1, sizeof *rows->reflections);
    return rows->reflections;
}

static bool get_frames(struct hdf5_file *f, struct nxmx_rows *rows)
{
    char *packed = NULL;
    if (!get_table(f, FRAMES, frame_type(), NXMX_FRAME_BYTES, &rows->nframes, &packed))
        return false;
    rows->frames = calloc(rows->nframes + 1, sizeof *rows->frames);
    for (size_t i = 0; rows->frames && i < rows->nframes; i++)
        memcpy(&rows->frames[i], packed + i * NXMX_FRAME_BYTES, NXMX_FRAME_BYTES);
    free(packed);
    return rows->frames;
}

static bool get_lattices(struct hdf5_file *f, struct nxmx_rows *rows)
{
    char *packed = NULL;
    if (!get_table(f, LATTICES, lattice_type(), NXMX_LATTICE_BYTES, &rows->nlattices, &packed))
        return false;
    rows->lattices = calloc(rows->nlattices + 1, sizeof *rows->lattices);
    for (size_t i = 0; rows->lattices && i < rows->nlattices; i++)
        memcpy(&rows->lattices[i], packed + i * NXMX_LATTICE_BYTES, NXMX_LATTICE_BYTES);
    free(packed);
    return rows->lattices;
}

/* Reads the table that put_sizes writes, if the file has it. */
static bool get_sizes(struct hdf5_file *f, struct nxmx_rows *rows)
{
    double *cells = NULL;
    size_t count = 0;
    if (H5Lexists(f->id, SIZES, hdf5_links()) <= 0)
        return true;
    bool good = get_table(f, SIZES, H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *cells, &count, &cells) &&
                count == 3 * rows->nlattices;
    for (size_t i = 0; i < count && good; i++) {
        rows->lattices[i / 3].cells[i % 3] = cells[i];
        good = cells[i] >= 1.0 && isfinite(cells[i]);
    }
    free(cells);
    return good;
}

/* Reads a table that put_each writes, if the file has it: numbers from 0 to `most`.  `offset` and
 * `marks` are the places of the number and of the mark that it exists. */
static bool get_each(struct hdf5_file *f, struct nxmx_rows *rows, const char *path, size_t offset,
                     size_t marks, double most)
{
    static const uint64_t HAS = 1;
    double *values = NULL;
    size_t count = 0;
    if (H5Lexists(f->id, path, hdf5_links()) <= 0)
        return true;
    bool good = get_table(f, path, H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *values, &count, &values) &&
                count == rows->nlattices;
    for (size_t i = 0; i < count && good; i++) {
        char *row = (char *)&rows->lattices[i];
        memcpy(row + offset, &values[i], sizeof *values);
        memcpy(row + marks, &HAS, sizeof HAS);
        good = values[i] >= 0.0 && values[i] <= most;
    }
    free(values);
    return good;
}

/* Reads the numbers that only some files have of each lattice. */
static bool get_own(struct hdf5_file *f, struct nxmx_rows *rows)
{
    static const double MOST_DEG = 360.0, MOST_A2 = 1e4;
    return get_each(f, rows, SPREADS, offsetof(struct nxmx_lattice, spread),
                    offsetof(struct nxmx_lattice, has_spread), MOST_DEG) &&
           get_each(f, rows, B_FACTORS, offsetof(struct nxmx_lattice, b_factor),
                    offsetof(struct nxmx_lattice, has_b_factor), MOST_A2);
}

/* Reads a table that put_places writes, if the file has it. */
static bool get_places(struct hdf5_file *f, struct nxmx_rows *rows, const char *path, size_t offset,
                       size_t count)
{
    double *values_m = NULL;
    size_t values = 0;
    if (H5Lexists(f->id, path, hdf5_links()) <= 0)
        return true;
    const bool good =
        get_table(f, path, H5Tcopy(H5T_NATIVE_DOUBLE), sizeof *values_m, &values, &values_m) &&
        values == count * rows->nframes;
    for (size_t i = 0; i < rows->nframes && good; i++)
        memcpy((char *)&rows->frames[i] + offset, values_m + count * i, count * sizeof *values_m);
    free(values_m);
    return good;
}

/* Reads the checksums of the frames, if the file has them. */
static bool get_sums(struct hdf5_file *f, struct nxmx_rows *rows)
{
    uint32_t *sums = NULL;
    size_t count = 0;
    if (H5Lexists(f->id, SUMS, hdf5_links()) <= 0)
        return true;
    const bool good = get_table(f, SUMS, H5Tcopy(H5T_STD_U32LE), sizeof *sums, &count, &sums) &&
                      count == 2 * rows->nframes;
    for (size_t i = 0; i < rows->nframes && good; i++) {
        rows->frames[i].images_sum = sums[2 * i];
        rows->frames[i].truth_sum = sums[2 * i + 1];
        rows->frames[i].summed = 1;
    }
    free(sums);
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

/* Stores a row of the table of spectra as the spectrum of the frame at index `frame`.
 * nxmx_rows_set_spectrum removes the padding. */
static void take_spectrum(struct nxmx_rows *rows, size_t frame, const double *wavelengths,
                          const double *weights, size_t width)
{
    struct nxmx_channel *channels = mem_array(width, sizeof *channels);
    for (size_t i = 0; i < width; i++)
        channels[i] = (struct nxmx_channel){.wavelength = wavelengths[i], .weight = weights[i]};
    nxmx_rows_set_spectrum(rows, rows->frames[frame].number, channels, width);
    mem_free(channels);
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
    good = good && (!own || count % rows->nframes == 0);
    for (size_t i = 0; i < rows->nframes && good && own; i++)
        take_spectrum(rows, i, wavelengths + i * width, weights + i * width, width);
    free(wavelengths);
    free(weights);
    return good;
}

bool nxmx_get_rows(struct hdf5_file *f, struct nxmx_rows *rows)
{
    *rows = (struct nxmx_rows){0};
    bool good = get_frames(f, rows) && get_places(f, rows, SHIFTS, PLACE(shift_m)) &&
                get_places(f, rows, SAMPLES, PLACE(sample_m)) &&
                get_places(f, rows, MATTER, PLACE(matter));
    good = good && get_lattices(f, rows) && get_sizes(f, rows) && get_own(f, rows);
    good = good && get_reflections(f, rows) && get_sums(f, rows);
    rows->frames_room = rows->reflections_room = rows->nframes;
    rows->lattices_room = rows->nlattices;
    if (good && is_consistent(rows))
        return true;
    nxmx_rows_free(rows);
    return false;
}
