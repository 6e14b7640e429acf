/*
 * Makes an NXmx file also a CXI file, as Cheetah and psocake write them and CrystFEL, cxiview and
 * OM read them: the same images under other names, and the peaks of each frame.
 *
 *     /entry_1/data_1              links to the images; mask_shared, 0: good
 *     /entry_1/instrument_1        energy in J, distance and size of pixels in m
 *     /entry_1/result_1            peaks, if frames carry reflections
 *     /LCLS                        energy, wavelength, distance in mm and time of each frame
 *
 * The peaks are the true reflections.  A peak position is the index of a pixel: the centre of the
 * first pixel is 0, not 0.5 as in /entry/reflections.  Panels are one below the other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/nxmx/nxmx_layout.h"

#define ENTRY "/entry_1"
#define DATA ENTRY "/data_1"
#define DETECTOR ENTRY "/instrument_1/detector_1"
#define SOURCE ENTRY "/instrument_1/source_1"
#define PEAKS ENTRY "/result_1"
#define COUNT PEAKS "/nPeaks"
#define LCLS "/LCLS"

enum { PEAKS_MAX = NXMX_PEAKS_MAX, PATH_BYTES = 64, VERSION = 140 };

enum { X, Y, TOTAL, MAXIMUM, PIXELS, SNR, PANEL };
static const char *const columns[NXMX_PEAK_COLUMNS] = {
    "peakXPosRaw", "peakYPosRaw", "peakTotalIntensity", "peakMaximumValue",
    "peakNPixels", "peakSNR",     "peakSegPosRaw"};

bool nxmx_has_cxi(struct hdf5_file *f)
{
    return H5Lexists(f->id, ENTRY, hdf5_links()) > 0;
}

/* --- numbers of frames ------------------------------------------------------ */

static void put_numbers(struct hdf5_file *f, const char *path, hid_t type, int rank, hsize_t count,
                        const void *values)
{
    const hid_t data = hdf5_data(f, path, type, rank, &count, H5P_DEFAULT, values);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

/* The numbers that each frame has, as real numbers. */
static const struct number {
    const char *path;
    enum { ENERGY_EV, ENERGY_J, WAVELENGTH, DISTANCE_M, DISTANCE_MM, PIXEL } what;
} numbers[] = {
    {LCLS "/photon_energy_eV", ENERGY_EV},
    {LCLS "/photon_wavelength_A", WAVELENGTH},
    {LCLS "/detector_1/EncoderValue", DISTANCE_MM},
    {SOURCE "/energy", ENERGY_J},
    {DETECTOR "/distance", DISTANCE_M},
    {DETECTOR "/x_pixel_size", PIXEL},
    {DETECTOR "/y_pixel_size", PIXEL},
};

static double number_of(const struct number *n, const struct panel *p,
                        const struct nxmx_frame *frame)
{
    static const double J_PER_EV = 1.602176634e-19;  // exact in SI
    const double energy_eV = m_to_ev(angstrom_to_m(frame->wavelength));
    const double distance_m = p->distance_m + frame->shift_m[2];
    switch (n->what) {
    case ENERGY_EV:
        return energy_eV;
    case ENERGY_J:
        return energy_eV * J_PER_EV;
    case WAVELENGTH:
        return frame->wavelength;
    case DISTANCE_M:
        return distance_m;
    case DISTANCE_MM:
        return m_to_mm(distance_m);
    case PIXEL:
        break;
    }
    return p->pixel_m;
}

static void put_reals(struct hdf5_file *f, const struct nxmx_kind *kind,
                      const struct nxmx_rows *rows)
{
    double *values = mem_array(rows->nframes, sizeof *values);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        for (size_t i = 0; i < rows->nframes; i++)
            values[i] = number_of(&numbers[k], kind->experiment->panels, &rows->frames[i]);
        hdf5_reals(f, numbers[k].path, 1, &(hsize_t){rows->nframes}, values);
    }
    mem_free(values);
}

