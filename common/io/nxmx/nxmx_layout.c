#include "io/nxmx/nxmx_layout.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/version.h"
#include "model/beam.h"
#include "model/pulse_ids.h"

#define WAVELENGTH NXMX_INSTRUMENT "/beam/incident_wavelength"
#define OMEGA "/entry/sample/transformations/omega"

enum { GROUP_BYTES = 64, PATH_BYTES = 128 };

/* --- pieces -------------------------------------------------------------- */

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

/* --- sample -------------------------------------------------------------- */

/* One member of all frames, in new memory. */
static double *column(struct hdf5_file *f, const struct nxmx_rows *rows, size_t offset)
{
    double *values = mem_array(rows->nframes, sizeof *values);
    if (!values)
        (void)hdf5_good(f, -1);
    for (size_t i = 0; values && i < rows->nframes; i++)
        memcpy(&values[i], (const char *)&rows->frames[i] + offset, sizeof *values);
    return values;
}

/* Whether all frames that rotate do so backwards.  DIALS takes no negative width, so the series is
 * written as a rotation forwards about the inverted axis. */
static bool is_backwards(const struct nxmx_rows *rows)
{
    bool backwards = false;
    for (size_t i = 0; i < rows->nframes; i++) {
        if (rows->frames[i].rotation_width > 0.0)
            return false;
        backwards |= rows->frames[i].rotation_width < 0.0;
    }
    return backwards;
}

static void put_omega(struct hdf5_file *f, const struct experiment *x, const struct nxmx_rows *rows)
{
    double *start = column(f, rows, offsetof(struct nxmx_frame, rotation_start)),
           *width = column(f, rows, offsetof(struct nxmx_frame, rotation_width));
    double axes[9], spindle[3];
    const hsize_t n = rows->nframes;
    nxmx_axes(x, axes);
    mat_apply(axes, x->spindle, spindle);
    if (is_backwards(rows)) {
        for (int i = 0; i < 3; i++)
            spindle[i] = 0.0 - spindle[i];
        for (size_t i = 0; start && width && i < n; i++) {
            start[i] = 0.0 - start[i];
            width[i] = 0.0 - width[i];
        }
    }
    if (start && width) {
        hdf5_reals(f, OMEGA, 1, &n, start);
        nxmx_note_axis(f, OMEGA, "rotation", spindle, "deg", ".");
        for (size_t i = 0; i < n; i++)
            start[i] += width[i];
        hdf5_reals(f, OMEGA "_end", 1, &n, start);
        hdf5_note_text(f, OMEGA "_end", "units", "deg");
        hdf5_real(f, OMEGA "_increment_set", width[0], "deg");
    }
    mem_free(start);
    mem_free(width);
}

static void put_sample(struct hdf5_file *f, const struct experiment *x,
                       const struct nxmx_rows *rows)
{
    hdf5_group(f, "/entry/sample", "NXsample");
    hdf5_text(f, "/entry/sample/name", x->ncrystals ? x->crystals->name : "");
    bool rotates = false;
    for (size_t i = 0; i < rows->nframes; i++)
        rotates |= rows->frames[i].rotation_width != 0.0;
    hdf5_text(f, "/entry/sample/depends_on", rotates ? OMEGA : ".");
    if (!rotates)
        return;
    hdf5_group(f, "/entry/sample/transformations", "NXtransformations");
    put_omega(f, x, rows);
}

/* --- beam ---------------------------------------------------------------- */

/* A value of the frames, times `factor`: one number if it is the same for all. */
static void put_varying(struct hdf5_file *f, const char *path, const struct nxmx_rows *rows,
                        size_t offset, double factor, const char *units)
{
    double *values = column(f, rows, offset);
    if (!values)
        return;
    bool same = true;
    for (size_t i = 0; i < rows->nframes; i++) {
        values[i] *= factor;
        same &= values[i] == values[0];
    }
    hdf5_reals(f, path, !same, &(hsize_t){rows->nframes}, values);
    hdf5_note_text(f, path, "units", units);
    mem_free(values);
}

/* Names the spectrum where readers look for it.  dxtbx appends to the name, for which the text must
 * have a variable length: h5py gives the others as bytes. */
