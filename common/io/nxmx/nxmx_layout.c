#include "io/nxmx/nxmx_layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/vec.h"
#include "model/experiment.h"
#include "model/recipe.h"

#define WAVELENGTH NXMX_INSTRUMENT "/beam/incident_wavelength"
#define OMEGA "/entry/sample/transformations/omega"

enum { GROUP_BYTES = 64, PATH_BYTES = 128 };

/* Adds the attributes that make a data set a transformation along or about the vector v.  `type`
 * is "translation" or "rotation", and `on` is the path of the transformation on which it
 * depends. */
static void note_axis(struct hdf5_file *f, const char *path, const char *type, const double v[3],
                      const char *units, const char *on)
{
    static const double none[3];
    hdf5_note_text(f, path, "transformation_type", type);
    hdf5_note_reals(f, path, "vector", 3, v);
    hdf5_note_reals(f, path, "offset", 3, none);
    hdf5_note_text(f, path, "offset_units", "m");
    hdf5_note_text(f, path, "units", units);
    hdf5_note_text(f, path, "depends_on", on);
}

/* --- sample -------------------------------------------------------------- */

/* Returns the values of one member, a double at `offset` in struct nxmx_frame, of all frames.
 * The caller frees them with mem_free. */
static double *column(const struct nxmx_rows *rows, size_t offset)
{
    double *values = mem_array(rows->nframes, sizeof *values);
    for (size_t i = 0; i < rows->nframes; i++)
        memcpy(&values[i], (const char *)&rows->frames[i] + offset, sizeof *values);
    return values;
}

/* Returns true if all frames that rotate have a negative rotation width.  DIALS does not accept
 * negative widths.  Such a series is therefore written as a rotation with positive widths about
 * the inverted axis. */
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
    double *start = column(rows, offsetof(struct nxmx_frame, rotation_start)),
           *width = column(rows, offsetof(struct nxmx_frame, rotation_width));
    double axes[9], spindle[3];
    const hsize_t n = rows->nframes;
    experiment_nexus_axes(x, axes);
    mat_apply(axes, x->spindle, spindle);
    if (is_backwards(rows)) {
        for (int i = 0; i < 3; i++)
            spindle[i] = 0.0 - spindle[i];
        for (size_t i = 0; i < n; i++) {
            start[i] = 0.0 - start[i];
            width[i] = 0.0 - width[i];
        }
    }
    hdf5_reals(f, OMEGA, 1, &n, start);
    note_axis(f, OMEGA, "rotation", spindle, "deg", ".");
    for (size_t i = 0; i < n; i++)
        start[i] += width[i];
    hdf5_reals(f, OMEGA "_end", 1, &n, start);
    hdf5_note_text(f, OMEGA "_end", "units", "deg");
    hdf5_real(f, OMEGA "_increment_set", width[0], "deg");
    mem_free(start);
    mem_free(width);
}

/* Writes where the beam meets the sample holder, as positions of two motors, one number per frame.
 */
static void put_motors(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    static const char *const groups[] = {"/entry/sample/sample_x", "/entry/sample/sample_y"};
    for (int k = 0; k < 2; k++) {
        char path[GROUP_BYTES];
        hdf5_group(f, groups[k], "NXpositioner");
        (void)snprintf(path, sizeof path, "%s/name", groups[k]);
        hdf5_text(f, path, k ? "sample_y" : "sample_x");
        (void)snprintf(path, sizeof path, "%s/value", groups[k]);
        double *values =
            column(rows, offsetof(struct nxmx_frame, sample_m) + (size_t)k * sizeof *values);
        hdf5_reals(f, path, 1, &(hsize_t){rows->nframes}, values);
        hdf5_note_text(f, path, "units", "m");
        mem_free(values);
    }
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
    if (x->sample_moves)
        put_motors(f, rows);
    if (!rotates)
        return;
    hdf5_group(f, "/entry/sample/transformations", "NXtransformations");
    put_omega(f, x, rows);
}

/* --- beam ---------------------------------------------------------------- */

/* Writes one member of the frames, times `factor`: a single number if all frames have the same
 * value, else one number per frame. */
static void put_varying(struct hdf5_file *f, const char *path, const struct nxmx_rows *rows,
                        size_t offset, double factor, const char *units)
{
    double *values = column(rows, offset);
    bool same = true;
    for (size_t i = 0; i < rows->nframes; i++) {
        values[i] *= factor;
        same &= values[i] == values[0];
    }
    hdf5_reals(f, path, !same, &(hsize_t){rows->nframes}, values);
    hdf5_note_text(f, path, "units", units);
    mem_free(values);
}

