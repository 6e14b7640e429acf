#include "io/nxmx/nxmx_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx_layout.h"
#include "model/recipe.h"

/* --- axes ---------------------------------------------------------------- */

/* Sets `out` to the unit vector along that part of -v that is perpendicular to the unit vector
 * z.  Returns false if v is parallel to z; `out` is then undefined. */
static bool turn_against(const double v[3], const double z[3], double out[3])
{
    const double along = v[0] * z[0] + v[1] * z[1] + v[2] * z[2];
    for (int i = 0; i < 3; i++)
        out[i] = along * z[i] - v[i];
    const double length = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return length > 1e-6;
}

void nxmx_axes(const struct experiment *x, double axes[9])
{
    double *X = axes, *Y = axes + 3, *Z = axes + 6;
    memcpy(Z, x->beam.direction, 3 * sizeof *Z);
    if (!turn_against(x->spindle, Z, X) && !turn_against(x->panels->fast, Z, X))
        (void)turn_against(x->panels->slow, Z, X);
    for (int i = 0; i < 3; i++)
        Y[i] = Z[(i + 1) % 3] * X[(i + 2) % 3] - Z[(i + 2) % 3] * X[(i + 1) % 3];
}

/* --- rows ---------------------------------------------------------------- */

/* Returns how many of `count` rows belong to frames with lower numbers than `number`.  The rows
 * have `size` bytes, begin with the number of their frame, and are in ascending order. */
static size_t rows_below(const void *rows, size_t count, size_t size, uint64_t number)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        uint64_t found;
        memcpy(&found, (const char *)rows + middle * size, sizeof found);
        if (found < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t frames_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->frames, rows->nframes, sizeof *rows->frames, number);
}

static size_t lattices_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->lattices, rows->nlattices, sizeof *rows->lattices, number);
}

int64_t nxmx_rows_find(const struct nxmx_rows *rows, uint64_t number)
{
    const size_t at = frames_below(rows, number);
    return at < rows->nframes && rows->frames[at].number == number ? (int64_t)at : -1;
}

/* --- spectra ------------------------------------------------------------- */

static size_t channels_below(const struct nxmx_rows *rows, uint64_t number)
{
    return rows_below(rows->channels, rows->nchannels, sizeof *rows->channels, number);
}

const struct nxmx_channel *nxmx_rows_spectrum(const struct nxmx_rows *rows, uint64_t number)
{
    return rows->nchannels ? &rows->channels[channels_below(rows, number)] : NULL;
}

static void remove_spectrum(struct nxmx_rows *rows, uint64_t number, size_t count)
{
    if (!count)
        return;
    const size_t first = channels_below(rows, number);
    rows->nchannels -= count;
    memmove(&rows->channels[first], &rows->channels[first + count],
            (rows->nchannels - first) * sizeof *rows->channels);
}

/* Returns the number of channels without padding.  In files all spectra have the same number of
 * channels: shorter ones are padded with copies of the last wavelength that have weight 0. */
static size_t trim_spectrum(const struct nxmx_channel *c, size_t count)
{
    while (count > 1 && c[count - 1].weight == 0.0 &&
           c[count - 1].wavelength == c[count - 2].wavelength)
        count--;
    return count;
}

/* Replaces the spectrum of a frame, which must exist, by `count` channels.  Sets `frame` of each
 * channel. */