static void note_spectrum(struct hdf5_file *f)
{
    hdf5_note_string(f, WAVELENGTH, "variant", "incident_wavelength_spectrum");
}

/* The spectrum of the beam, of `n` channels. */
static void put_beam_spectrum(struct hdf5_file *f, const struct nxmx_channel *beam, size_t n)
{
    double *values = n > 1 ? mem_array(n, sizeof *values) : NULL;
    if (n < 2 || !hdf5_good(f, values ? 0 : -1))
        return;
    const hsize_t size = n;
    for (size_t i = 0; i < n; i++)
        values[i] = beam[i].wavelength;
    hdf5_reals(f, NXMX_SPECTRUM, 1, &size, values);
    hdf5_note_text(f, NXMX_SPECTRUM, "units", "angstrom");
    for (size_t i = 0; i < n; i++)
        values[i] = beam[i].weight;
    hdf5_reals(f, NXMX_SPECTRUM "_weights", 1, &size, values);
    hdf5_reals(f, NXMX_SPECTRUM "_weight", 1, &size, values);  // as dxtbx calls them
    note_spectrum(f);
    mem_free(values);
}

/* Fills a row of the table with the spectrum of a frame: its own, else that of the beam, else its
 * one wavelength.  What is left of the row repeats the last wavelength with weight 0. */
static void fill_spectrum(const struct nxmx_rows *rows, const struct nxmx_frame *frame,
                          const struct nxmx_channel *beam, size_t beam_channels, size_t width,
                          double *wavelengths, double *weights)
{
    const bool own = frame->channels > 0;
    const struct nxmx_channel *from = own ? nxmx_rows_spectrum(rows, frame->number) : beam;
    const size_t n = own ? (size_t)frame->channels : beam_channels;
    for (size_t i = 0; i < width; i++) {
        if (i && i >= n)
            wavelengths[i] = wavelengths[i - 1];
        else
            wavelengths[i] = own || n > 1 ? from[i].wavelength : frame->wavelength;
        weights[i] = i < n && n > 1 ? from[i].weight : !i;
    }
}

/* The spectra of frames, a row each, as wide as the one with the most channels. */
static void put_spectra(struct hdf5_file *f, const struct nxmx_rows *rows,
                        const struct nxmx_channel *beam, size_t beam_channels)
{
    size_t width = beam_channels;
    for (size_t i = 0; i < rows->nframes; i++)
        width = rows->frames[i].channels > width ? (size_t)rows->frames[i].channels : width;
    double *wavelengths = mem_array(rows->nframes, width * sizeof *wavelengths),
           *weights = mem_array(rows->nframes, width * sizeof *weights);
    if (hdf5_good(f, wavelengths && weights ? 0 : -1)) {
        const hsize_t dims[2] = {rows->nframes, width};
        for (size_t i = 0; i < rows->nframes; i++)
            fill_spectrum(rows, &rows->frames[i], beam, beam_channels, width,
                          wavelengths + i * width, weights + i * width);
        hdf5_reals(f, NXMX_SPECTRUM, 2, dims, wavelengths);
        hdf5_note_text(f, NXMX_SPECTRUM, "units", "angstrom");
        hdf5_reals(f, NXMX_SPECTRUM "_weights", 2, dims, weights);
        hdf5_link(f, NXMX_SPECTRUM "_weight", NXMX_SPECTRUM "_weights");  // as dxtbx calls them
        note_spectrum(f);
    }
    mem_free(wavelengths);
    mem_free(weights);
}

static void put_spectrum(struct hdf5_file *f, const struct nxmx_rows *rows, const struct beam *b)
{
    size_t n = 0;
    struct nxmx_channel *beam =
        b->nsources ? nxmx_merge_sources(b->sources, b->nsources, &n) : NULL;
    if (!hdf5_good(f, beam || !b->nsources ? 0 : -1))
        return;
    if (rows->nchannels)
        put_spectra(f, rows, beam, n);
    else
        put_beam_spectrum(f, beam, n);
    mem_free(beam);
}