/* Stores the name of the spectrum in the attribute `variant` of the wavelength, where readers
 * look for it.  dxtbx appends to the name.  The text must therefore have a variable length,
 * because h5py returns texts of fixed length as bytes. */
static void note_spectrum(struct hdf5_file *f)
{
    hdf5_note_string(f, WAVELENGTH, "variant", "incident_wavelength_spectrum");
}

/* Writes the spectrum of the beam, which has `n` channels.  Does nothing for a single
 * wavelength. */
static void put_beam_spectrum(struct hdf5_file *f, const struct nxmx_channel *beam, size_t n)
{
    double *values = n > 1 ? mem_array(n, sizeof *values) : NULL;
    if (n < 2)
        return;
    const hsize_t size = n;
    for (size_t i = 0; i < n; i++)
        values[i] = beam[i].wavelength;
    hdf5_reals(f, NXMX_SPECTRUM, 1, &size, values);
    hdf5_note_text(f, NXMX_SPECTRUM, "units", "angstrom");
    for (size_t i = 0; i < n; i++)
        values[i] = beam[i].weight;
    hdf5_reals(f, NXMX_SPECTRUM "_weights", 1, &size, values);
    hdf5_reals(f, NXMX_SPECTRUM "_weight", 1, &size, values);  // the name in dxtbx
    note_spectrum(f);
    mem_free(values);
}

/* Fills a row of the table of spectra with the spectrum of a frame: its own, else that of the
 * beam, else its single wavelength.  The rest of the row repeats the last wavelength with weight
 * 0. */
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

/* Writes the spectra of the frames as a table with one row per frame.  The spectrum with the
 * most channels decides the width of the table. */
