#include "io/images/tilted_header.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

#include "base/program.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/recipe.h"

enum { SATURATION_16_BITS = UINT16_MAX };

const char *header_time(uint64_t id, const char *form, char text[HEADER_TIME_SIZE])
{
    enum { SECONDS_MAX = 2000000000 };
    const time_t seconds = (time_t)(id % SECONDS_MAX);
    struct tm t;
    (void)strftime(text, HEADER_TIME_SIZE, form, gmtime_r(&seconds, &t));
    return text;
}

bool header_is_tilted(const struct experiment *x)
{
    static const double SAME_RAD = 1e-5;  // 2 um on a detector at 200 mm
    const struct panel *p = x->panels;
    return fabs(vec_dot(p->fast, x->beam.direction)) > SAME_RAD ||
           fabs(vec_dot(p->slow, x->beam.direction)) > SAME_RAD;
}

/* --- the coordinate system of headers ------------------------------------------------- */

/* Sets the rows of `axes` to the coordinate system of headers: that of NeXus, turned by 180 degrees
 * about y. */
static void find_laboratory(const struct experiment *x, double axes[9])
{
    experiment_nexus_axes(x, axes);
    vec_scale(axes, -1.0, axes);
    vec_scale(axes + 6, -1.0, axes + 6);
}

/* Converts a vector, and multiplies it by a factor. */
static void convert(const double axes[9], const double v[3], double factor, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = factor * vec_dot(axes + 3 * i, v) + 0.0;
}

/* A panel in the coordinate system of headers. */
struct placed {
    double fast[3], slow[3], corner_mm[3], spindle[3];
    double beam_px[2];  // where the beam meets the panel, from the corner of the first pixel
    double beam_mm[3];  // the same place in the laboratory
    double pixel_mm;
    double normal[2];  // across the plane of polarization, in x and y
    double polarized;  // fraction of the photons whose E field is in this plane
    double wavelength_A, start_deg, width_deg, exposure_s;
};

/* Takes the polarization.  Without one, its plane is that of x and z. */
static void take_polarization(const struct beam *b, const double axes[9], struct placed *at)
{
    double across[3], field[3];
    vec_across(b->polarization, b->direction, across);
    if (b->no_polarization || !(vec_unit(across, across) > 1e-6))
        return;
    convert(axes, across, 1, field);
    at->normal[0] = 0.0 - field[1];
    at->normal[1] = field[0];
    at->polarized = beam_fraction_along(b, across);
}

static struct placed place(const struct experiment *x, const struct recipe *r)
{
    static const double MM = 1e3;
    const struct panel *p = x->panels;
    struct placed at = {.beam_px = {p->beam_fast_m / p->pixel_m, p->beam_slow_m / p->pixel_m},
                        .pixel_mm = m_to_mm(p->pixel_m),
                        .normal = {0, 1},
                        .polarized = 0.5,
                        .wavelength_A = m_to_angstrom(incident_beam(x, r).mean_m),
                        .start_deg = rad_to_deg(r->phi_rad),
                        .width_deg = rad_to_deg(r->osc_rad),
                        .exposure_s = beam_exposure_s(&x->beam)};
    double axes[9];
    find_laboratory(x, axes);
    convert(axes, p->fast, 1, at.fast);
    convert(axes, p->slow, 1, at.slow);
    convert(axes, p->origin_m, MM, at.corner_mm);
    convert(axes, x->spindle, 1, at.spindle);
    take_polarization(&x->beam, axes, &at);
    for (int i = 0; i < 3; i++)
        at.beam_mm[i] = at.corner_mm[i] +
                        at.pixel_mm * (at.beam_px[0] * at.fast[i] + at.beam_px[1] * at.slow[i]);
    return at;
}

static double saturation_of(const struct experiment *x, double most)
{
    return x->saturation > 0.0 && x->saturation < most ? floor(x->saturation) : most;
}

/* --- imgCIF ------------------------------------------------------------------------------ */

static void append_loop(struct header_text *h, const char *category, const char *const *items)
{
    header_append(h, "loop_\r\n");
    for (; *items; items++)
        header_append(h, "_%s.%s\r\n", category, *items);
}

#define LOOP(h, category, ...) append_loop(h, category, (const char *const[]){__VA_ARGS__, NULL})

/* Appends the axes: the rotation, the source, and the panel, whose pixels move along ELEMENT_X and
 * ELEMENT_Y from its corner. */
static void append_axes(struct header_text *h, const struct placed *at)
{
    LOOP(h, "axis", "id", "type", "equipment", "depends_on", "vector[1]", "vector[2]", "vector[3]",
         "offset[1]", "offset[2]", "offset[3]");
    header_append(h, "GONIOMETER_PHI rotation goniometer . %.12g %.12g %.12g . . .\r\n",
                  at->spindle[0], at->spindle[1], at->spindle[2]);
    header_append(h, "SOURCE general source . 0 0 1 . . .\r\n"
                     "DETECTOR_Z translation detector . 0 0 -1 0 0 0\r\n");
    header_append(h,
                  "ELEMENT_Y translation detector DETECTOR_Z %.12g %.12g %.12g %.9g %.9g %.9g\r\n",
                  at->slow[0], at->slow[1], at->slow[2], at->corner_mm[0], at->corner_mm[1],
                  at->corner_mm[2] - at->beam_mm[2]);
    header_append(h, "ELEMENT_X translation detector ELEMENT_Y %.12g %.12g %.12g 0 0 0\r\n",
                  at->fast[0], at->fast[1], at->fast[2]);
}