/* The flux is the same everywhere in the beam. */
static void put_beam_size(struct hdf5_file *f, double width_m, double height_m,
                          const struct nxmx_rows *rows)
{
    const double size[2] = {width_m, height_m};
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_beam_size", 1, &(hsize_t){2}, size);
    hdf5_note_text(f, NXMX_INSTRUMENT "/beam/incident_beam_size", "units", "m");
    hdf5_text(f, NXMX_INSTRUMENT "/beam/profile", "rectangular");
    put_varying(f, NXMX_INSTRUMENT "/beam/total_flux", rows, offsetof(struct nxmx_frame, fluence),
                width_m * height_m, "Hz");
}

/* A row for each frame.  NXmx has changed its mind about how that is spelled. */
static void put_polarization(struct hdf5_file *f, const struct experiment *x, size_t nframes)
{
    const hsize_t dims[2] = {nframes, 4};
    double axes[9];
    double *stokes = x->beam.no_polarization ? NULL : mem_array(nframes, 4 * sizeof *stokes);
    if (x->beam.no_polarization || !hdf5_good(f, stokes ? 0 : -1))
        return;
    nxmx_axes(x, axes);
    for (size_t i = 0; i < nframes; i++)
        beam_stokes(&x->beam, axes, axes + 3, stokes + 4 * i);
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_polarization_stokes", 2, dims, stokes);
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_polarisation_stokes", 2, dims, stokes);
    mem_free(stokes);
}

static void put_beam(struct hdf5_file *f, const struct experiment *x, const struct nxmx_rows *rows)
{
    hdf5_group(f, NXMX_INSTRUMENT "/beam", "NXbeam");
    put_varying(f, WAVELENGTH, rows, offsetof(struct nxmx_frame, wavelength), 1.0, "angstrom");
    put_spectrum(f, rows, &x->beam);
    /* An exposure has 1 s, see frame_time. */
    put_varying(f, NXMX_INSTRUMENT "/beam/flux", rows, offsetof(struct nxmx_frame, fluence), 1.0,
                "1/(m^2*s)");
    put_polarization(f, x, rows->nframes);
    if (x->beam.size_m > 0.0)
        put_beam_size(f, x->beam.size_m, beam_height_m(&x->beam), rows);
    hdf5_group(f, "/entry/source", "NXsource");
    hdf5_text(f, "/entry/source/name", "braggpipe " BRAGG_VERSION ", simulated");
}

/* --- the truth ----------------------------------------------------------- */

static void put_crystal(struct hdf5_file *f, const struct crystal *c, size_t number)
{
    char group[GROUP_BYTES], path[PATH_BYTES];
    (void)snprintf(group, sizeof group, NXMX_TRUTH "/crystal_%zu", number);
#define IN(name) (snprintf(path, sizeof path, "%s/" name, group), path)
    double cell[6];
    crystal_cell(c, cell);
    hdf5_group(f, group, "NXcollection");
    hdf5_text(f, IN("name"), c->name);
    hdf5_reals(f, IN("cell"), 1, &(hsize_t){6}, cell);
    hdf5_reals(f, IN("cells_along_axes"), 1, &(hsize_t){3}, c->cells);
    if (c->has_size) {
        hdf5_reals(f, IN("size"), 1, &(hsize_t){3}, c->size_m);
        hdf5_note_text(f, path, "units", "m");
    }
    if (c->has_blocks)
        hdf5_real(f, IN("blocks"), c->blocks, NULL);
#undef IN
}

/* The numbers of the pulses of these frames, a list for each. */
static void put_pulses(struct hdf5_file *f, const struct experiment *x,
                       const struct nxmx_rows *rows)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, 0, list);
    uint64_t *values = n ? mem_array(rows->nframes, sizeof *values) : NULL;
    if (!n || !hdf5_good(f, values ? 0 : -1))
        return;
    for (size_t k = 0; k < n; k++) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, NXMX_TRUTH "/%s", list[k].name);
        for (size_t i = 0; i < rows->nframes; i++) {
            struct pulse_number its[PULSE_NUMBERS_MAX];
            (void)pulse_numbers(&x->pulse_ids, rows->frames[i].number, its);
            values[i] = its[k].value;
        }
        const hid_t data = hdf5_data(f, path, H5T_NATIVE_UINT64, 1, &(hsize_t){rows->nframes},
                                     H5P_DEFAULT, values);
        if (data >= 0)
            (void)hdf5_good(f, H5Dclose(data));
    }
    mem_free(values);
}