static void put_spectra(struct hdf5_file *f, const struct nxmx_rows *rows,
                        const struct nxmx_channel *beam, size_t beam_channels)
{
    size_t width = beam_channels;
    for (size_t i = 0; i < rows->nframes; i++)
        width = rows->frames[i].channels > width ? (size_t)rows->frames[i].channels : width;
    double *wavelengths = mem_array(rows->nframes, width * sizeof *wavelengths),
           *weights = mem_array(rows->nframes, width * sizeof *weights);
    const hsize_t dims[2] = {rows->nframes, width};
    for (size_t i = 0; i < rows->nframes; i++)
        fill_spectrum(rows, &rows->frames[i], beam, beam_channels, width, wavelengths + i * width,
                      weights + i * width);
    hdf5_reals(f, NXMX_SPECTRUM, 2, dims, wavelengths);
    hdf5_note_text(f, NXMX_SPECTRUM, "units", "angstrom");
    hdf5_reals(f, NXMX_SPECTRUM "_weights", 2, dims, weights);
    hdf5_link(f, NXMX_SPECTRUM "_weight", NXMX_SPECTRUM "_weights");  // the name in dxtbx
    note_spectrum(f);
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

/* Writes the size of the beam and the total flux, which is the flux times the area of the beam,
 * because the flux is the same everywhere in the beam. */
static void put_beam_size(struct hdf5_file *f, const struct beam *b, const struct nxmx_rows *rows)
{
    const double size[2] = {b->size_m, beam_height_m(b)};
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_beam_size", 1, &(hsize_t){2}, size);
    hdf5_note_text(f, NXMX_INSTRUMENT "/beam/incident_beam_size", "units", "m");
    hdf5_text(f, NXMX_INSTRUMENT "/beam/profile", "rectangular");
    put_varying(f, NXMX_INSTRUMENT "/beam/total_flux", rows, offsetof(struct nxmx_frame, fluence),
                size[0] * size[1] / beam_exposure_s(b), "Hz");
}

/* Writes the Stokes vector of the beam, one row for each frame.  NXmx has changed the spelling of
 * the name; both spellings are written. */
static void put_polarization(struct hdf5_file *f, const struct experiment *x, size_t nframes)
{
    const hsize_t dims[2] = {nframes, 4};
    double axes[9];
    double *stokes = x->beam.no_polarization ? NULL : mem_array(nframes, 4 * sizeof *stokes);
    if (x->beam.no_polarization)
        return;
    experiment_nexus_axes(x, axes);
    for (size_t i = 0; i < nframes; i++)
        beam_stokes(&x->beam, axes, axes + 3, stokes + 4 * i);
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_polarization_stokes", 2, dims, stokes);
    hdf5_reals(f, NXMX_INSTRUMENT "/beam/incident_polarisation_stokes", 2, dims, stokes);
    mem_free(stokes);
}

/* Names the particles of a beam that does not consist of X-rays, and their kinetic energy. */
static void put_probe(struct hdf5_file *f, const struct experiment *x)
{
    hdf5_text(f, "/entry/source/probe", probe_nexus(x->probe));
    hdf5_real(f, "/entry/source/energy", probe_energy_eV(x->probe, x->beam.wavelength_m), "eV");
}

static void put_beam(struct hdf5_file *f, const struct experiment *x, const struct nxmx_rows *rows)
{
    hdf5_group(f, NXMX_INSTRUMENT "/beam", "NXbeam");
    put_varying(f, WAVELENGTH, rows, offsetof(struct nxmx_frame, wavelength), 1.0, "angstrom");
    put_spectrum(f, rows, &x->beam);
    put_varying(f, NXMX_INSTRUMENT "/beam/flux", rows, offsetof(struct nxmx_frame, fluence),
                1.0 / beam_exposure_s(&x->beam), "1/(m^2*s)");
    put_polarization(f, x, rows->nframes);
    if (x->beam.size_m > 0.0)
        put_beam_size(f, &x->beam, rows);
    hdf5_group(f, "/entry/source", "NXsource");
    hdf5_text(f, "/entry/source/name", "braggpipe " BRAGG_VERSION ", simulated");
    if (x->has_probe)
        put_probe(f, x);
}

/* --- detector: modules, their positions, and the mask ----------------------- */

#define DETECTOR NXMX_INSTRUMENT "/detector"
#define SHIFT DETECTOR "/transformations/shift_"

/* Thickness that is written for a sensor without depth, because dxtbx requires more than 0. */
static const double THIN_M = 1e-9;

/* Writes a translation by `length_m` along the unit vector v.  `on` is the path of the
 * transformation on which it depends. */
static void put_translation(struct hdf5_file *f, const char *path, double length_m,
                            const double v[3], const char *on)
{
    hdf5_real(f, path, length_m, NULL);
    note_axis(f, path, "translation", v, "m", on);
}

static void put_pair(struct hdf5_file *f, const char *path, uint64_t first, uint64_t second)
{
    const uint64_t pair[2] = {first, second};
    const hid_t data = hdf5_data(f, path, H5T_NATIVE_UINT64, 1, &(hsize_t){2}, H5P_DEFAULT, pair);
    if (data >= 0)
        (void)hdf5_good(f, H5Dclose(data));
}

static void put_module(struct hdf5_file *f, const struct experiment *x, size_t number,
                       const char *group, hsize_t slow_origin)
{
    const struct panel *p = &x->panels[number];
    double axes[9], origin[3], v[3];
    char offset[PATH_BYTES], path[PATH_BYTES];
    experiment_nexus_axes(x, axes);
    mat_apply(axes, p->origin_m, origin);
    origin[2] -= x->panels->distance_m;  // the distance is stored in det_z
    const double length =
        sqrt(origin[0] * origin[0] + origin[1] * origin[1] + origin[2] * origin[2]);
    for (int i = 0; i < 3; i++)
        v[i] = length > 0.0 ? origin[i] / length : i == 0;
#define IN(name) (snprintf(path, sizeof path, "%s/" name, group), path)
    hdf5_group(f, group, "NXdetector_module");
    put_pair(f, IN("data_origin"), slow_origin, 0);
    put_pair(f, IN("data_size"), (uint64_t)p->slow_pixels, (uint64_t)p->fast_pixels);
    (void)snprintf(offset, sizeof offset, "%s/module_offset", group);
    put_translation(f, offset, length, v, DETECTOR "/transformations/det_z");
    mat_apply(axes, p->fast, v);
    put_translation(f, IN("fast_pixel_direction"), p->pixel_m, v, offset);
    mat_apply(axes, p->slow, v);
    put_translation(f, IN("slow_pixel_direction"), p->pixel_m, v, offset);
#undef IN
}

/* Writes the shifts of the detector as translations along x, y and z, each with one number per
 * frame.  They form a chain whose last element is that of z. */
static void put_shifts(struct hdf5_file *f, const struct nxmx_rows *rows)
{
    static const char *const paths[] = {".", SHIFT "x", SHIFT "y", SHIFT "z"};
    double *values = mem_array(rows->nframes, sizeof *values);
    for (int k = 0; k < 3; k++) {
        const double along[3] = {k == 0, k == 1, k == 2};
        for (size_t i = 0; i < rows->nframes; i++)
            values[i] = rows->frames[i].shift_m[k];
        hdf5_reals(f, paths[k + 1], 1, &(hsize_t){rows->nframes}, values);
        note_axis(f, paths[k + 1], "translation", along, "m", paths[k]);
    }
    mem_free(values);
}

static void put_modules(struct hdf5_file *f, const struct experiment *x,
                        const struct nxmx_rows *rows)
{
    hsize_t slow = 0;
    hdf5_group(f, DETECTOR "/transformations", "NXtransformations");
    if (x->detector_moves)
        put_shifts(f, rows);
    put_translation(f, DETECTOR "/transformations/det_z", x->panels->distance_m,
                    (const double[]){0, 0, 1}, x->detector_moves ? SHIFT "z" : ".");
    hdf5_text(f, DETECTOR "/depends_on", DETECTOR "/transformations/det_z");
    for (size_t i = 0; i < x->npanels; i++) {
        char group[GROUP_BYTES] = DETECTOR "/module";
        if (x->npanels > 1)
            (void)snprintf(group, sizeof group, DETECTOR "/module_%03zu", i);
        put_module(f, x, i, group, slow);
        slow += (hsize_t)x->panels[i].slow_pixels;
    }
}

/* Writes the mask of the detector: for each pixel that is masked or outside the ROI the reasons why
 * it is not used, for any other pixel 0.  Does nothing if all pixels are used. */
static void put_mask(struct hdf5_file *f, const struct experiment *x, struct hdf5_once *once)
{
    hsize_t size[2];
    bool any = false;
    for (size_t i = 0; i < x->npanels; i++)
        any |= !panel_is_whole(&x->panels[i]);
    if (!any)
        return;
    nxmx_image_size(x, size);
    uint32_t *mask = once->bytes ? NULL : mem_array((size_t)(size[0] * size[1]), sizeof *mask);
    for (size_t i = 0; i < x->npanels && mask; i++) {
        const struct panel *p = &x->panels[i];
        for (int64_t k = 0; k < p->fast_pixels * p->slow_pixels; k++)
            if (!panel_computes(p, k % p->fast_pixels, k / p->fast_pixels))
                mask[p->first_pixel + k] = experiment_mask_word(x, p->first_pixel + k);
    }
    hdf5_packed(f, DETECTOR "/pixel_mask", H5T_NATIVE_UINT32, size, mask, once);
    mem_free(mask);
}

static void put_range(struct hdf5_file *f, const struct experiment *x, enum pixel_type type)
{
    static const double most[] = {
        [PIXEL_U16] = UINT16_MAX, [PIXEL_U32] = UINT32_MAX, [PIXEL_I32] = INT32_MAX};
    if (type == PIXEL_F32)
        return;
    const double limit =
        x->saturation > 0.0 && x->saturation < most[type] ? x->saturation : most[type];
    hdf5_whole(f, DETECTOR "/saturation_value", (uint64_t)limit);
    hdf5_whole(f, DETECTOR "/underload_value", 0);
    hdf5_whole(f, DETECTOR "/bit_depth_readout", 8 * pixel_size(type));
}

static void put_detector(struct hdf5_file *f, const struct nxmx_kind *kind,
                         const struct nxmx_rows *rows)
{
    const struct panel *p = kind->experiment->panels;
    hdf5_group(f, DETECTOR, "NXdetector");
    hdf5_text(f, DETECTOR "/description", "simulated");
    hdf5_text(f, DETECTOR "/type", "pixel");
    hdf5_text(f, DETECTOR "/sensor_material", panel_material(p));
    const double depth_m = panel_depth_m(p);
    hdf5_real(f, DETECTOR "/sensor_thickness", depth_m > 0.0 ? depth_m : THIN_M, "m");
    const double exposure_s = beam_exposure_s(&kind->experiment->beam);
    hdf5_real(f, DETECTOR "/count_time", exposure_s, "s");
    hdf5_real(f, DETECTOR "/frame_time", exposure_s, "s");
    hdf5_real(f, DETECTOR "/distance", p->distance_m, "m");
    hdf5_flag(f, DETECTOR "/distance_derived", false);
    hdf5_real(f, DETECTOR "/x_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/y_pixel_size", p->pixel_m, "m");
    hdf5_real(f, DETECTOR "/beam_center_x", p->beam_fast_m / p->pixel_m, "pixel");
    hdf5_real(f, DETECTOR "/beam_center_y", p->beam_slow_m / p->pixel_m, "pixel");
    hdf5_link(f, DETECTOR "/data", NXMX_DATA);
    put_range(f, kind->experiment, kind->type);
    put_mask(f, kind->experiment, &kind->masks->nexus);
    put_modules(f, kind->experiment, rows);
}

/* --- the ground truth ---------------------------------------------------- */

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

/* Writes the pulse numbers of the frames: one data set for each kind of number, with one value
 * per frame. */
static void put_pulses(struct hdf5_file *f, const struct experiment *x,
                       const struct nxmx_rows *rows)
{
    struct pulse_number list[PULSE_NUMBERS_MAX];
    const size_t n = pulse_numbers(&x->pulse_ids, 0, list);
    uint64_t *values = n ? mem_array(rows->nframes, sizeof *values) : NULL;
    if (!n)
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

/* Writes the thickness, the absorption and the number of layers of the sensor to the ground
 * truth, because NXmx does not have fields for all of them.  A smear has 0 layers.  Does nothing
 * for a sensor without depth. */
static void put_sensor(struct hdf5_file *f, const struct experiment *x)
{
    const struct panel *p = x->panels;
    if (!(p->thickness_m > 0.0))
        return;
    hdf5_real(f, NXMX_TRUTH "/sensor_thickness", p->thickness_m, "m");
    hdf5_real(f, NXMX_TRUTH "/sensor_absorption", p->absorption_1_m, "1/m");
    hdf5_whole(f, NXMX_TRUTH "/sensor_layers", x->sampling.smears ? 0 : (uint64_t)p->layers);
}

/* Writes the true places of misaligned panels: for each panel its outer corner in m, fast and slow,
 * in the coordinate system of NeXus. */
static void put_true_panels(struct hdf5_file *f, const struct experiment *x, const double axes[9])
{
    const size_t n = x->ntrue_panels;
    double *values = mem_array(n, 9 * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        const struct panel *p = &x->true_panels[i];
        const double *const vectors[] = {p->origin_m, p->fast, p->slow};
        for (int k = 0; k < 9; k++)
            values[9 * i + (size_t)k] = vec_dot(axes + 3 * (k % 3), vectors[k / 3]);
    }
    hdf5_reals(f, NXMX_TRUTH "/true_panels", 3, (const hsize_t[]){n, 3, 3}, values);
    mem_free(values);
}

static void put_truth(struct hdf5_file *f, const struct nxmx_kind *kind,
                      const struct nxmx_rows *rows)
{
    const struct experiment *x = kind->experiment;
    double axes[9];
    experiment_nexus_axes(x, axes);
    hdf5_group(f, NXMX_TRUTH, "NXcollection");
    hdf5_text(f, NXMX_TRUTH "/version", BRAGG_VERSION);
    hdf5_text(f, NXMX_TRUTH "/lineage", kind->lineage);
    hdf5_text(f, NXMX_TRUTH "/history", x->history);
    hdf5_text(f, NXMX_TRUTH "/compression", nxmx_compression_name(kind->compression));
    hdf5_reals(f, NXMX_TRUTH "/lab_to_nexus", 2, (const hsize_t[]){3, 3}, axes);
    hdf5_real(f, NXMX_TRUTH "/adc_offset", x->adc_offset, NULL);
    hdf5_real(f, NXMX_TRUTH "/gain", x->gain, NULL);
    put_sensor(f, x);
    if (x->is_misaligned)
        put_true_panels(f, x, axes);
    for (size_t i = 0; i < x->ncrystals; i++)
        put_crystal(f, &x->crystals[i], i);
    put_pulses(f, x, rows);
    nxmx_put_rows(f, rows, x);
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

/* Writes the start and end time of the frames in this file.  Frame i begins i seconds after begin_s
 * and takes one second. */
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
    hdf5_note_text(f, "/entry", "version", "1.0");  // version of NXmx
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
    put_detector(f, kind, rows);
    put_truth(f, kind, rows);
    if (kind->cxi)
        nxmx_cxi_layout(f, kind, rows);
}