/* Writes the numbers of the frames, and their times, which are one second apart. */
static void put_integers(struct hdf5_file *f, const struct nxmx_kind *kind,
                         const struct nxmx_rows *rows)
{
    const hsize_t n = rows->nframes;
    int32_t *values = mem_array(n, sizeof *values);
    int64_t *ids = mem_array(n, sizeof *ids);
    put_numbers(f, LCLS "/machineTimeNanoSeconds", H5T_NATIVE_INT32, 1, n, values);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int64_t)rows->frames[i].number;
    put_numbers(f, ENTRY "/frame_id", H5T_NATIVE_INT64, 1, n, ids);
    for (size_t i = 0; i < n; i++)
        values[i] = (int32_t)(ids[i] & INT32_MAX);
    put_numbers(f, LCLS "/fiducial", H5T_NATIVE_INT32, 1, n, values);
    for (size_t i = 0; i < n; i++)
        values[i] = (int32_t)((kind->begin_s + rows->frames[i].number) & INT32_MAX);
    put_numbers(f, LCLS "/machineTime", H5T_NATIVE_INT32, 1, n, values);
    for (size_t i = 0; i < n; i++)
        values[i] = (int32_t)rows->frames[i].lattices;
    put_numbers(f, ENTRY "/lattices", H5T_NATIVE_INT32, 1, n, values);
    mem_free(values);
    mem_free(ids);
}

/* Writes the mask: 1 for each pixel that is not used, else 0. */
static void put_mask(struct hdf5_file *f, const struct experiment *x, struct hdf5_once *once)
{
    hsize_t size[2];
    nxmx_image_size(x, size);
    uint16_t *mask = once->bytes ? NULL : mem_array((size_t)(size[0] * size[1]), sizeof *mask);
    for (size_t i = 0; i < x->npanels && mask; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t k = 0; k < p->fast_pixels * p->slow_pixels; k++)
            mask[p->first_pixel + k] = !panel_computes(p, k % p->fast_pixels, k / p->fast_pixels);
    }
    hdf5_packed(f, DATA "/mask_shared", H5T_NATIVE_UINT16, size, mask, once);
    mem_free(mask);
}

void nxmx_cxi_layout(struct hdf5_file *f, const struct nxmx_kind *kind,
                     const struct nxmx_rows *rows)
{
    put_numbers(f, "/cxi_version", H5T_NATIVE_INT32, 0, 1, &(int32_t){VERSION});
    hdf5_group(f, ENTRY, "NXentry");
    hdf5_group(f, DATA, "NXdata");
    hdf5_note_text(f, DATA, "signal", "data");
    hdf5_group(f, ENTRY "/instrument_1", "NXinstrument");
    hdf5_group(f, DETECTOR, "NXdetector");
    hdf5_group(f, SOURCE, "NXsource");
    hdf5_group(f, LCLS, "NXcollection");
    hdf5_group(f, LCLS "/detector_1", "NXcollection");
    hdf5_link(f, DATA "/data", NXMX_DATA);
    hdf5_link(f, DATA "/mask", DATA "/mask_shared");
    hdf5_link(f, DETECTOR "/data", NXMX_DATA);
    hdf5_link(f, DETECTOR "/mask_shared", DATA "/mask_shared");
    hdf5_text(f, DETECTOR "/description", "simulated");
    put_mask(f, kind->experiment, &kind->masks->cxi);
    put_reals(f, kind, rows);
    put_integers(f, kind, rows);
}

/* --- peaks ------------------------------------------------------------------ */

static const char *path_of(int column, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, PEAKS "/%s", columns[column]);
    return path;
}

/* Returns a creation property list for a table of peaks: a row is a chunk, and is compressed. */
static hid_t packed_rows(struct hdf5_file *f)
{
    const hid_t made = hdf5_creation(f);
    (void)hdf5_good(f, H5Pset_chunk(made, 2, (const hsize_t[]){1, PEAKS_MAX}));
    (void)hdf5_good(f, H5Pset_deflate(made, 1));
    return made;
}

void nxmx_peaks_create(struct nxmx_peaks *p, struct hdf5_file *f, const struct nxmx_kind *kind,
                       const struct nxmx_rows *rows)
{
    const hsize_t dims[2] = {rows->nframes, PEAKS_MAX};
    char path[PATH_BYTES];
    *p = (struct nxmx_peaks){
        .experiment = kind->experiment, .least_z = kind->least_z, .written = kind->cxi};
    p->written = p->written && rows->has_reflections;
    if (!p->written)
        return;
    hdf5_group(f, PEAKS, "NXdata");
    p->counts = mem_array(rows->nframes, sizeof *p->counts);
    p->values = mem_array(PEAKS_MAX, sizeof *p->values);
    const hid_t made = packed_rows(f);
    for (int i = 0; i < NXMX_PEAK_COLUMNS; i++)
        p->data[i] = hdf5_data(f, path_of(i, path), H5T_IEEE_F32LE, 2, dims, made, NULL);
    (void)H5Pclose(made);
}

/* Orders reflections by photons, the strongest first, and equal ones as in their table. */
static int by_photons(const void *a, const void *b)
{
    const struct reflection_row *x = *(const struct reflection_row *const *)a,
                                *y = *(const struct reflection_row *const *)b;
    if (x->photons != y->photons)
        return x->photons > y->photons ? -1 : 1;
    return (x > y) - (x < y);
}