/* What NXmx has no place for. */
static void put_sensor(struct hdf5_file *f, const struct panel *p)
{
    if (!(p->thickness_m > 0.0))
        return;
    hdf5_real(f, NXMX_TRUTH "/sensor_thickness", p->thickness_m, "m");
    hdf5_real(f, NXMX_TRUTH "/sensor_absorption", p->absorption_1_m, "1/m");
    hdf5_whole(f, NXMX_TRUTH "/sensor_layers", (uint64_t)p->layers);
}

static void put_truth(struct hdf5_file *f, const struct nxmx_kind *kind,
                      const struct nxmx_rows *rows)
{
    const struct experiment *x = kind->experiment;
    double axes[9];
    nxmx_axes(x, axes);
    hdf5_group(f, NXMX_TRUTH, "NXcollection");
    hdf5_text(f, NXMX_TRUTH "/version", BRAGG_VERSION);
    hdf5_text(f, NXMX_TRUTH "/lineage", kind->lineage);
    hdf5_text(f, NXMX_TRUTH "/history", x->history);
    hdf5_text(f, NXMX_TRUTH "/compression", nxmx_compression_name(kind->compression));
    hdf5_reals(f, NXMX_TRUTH "/lab_to_nexus", 2, (const hsize_t[]){3, 3}, axes);
    hdf5_real(f, NXMX_TRUTH "/adc_offset", x->adc_offset, NULL);
    hdf5_real(f, NXMX_TRUTH "/gain", x->gain, NULL);
    put_sensor(f, x->panels);
    for (size_t i = 0; i < x->ncrystals; i++)
        put_crystal(f, &x->crystals[i], i);
    put_pulses(f, x, rows);
    nxmx_put_rows(f, rows, x->detector_moves);
}

/* --- the file ------------------------------------------------------------ */

static void put_root(struct hdf5_file *f, const struct nxmx_kind *kind)
{
    char begin[UTC_SIZE];
    const char *slash = strrchr(f->path, '/');
    utc_text(kind->begin_s, 0, begin);
    hdf5_note_text(f, "/", "default", "entry");
    hdf5_note_text(f, "/", "file_name", slash ? slash + 1 : f->path);
    hdf5_note_text(f, "/", "file_time", begin);
    hdf5_note_text(f, "/", "creator", "braggpipe");
    hdf5_note_text(f, "/", "creator_version", BRAGG_VERSION);
}

/* Of the frames in this file: frame i takes the second that begins i seconds after begin_s. */
static void put_times(struct hdf5_file *f, uint64_t begin_s, const struct nxmx_rows *rows)
{
    char begin[UTC_SIZE], end[UTC_SIZE];
    const uint64_t last = rows->frames[rows->nframes - 1].number;
    utc_text(begin_s, rows->frames->number, begin);
    utc_text(begin_s, last + (last < UINT64_MAX), end);
    hdf5_text(f, "/entry/start_time", begin);
    hdf5_text(f, "/entry/end_time", end);
    hdf5_text(f, "/entry/end_time_estimated", end);
}

static void put_entry(struct hdf5_file *f, const struct nxmx_kind *kind,
                      const struct nxmx_rows *rows)
{
    hdf5_group(f, "/entry", "NXentry");
    hdf5_note_text(f, "/entry", "version", "1.0");  // of NXmx
    hdf5_note_text(f, "/entry", "default", "data");
    hdf5_text(f, "/entry/definition", "NXmx");
    hdf5_text(f, "/entry/title", "Diffraction simulated by braggpipe " BRAGG_VERSION);
    put_times(f, kind->begin_s, rows);
    hdf5_group(f, "/entry/data", "NXdata");
    hdf5_note_text(f, "/entry/data", "signal", "data");
}

void nxmx_layout(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_rows *rows)
{
    put_root(f, kind);
    put_entry(f, kind, rows);
    put_sample(f, kind->experiment, rows);
    hdf5_group(f, NXMX_INSTRUMENT, "NXinstrument");
    hdf5_text(f, NXMX_INSTRUMENT "/name", "braggpipe");
    hdf5_note_text(f, NXMX_INSTRUMENT "/name", "short_name", "braggpipe");
    put_beam(f, kind->experiment, rows);
    nxmx_put_detector(f, kind, rows);
    put_truth(f, kind, rows);
}