static void nxmx_rows_set_spectrum(struct nxmx_rows *rows, uint64_t number,
                                   const struct nxmx_channel *channels, size_t count)
{
    struct nxmx_frame *frame = &rows->frames[nxmx_rows_find(rows, number)];
    remove_spectrum(rows, number, (size_t)frame->channels);
    frame->channels = 0;
    count = trim_spectrum(channels, count);
    if (!count)
        return;
    rows->channels = mem_grow(rows->channels, rows->nchannels, count, sizeof *rows->channels,
                              &rows->channels_room);
    const size_t at = channels_below(rows, number);
    struct nxmx_channel *first = &rows->channels[at];
    memmove(first + count, first, (rows->nchannels - at) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        first[i] = (struct nxmx_channel){number, channels[i].wavelength, channels[i].weight};
    rows->nchannels += count;
    frame->channels = count;
}

/* A source, and after merging all sources of one wavelength.  `first` is the index of the first
 * source of that wavelength. */
struct merged {
    size_t first;
    double wavelength_m, weight;
};

static int by_wavelength(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    if (x->wavelength_m != y->wavelength_m)
        return x->wavelength_m < y->wavelength_m ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static int by_first(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

struct nxmx_channel *nxmx_merge_sources(const struct source *sources, size_t nsources,
                                        size_t *count)
{
    struct merged *list = mem_array(nsources, sizeof *list);
    struct nxmx_channel *channels = mem_array(nsources, sizeof *channels);
    size_t n = 0;
    for (size_t i = 0; i < nsources; i++)
        list[i] = (struct merged){i, sources[i].wavelength_m, sources[i].weight};
    qsort(list, nsources, sizeof *list, by_wavelength);
    for (size_t i = 0; i < nsources; i++)
        if (n && list[n - 1].wavelength_m == list[i].wavelength_m)
            list[n - 1].weight += list[i].weight;
        else
            list[n++] = list[i];
    qsort(list, n, sizeof *list, by_first);
    for (size_t i = 0; i < n; i++)
        channels[i] = (struct nxmx_channel){.wavelength = m_to_angstrom(list[i].wavelength_m),
                                            .weight = list[i].weight};
    mem_free(list);
    *count = n;
    return channels;
}

void nxmx_rows_note_spectrum(struct nxmx_rows *rows, const struct recipe *r)
{
    double sum = 0.0;
    bool differ = false;
    for (size_t i = 0; i < r->nsources; i++) {
        sum += r->sources[i].weight;
        differ |= r->sources[i].wavelength_m != r->sources[0].wavelength_m;
    }
    if (!differ || !(sum > 0.0)) {
        nxmx_rows_set_spectrum(rows, r->id, NULL, 0);
        return;
    }
    size_t n;
    struct nxmx_channel *channels = nxmx_merge_sources(r->sources, r->nsources, &n);
    for (size_t i = 0; i < n; i++)
        channels[i].weight = channels[i].weight * (double)n / sum;
    nxmx_rows_set_spectrum(rows, r->id, channels, n);
    mem_free(channels);
}

/* Sizes of the rows of the tables in files: members that follow have tables of their own. */
enum {
    FRAME_BYTES = offsetof(struct nxmx_frame, shift_m),
    LATTICE_BYTES = offsetof(struct nxmx_lattice, cells)
};

/* --- frames and lattices ------------------------------------------------- */

void nxmx_rows_remove(struct nxmx_rows *rows, uint64_t number)
{
    const int64_t at = nxmx_rows_find(rows, number);
    if (at < 0)
        return;
    struct nxmx_frame *frame = &rows->frames[at];
    struct nxmx_lattice *first = &rows->lattices[lattices_below(rows, number)];
    const size_t n = frame->lattices;
    struct nxmx_reflection_counts *reflections = &rows->reflections[at];
    remove_spectrum(rows, number, (size_t)frame->channels);
    rows->nframes--;
    memmove(frame, frame + 1, (rows->nframes - (size_t)at) * sizeof *frame);
    memmove(reflections, reflections + 1, (rows->nframes - (size_t)at) * sizeof *reflections);
    rows->nlattices -= n;
    if (n)
        memmove(first, first + n,
                (rows->nlattices - (size_t)(first - rows->lattices)) * sizeof *first);
}

/* Inserts the row of a frame, without reflections and without a spectrum of its own, and makes
 * room for its lattices.  Returns their place, which the caller fills; NULL: the frame has no
 * lattices. */
static struct nxmx_lattice *insert_frame(struct nxmx_rows *rows, const struct nxmx_frame *frame)
{
    const size_t n = frame->lattices;
    rows->frames =
        mem_grow(rows->frames, rows->nframes, 1, sizeof *rows->frames, &rows->frames_room);
    rows->reflections = mem_grow(rows->reflections, rows->nframes, 1, sizeof *rows->reflections,
                                 &rows->reflections_room);
    rows->lattices =
        mem_grow(rows->lattices, rows->nlattices, n, sizeof *rows->lattices, &rows->lattices_room);
    struct nxmx_reflection_counts *reflections = rows->reflections;
    const size_t at = frames_below(rows, frame->number),
                 first = lattices_below(rows, frame->number);
    memmove(&rows->frames[at + 1], &rows->frames[at], (rows->nframes - at) * sizeof *rows->frames);
    rows->frames[at] = *frame;
    rows->frames[at].channels = 0;
    memmove(&reflections[at + 1], &reflections[at], (rows->nframes - at) * sizeof *reflections);
    reflections[at] = (struct nxmx_reflection_counts){0};
    rows->nframes++;
    if (!n)
        return NULL;
    struct nxmx_lattice *lattices = &rows->lattices[first];
    memmove(lattices + n, lattices, (rows->nlattices - first) * sizeof *lattices);
    rows->nlattices += n;
    return lattices;
}

static struct nxmx_lattice lattice_row(const double axes[9], const struct experiment *x,
                                       const struct recipe *r, const struct lattice *l)
{
    struct nxmx_lattice row = {.frame = r->id, .crystal = l->crystal, .share = l->weight};
    if (l->crystal < x->ncrystals)
        lattice_cell(x, l, row.cell);
    for (int i = 0; i < 3 && l->has_cells; i++)
        row.cells[i] = l->cells[i];
    row.has_spread = l->has_spread;
    row.spread = l->has_spread ? rad_to_deg(l->spread_rad) : 0.0;
    row.has_b_factor = l->has_b_factor;
    row.b_factor = l->has_b_factor ? l->b_factor_A2 : 0.0;
    for (int column = 0; column < 3; column++) {
        const double u[3] = {l->rotation[column], l->rotation[3 + column], l->rotation[6 + column]};
        double turned[3];
        mat_apply(axes, u, turned);
        for (int i = 0; i < 3; i++)
            row.orientation[3 * i + column] = turned[i];
        mat_apply(axes, &l->reciprocal_A[3 * column], turned);
        for (int i = 0; i < 3; i++)
            row.a_matrix[3 * i + column] = turned[i];
    }
    return row;
}

/* Sets the amounts of a frame: NaN for those that its recipe does not say. */
static void set_matter(const struct recipe *r, double amounts[NXMX_MATTER])
{
    const struct matter *m = &r->matter;
    const double none = (double)NAN;
    if (!r->has_matter)
        return;
    amounts[0] = m->has_water ? m->water_m : none;
    amounts[1] = m->has_air ? m->air_m : none;
    amounts[2] = m->has_ice ? m->ice_m : none;
    amounts[3] = m->has_ice_crystal ? m->ice_crystal_A : none;
    amounts[4] = m->has_scale ? m->scale : none;
}

void nxmx_rows_add(struct nxmx_rows *rows, const struct experiment *x, const struct recipe *r,
                   uint64_t file)
{
    const struct incident beam = incident_beam(x, r);
    struct nxmx_frame frame = {.number = r->id,
                               .seed = r->seed,
                               .file = file,
                               .rotation_start = rad_to_deg(r->phi_rad),
                               .rotation_width = rad_to_deg(r->osc_rad),
                               .wavelength = m_to_angstrom(beam.mean_m),
                               .fluence = beam.fluence_ph_m2,
                               .lattices = r->nlattices};
    double axes[9];
    nxmx_axes(x, axes);
    mat_apply(axes, r->shift_m, frame.shift_m);
    memcpy(frame.sample_m, r->sample_m, sizeof frame.sample_m);
    set_matter(r, frame.matter);
    nxmx_rows_remove(rows, r->id);
    struct nxmx_lattice *lattices = insert_frame(rows, &frame);
    for (size_t i = 0; i < r->nlattices; i++)
        lattices[i] = lattice_row(axes, x, r, &r->lattices[i]);
}

void nxmx_rows_note(struct nxmx_rows *rows, uint64_t number,
                    const struct nxmx_reflection_counts *counts)
{
    rows->reflections[nxmx_rows_find(rows, number)] = *counts;
    rows->has_reflections = true;
}

void nxmx_rows_merge(struct nxmx_rows *rows, const struct nxmx_rows *from)
{
    for (size_t i = 0; i < from->nframes; i++) {
        const struct nxmx_frame *frame = &from->frames[i];
        if (nxmx_rows_find(rows, frame->number) >= 0)
            continue;
        struct nxmx_lattice *lattices = insert_frame(rows, frame);
        if (from->has_reflections)
            nxmx_rows_note(rows, frame->number, &from->reflections[i]);
        if (frame->channels)
            nxmx_rows_set_spectrum(rows, frame->number, nxmx_rows_spectrum(from, frame->number),
                                   (size_t)frame->channels);
        if (lattices)
            memcpy(lattices, &from->lattices[lattices_below(from, frame->number)],
                   frame->lattices * sizeof *lattices);
    }
}

void nxmx_rows_drop(struct nxmx_rows *rows, uint64_t file)
{
    for (size_t i = rows->nframes; i-- > 0;)
        if (rows->frames[i].file == file)
            nxmx_rows_remove(rows, rows->frames[i].number);
}

bool nxmx_rows_agree(const struct nxmx_rows *a, const struct nxmx_rows *b, uint64_t number)
{
    const int64_t in_a = nxmx_rows_find(a, number), in_b = nxmx_rows_find(b, number);
    if (in_a < 0 || in_b < 0)
        return false;
    struct nxmx_frame frame = a->frames[in_a];
    frame.file = b->frames[in_b].file;
    return memcmp(&frame, &b->frames[in_b], offsetof(struct nxmx_frame, images_sum)) == 0 &&
           (!frame.lattices ||
            memcmp(&a->lattices[lattices_below(a, number)], &b->lattices[lattices_below(b, number)],
                   frame.lattices * sizeof *a->lattices) == 0);
}

uint32_t nxmx_reflections_sum(uint32_t sum, const struct reflection_row *rows, size_t count)
{
    if (count && rows->orders)
        return crc32c(sum, rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        sum = crc32c(sum, &rows[i], REFLECTION_ROW_BEFORE);
    return sum;
}

uint32_t nxmx_rows_sum(const struct nxmx_rows *rows, size_t place, const struct reflection_table *t)
{
    struct nxmx_frame frame = rows->frames[place];
    frame.file = 0;
    uint32_t sum = crc32c(0, &frame, FRAME_BYTES);
    const size_t first = lattices_below(rows, frame.number);
    for (size_t i = 0; i < frame.lattices; i++) {
        const struct nxmx_lattice *l = &rows->lattices[first + i];
        sum = crc32c(sum, l, LATTICE_BYTES);
        if (l->cells[0] > 0.0)
            sum = crc32c(sum, l->cells, sizeof l->cells);
        if (l->has_spread)
            sum = crc32c(sum, &l->spread, sizeof l->spread);
        if (l->has_b_factor)
            sum = crc32c(sum, &l->b_factor, sizeof l->b_factor);
    }
    sum = nxmx_reflections_sum(sum, t->rows, t->count);
    return crc32c(sum, t->pixels, t->npixels * sizeof *t->pixels);
}

/* Sets *to to an amount.  Returns false, and sets it to 0, if the amount is NaN. */
static bool take_amount(double amount, double *to)
{
    *to = isnan(amount) ? 0.0 : amount;
    return !isnan(amount);
}

void nxmx_take_matter(const struct nxmx_frame *frame, struct recipe *r)
{
    const double *a = frame->matter;
    struct matter *m = &r->matter;
    r->has_matter = true;
    m->has_water = take_amount(a[0], &m->water_m);
    m->has_air = take_amount(a[1], &m->air_m);
    m->has_ice = take_amount(a[2], &m->ice_m);
    m->has_ice_crystal = take_amount(a[3], &m->ice_crystal_A);
    m->has_scale = take_amount(a[4], &m->scale);
}

void nxmx_rows_free(struct nxmx_rows *rows)
{
    mem_free(rows->frames);
    mem_free(rows->lattices);
    mem_free(rows->channels);
    mem_free(rows->reflections);
    *rows = (struct nxmx_rows){0};
}

/* --- in files: compound data sets ---------------------------------------- */

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
    const hid_t type = H5Tcreate(H5T_COMPOUND, LATTICE_BYTES);
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
    char *packed = mem_array(rows->nframes, FRAME_BYTES);
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(packed + i * FRAME_BYTES, &rows->frames[i], FRAME_BYTES);
    put_table(f, FRAMES, frame_type(), rows->nframes, packed);
    mem_free(packed);
}

static void put_lattices(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    char *packed = mem_array(rows->nlattices, LATTICE_BYTES);
    for (size_t i = 0; i < rows->nlattices; i++)
        memcpy(packed + i * LATTICE_BYTES, &rows->lattices[i], LATTICE_BYTES);
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
    if (!get_table(f, FRAMES, frame_type(), FRAME_BYTES, &rows->nframes, &packed))
        return false;
    rows->frames = calloc(rows->nframes + 1, sizeof *rows->frames);
    for (size_t i = 0; rows->frames && i < rows->nframes; i++)
        memcpy(&rows->frames[i], packed + i * FRAME_BYTES, FRAME_BYTES);
    free(packed);
    return rows->frames;
}

static bool get_lattices(struct hdf5_file *f, struct nxmx_rows *rows)
{
    char *packed = NULL;
    if (!get_table(f, LATTICES, lattice_type(), LATTICE_BYTES, &rows->nlattices, &packed))
        return false;
    rows->lattices = calloc(rows->nlattices + 1, sizeof *rows->lattices);
    for (size_t i = 0; rows->lattices && i < rows->nlattices; i++)
        memcpy(&rows->lattices[i], packed + i * LATTICE_BYTES, LATTICE_BYTES);
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