static double peak_value(const struct experiment *x, int column, const struct reflection_row *r)
{
    const struct panel *p = &x->panels[r->panel];
    switch (column) {
    case X:
        return r->fast - 0.5;
    case Y:
        return r->slow - 0.5 + (double)(p->first_pixel / p->fast_pixels);
    case TOTAL:
        return r->photons;
    case MAXIMUM:
        return (double)r->peak;
    case PIXELS:
        return r->pixels;
    case SNR:
        return (double)r->z;
    default:
        return r->panel;
    }
}

/* Writes row number `row` of an open table. */
static void put_row(struct hdf5_file *f, hid_t data, hsize_t row, const float *values)
{
    const hsize_t start[2] = {row, 0}, size[2] = {1, PEAKS_MAX};
    const hid_t file = H5Dget_space(data), memory = H5Screate_simple(2, size, NULL);
    const bool good = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0;
    (void)hdf5_good(f, good ? H5Dwrite(data, H5T_NATIVE_FLOAT, memory, file, H5P_DEFAULT, values)
                            : -1);
    (void)H5Sclose(memory);
    (void)H5Sclose(file);
}

/* Checks that the panels of all rows exist: the rows of an existing file that is written again may
 * be damaged. */
static enum status check_panels(const struct nxmx_peaks *p, const char *path, uint64_t frame,
                                const struct reflection_table *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].panel < 0 || (size_t)t->rows[i].panel >= p->experiment->npanels)
            return error_set(e, STATUS_FAILED,
                             "%s: frame %" PRIu64 " has a reflection on panel %" PRId32
                             "; expected 0 to %zu. " NXMX_REMOVE_FILE,
                             path, frame, t->rows[i].panel, p->experiment->npanels - 1);
    return STATUS_OK;
}

enum status nxmx_peaks_put(struct nxmx_peaks *p, struct hdf5_file *f, uint64_t frame,
                           const struct reflection_table *t, struct error *e)
{
    if (!p->written || f->failed)
        return STATUS_OK;
    const enum status s = check_panels(p, f->path, frame, t, e);
    if (s)
        return s;
    const struct reflection_row **order = mem_array(t->count, sizeof *order);
    size_t chosen = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!(p->least_z > 0.0) || (double)t->rows[i].z > p->least_z)
            order[chosen++] = &t->rows[i];
    qsort(order, chosen, sizeof *order, by_photons);
    const size_t count = chosen < PEAKS_MAX ? chosen : PEAKS_MAX;
    for (int column = 0; column < NXMX_PEAK_COLUMNS; column++) {
        memset(p->values, 0, PEAKS_MAX * sizeof *p->values);
        for (size_t i = 0; i < count; i++)
            p->values[i] = (float)peak_value(p->experiment, column, order[i]);
        put_row(f, p->data[column], p->next, p->values);
    }
    p->counts[p->next++] = (int32_t)count;
    mem_free(order);
    return STATUS_OK;
}

void nxmx_peaks_close(struct nxmx_peaks *p, struct hdf5_file *f)
{
    if (!p->written)
        return;
    put_numbers(f, COUNT, H5T_NATIVE_INT32, 1, p->next, p->counts);
    for (int i = 0; i < NXMX_PEAK_COLUMNS; i++)
        if (p->data[i] >= 0)
            (void)H5Dclose(p->data[i]);
    mem_free(p->counts);
    mem_free(p->values);
    *p = (struct nxmx_peaks){0};
}

/* Creates a virtual data set of a master over those of the data files. */
static void map(struct hdf5_file *f, const struct nxmx_map *m, const char *path, hid_t type,
                int rank)
{
    const hsize_t dims[2] = {m->total[NXMX_FRAMES], PEAKS_MAX};
    const hid_t made = hdf5_creation(f);
    nxmx_map_put(m, f, made, NXMX_FRAMES, rank - 1, dims + 1, path);
    const hid_t data = hdf5_data(f, path, type, rank, dims, made, NULL);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
    (void)H5Pclose(made);
}

void nxmx_peaks_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows,
                    const struct nxmx_map *m)
{
    char path[PATH_BYTES];
    if (!kind->cxi || !rows->has_reflections)
        return;
    hdf5_group(f, PEAKS, "NXdata");
    map(f, m, COUNT, H5T_NATIVE_INT32, 1);
    for (int i = 0; i < NXMX_PEAK_COLUMNS; i++)
        map(f, m, path_of(i, path), H5T_IEEE_F32LE, 2);
}