/* Appends the settings of the axes in the scan of one frame. */
static void append_scan(struct header_text *h, const struct placed *at, uint64_t id)
{
    char when[HEADER_TIME_SIZE];
    LOOP(h, "diffrn_scan_axis", "scan_id", "axis_id", "angle_start", "angle_range",
         "angle_increment", "displacement_start", "displacement_range", "displacement_increment");
    header_append(h, "SCAN1 GONIOMETER_PHI %.9g %.9g %.9g 0 0 0\r\n", at->start_deg, at->width_deg,
                  at->width_deg);
    header_append(h, "SCAN1 DETECTOR_Z 0 0 0 %.9g 0 0\r\n", -at->beam_mm[2]);
    LOOP(h, "diffrn_scan_frame", "frame_id", "frame_number", "integration_time", "scan_id", "date");
    header_append(h, "FRAME1 1 %.9g SCAN1 %s\r\n", at->exposure_s,
                  header_time(id, "%Y-%m-%dT%H:%M:%S", when));
    LOOP(h, "diffrn_scan_frame_axis", "frame_id", "axis_id", "angle", "displacement");
    header_append(h, "FRAME1 GONIOMETER_PHI %.9g 0\r\nFRAME1 DETECTOR_Z 0 %.9g\r\n", at->start_deg,
                  -at->beam_mm[2]);
}

/* Appends the array of pixels, and the axes along which it goes.  DIALS masks pixels below the
 * undefined value, such as CBF_MASKED. */
static void append_array(struct header_text *h, const struct placed *at, const struct experiment *x)
{
    const struct panel *p = x->panels;
    LOOP(h, "array_structure_list", "array_id", "index", "dimension", "precedence", "direction",
         "axis_set_id");
    header_append(h,
                  "ARRAY1 1 %" PRId64 " 1 increasing ELEMENT_X\r\n"
                  "ARRAY1 2 %" PRId64 " 2 increasing ELEMENT_Y\r\n",
                  p->fast_pixels, p->slow_pixels);
    LOOP(h, "array_structure_list_axis", "axis_set_id", "axis_id", "displacement",
         "displacement_increment");
    header_append(h, "ELEMENT_X ELEMENT_X 0 %.9g\r\nELEMENT_Y ELEMENT_Y 0 %.9g\r\n", at->pixel_mm,
                  at->pixel_mm);
    LOOP(h, "array_element_size", "array_id", "index", "size");
    header_append(h, "ARRAY1 1 %.9ge-3\r\nARRAY1 2 %.9ge-3\r\n", at->pixel_mm, at->pixel_mm);
    LOOP(h, "array_intensities", "array_id", "binary_id", "linearity", "gain", "gain_esd",
         "overload", "undefined_value");
    header_append(h, "ARRAY1 1 linear 1 . %.0f -1\r\n", saturation_of(x, INT32_MAX));
    header_append(h, "_array_structure.id ARRAY1\r\n"
                     "_array_structure.encoding_type \"signed 32-bit integer\"\r\n"
                     "_array_structure.compression_type packed\r\n"
                     "_array_structure.byte_order little_endian\r\n\r\n");
}

void header_append_imgcif(struct header_text *h, const struct experiment *x, const struct frame *f)
{
    const struct placed at = place(x, &f->recipe);
    header_append(h, "_diffrn.id SIMULATED\r\n_diffrn.crystal_id CRYSTAL\r\n"
                     "_diffrn_source.diffrn_id SIMULATED\r\n_diffrn_source.source simulated\r\n"
                     "_diffrn_source.type 'braggpipe " BRAGG_VERSION "'\r\n"
                     "_diffrn_radiation.diffrn_id SIMULATED\r\n"
                     "_diffrn_radiation.wavelength_id WAVELENGTH1\r\n");
    header_append(h,
                  "_diffrn_radiation.polarizn_source_ratio %.9g\r\n"
                  "_diffrn_radiation.polarizn_source_norm %.9g\r\n"
                  "_diffrn_radiation_wavelength.id WAVELENGTH1\r\n"
                  "_diffrn_radiation_wavelength.wavelength %.9g\r\n"
                  "_diffrn_radiation_wavelength.wt 1\r\n",
                  at.polarized, rad_to_deg(atan2(at.normal[0], at.normal[1])), at.wavelength_A);
    header_append(h, "_diffrn_detector.diffrn_id SIMULATED\r\n_diffrn_detector.id DETECTOR\r\n"
                     "_diffrn_detector.number_of_axes 1\r\n"
                     "_diffrn_detector_axis.detector_id DETECTOR\r\n"
                     "_diffrn_detector_axis.axis_id DETECTOR_Z\r\n"
                     "_diffrn_detector_element.id ELEMENT1\r\n"
                     "_diffrn_detector_element.detector_id DETECTOR\r\n"
                     "_diffrn_data_frame.id FRAME1\r\n"
                     "_diffrn_data_frame.detector_element_id ELEMENT1\r\n"
                     "_diffrn_data_frame.array_id ARRAY1\r\n_diffrn_data_frame.binary_id 1\r\n");
    header_append(h, "_diffrn_measurement.diffrn_id SIMULATED\r\n"
                     "_diffrn_measurement.id GONIOMETER\r\n"
                     "_diffrn_measurement.number_of_axes 1\r\n"
                     "_diffrn_measurement_axis.measurement_id GONIOMETER\r\n"
                     "_diffrn_measurement_axis.axis_id GONIOMETER_PHI\r\n"
                     "_diffrn_scan.id SCAN1\r\n_diffrn_scan.frame_id_start FRAME1\r\n"
                     "_diffrn_scan.frame_id_end FRAME1\r\n_diffrn_scan.frames 1\r\n");
    append_scan(h, &at, f->recipe.id);
    append_axes(h, &at);
    append_array(h, &at, x);
}

/* --- d*TREK ------------------------------------------------------------------------------- */

static void append_vector(struct header_text *h, const char *key, const double v[3])
{
    header_append(h, "%s%.12g %.12g %.12g", key, v[0], v[1], v[2]);
}

void header_append_dtrek(struct header_text *h, const struct experiment *x, const struct frame *f,
                         const char *type)
{
    char when[HEADER_TIME_SIZE];
    const struct placed at = place(x, &f->recipe);
    const struct panel *p = x->panels;
    header_append(h,
                  "Data_type=%s;\nDETECTOR_NUMBER=1;\nDETECTOR_NAMES=A_;\n"
                  "A_DETECTOR_DESCRIPTION=braggpipe " BRAGG_VERSION
                  ", simulated, header of a Saturn;\n",
                  type);
    header_append(h, "A_DETECTOR_DIMENSIONS=%" PRId64 " %" PRId64 ";\nA_DETECTOR_SIZE=%.9g %.9g;\n",
                  p->fast_pixels, p->slow_pixels, (double)p->fast_pixels * at.pixel_mm,
                  (double)p->slow_pixels * at.pixel_mm);
    append_vector(h, "A_DETECTOR_VECTORS=", at.fast);
    append_vector(h, " ", at.slow);
    header_append(h,
                  ";\nA_SPATIAL_BEAM_POSITION=%.9g %.9g;\n"
                  "A_SPATIAL_DISTORTION_TYPE=Simple_spatial;\n"
                  "A_SPATIAL_DISTORTION_INFO=%.12g %.12g %.9g %.9g;\n"
                  "A_SPATIAL_DISTORTION_VECTORS=1 0 0 1;\n",
                  at.beam_px[0], at.beam_px[1], at.beam_px[0], at.beam_px[1], at.pixel_mm,
                  at.pixel_mm);
    header_append(h,
                  "A_GONIO_NUM_VALUES=3;\nA_GONIO_NAMES=TransX TransY TransZ/Dist;\n"
                  "A_GONIO_UNITS=mm mm mm;\nA_GONIO_VECTORS=1 0 0 0 1 0 0 0 -1;\n"
                  "A_GONIO_VALUES=%.9g %.9g %.9g;\n",
                  at.beam_mm[0], at.beam_mm[1], -at.beam_mm[2]);
    header_append(h,
                  "CRYSTAL_GONIO_NUM_VALUES=1;\nCRYSTAL_GONIO_NAMES=Phi;\n"
                  "CRYSTAL_GONIO_UNITS=deg;\nCRYSTAL_GONIO_VALUES=%.9g;\n",
                  at.start_deg);
    append_vector(h, "CRYSTAL_GONIO_VECTORS=", at.spindle);
    header_append(h, ";\nROTATION=%.9g %.9g %.9g %.9g 0 0 0 0 0 0;\nROTATION_AXIS_NAME=Phi;\n",
                  at.start_deg, at.start_deg + at.width_deg, at.width_deg, at.exposure_s);
    append_vector(h, "ROTATION_VECTOR=", at.spindle);
    header_append(h,
                  ";\nSOURCE_VECTORS=0 0 1 0 1 0;\nSOURCE_POLARZ=%.9g %.9g %.9g 0;\n"
                  "SOURCE_WAVELENGTH=1 %.9g;\nSCAN_WAVELENGTH=%.9g;\nSATURATED_VALUE=%.0f;\n"
                  "DTREK_DATE_TIME=%s;\n",
                  at.polarized, at.normal[0], at.normal[1], at.wavelength_A, at.wavelength_A,
                  saturation_of(x, SATURATION_16_BITS),
                  header_time(f->recipe.id, "%d-%b-%Y %H:%M:%S", when));
}
