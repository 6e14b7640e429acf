#include "io/images/cbf_header.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "base/version.h"
#include "model/beam.h"

/* Of the header in front of the binary part's: fabio looks no further than 8 KiB for the pixels. */
enum { CONTENTS_BYTES = 7680 };
enum { TIME_SIZE = 32, SECONDS_MAX = 2000000000 };
/* Without that line dxtbx takes an Eiger for 0.45 mm thick, and a Pilatus for no detector that
 * counts photons; with a thickness it corrects for a parallax that must be there. */
static const double THIN_M = 1e-9;

/* --- makers -------------------------------------------------------------- */

/* Data sheets; pixels with the gaps between modules. */
static const struct sold {
    enum cbf_header kind;
    const char *name;
    int64_t pixels[2];
    double pixel_m;
} sold[] = {
    {CBF_PILATUS, "PILATUS 100K", {487, 195}, 172e-6},
    {CBF_PILATUS, "PILATUS 200K", {487, 407}, 172e-6},
    {CBF_PILATUS, "PILATUS 300K", {487, 619}, 172e-6},
    {CBF_PILATUS, "PILATUS 300K-W", {1475, 195}, 172e-6},
    {CBF_PILATUS, "PILATUS 1M", {981, 1043}, 172e-6},
    {CBF_PILATUS, "PILATUS 2M", {1475, 1679}, 172e-6},
    {CBF_PILATUS, "PILATUS 6M", {2463, 2527}, 172e-6},
    {CBF_EIGER, "EIGER 500K", {1030, 514}, 75e-6},
    {CBF_EIGER, "EIGER 1M", {1030, 1065}, 75e-6},
    {CBF_EIGER, "EIGER 4M", {2070, 2167}, 75e-6},
    {CBF_EIGER, "EIGER 9M", {3110, 3269}, 75e-6},
    {CBF_EIGER, "EIGER 16M", {4150, 4371}, 75e-6},
    {CBF_EIGER, "EIGER2 500K", {1028, 512}, 75e-6},
    {CBF_EIGER, "EIGER2 1M", {1028, 1062}, 75e-6},
    {CBF_EIGER, "EIGER2 4M", {2068, 2162}, 75e-6},
    {CBF_EIGER, "EIGER2 9M", {3108, 3262}, 75e-6},
    {CBF_EIGER, "EIGER2 16M", {4148, 4362}, 75e-6},
};

static const char *find_sold(enum cbf_header kind, const struct panel *p)
{
    for (size_t i = 0; i < sizeof sold / sizeof *sold; i++)
        if (sold[i].kind == kind && sold[i].pixels[0] == p->fast_pixels &&
            sold[i].pixels[1] == p->slow_pixels && fabs(sold[i].pixel_m - p->pixel_m) < 1e-9)
            return sold[i].name;
    return NULL;
}

enum status cbf_header_check(enum cbf_header kind, const struct experiment *x, struct error *e)
{
    const struct panel *p = x->panels;
    if (kind == CBF_GENERIC || find_sold(kind, p))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "no %s has %" PRId64 " x %" PRId64
                     " pixels of %g mm; headers of kind generic are for all detectors",
                     kind == CBF_PILATUS ? "Pilatus" : "Eiger", p->fast_pixels, p->slow_pixels,
                     m_to_mm(p->pixel_m));
}

enum cbf_header cbf_header_kind(const char *text)
{
    return strstr(text, "\"GENERIC_MINI")      ? CBF_GENERIC
           : strstr(text, "# Detector: EIGER") ? CBF_EIGER
                                               : CBF_PILATUS;
}

/* --- header -------------------------------------------------------------- */

/* Programs want a time of day: frames follow one another by a second, from 1970 on. */
static const char *made_up_time(uint64_t id, char text[TIME_SIZE])
{
    const time_t seconds = (time_t)(id % SECONDS_MAX);
    struct tm t;
    (void)strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &t));
    return text;
}

static void append_detector(struct header_text *h, enum cbf_header kind, const struct panel *p,
                            uint64_t id)
{
    char when[TIME_SIZE];
    const double depth_m = panel_depth_m(p);
    if (kind == CBF_GENERIC) {
        header_append(h, "# Detector: braggpipe " BRAGG_VERSION ", simulated\r\n");
    } else {
        header_append(h, "# Detector: %s, S/N 00-0000, braggpipe " BRAGG_VERSION ", simulated\r\n",
                      find_sold(kind, p));
        header_append(h, "# %s.000\r\n", made_up_time(id, when));
    }
    if (kind != CBF_GENERIC || depth_m > 0.0)
        header_append(h, "# %s sensor, thickness %.9f m\r\n",
                      strcmp(panel_material(p), "Si") == 0 ? "Silicon" : p->material,
                      depth_m > 0.0 ? depth_m : THIN_M);
}

static void append_contents(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                            const struct recipe *r)
{
    const struct panel *p = x->panels;
    const bool limited = x->saturation > 0.0 && x->saturation < INT32_MAX;
    append_detector(h, kind, p, r->id);
    header_append(h, "# Pixel_size %.9g m x %.9g m\r\n", p->pixel_m, p->pixel_m);
    header_append(h, "# Exposure_time 1 s\r\n# Exposure_period 1 s\r\n");
    header_append(h, "# Count_cutoff %.0f counts\r\n", limited ? x->saturation : (double)INT32_MAX);
    header_append(h, "# Wavelength %.9g A\r\n", m_to_angstrom(incident_beam(x, r).mean_m));
    header_append(h, "# Detector_distance %.9g m\r\n", p->distance_m);
    header_append(h, "# Beam_xy (%.9g, %.9g) pixels\r\n", p->beam_fast_m / p->pixel_m,
                  p->beam_slow_m / p->pixel_m);
    header_append(h, "# Start_angle %.9g deg.\r\n# Angle_increment %.9g deg.\r\n",
                  rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad));
    header_append(h, "# Detector_2theta %.9g deg.\r\n# Phi %.9g deg.\r\n",
                  rad_to_deg(p->twotheta_rad), rad_to_deg(r->phi_rad));
    if (!x->beam.no_polarization)
        header_append(h, "# Polarization %.3f\r\n", beam_fraction_along(&x->beam, p->fast));
    header_append(h, "# ADC_offset %.9g counts\r\n", x->adc_offset);
    header_append_truth(h, x, r, CONTENTS_BYTES, &(struct header_style){"# ", " ", "\r\n"});
}

void cbf_header_make(struct header_text *h, enum cbf_header kind, const struct experiment *x,
                     const struct frame *f, size_t bytes)
{
    h->length = 0;
    header_append(h, "###CBF: VERSION 1.5, braggpipe " BRAGG_VERSION "\r\n\r\n");
    header_append(h, "data_frame_%" PRIu64 "\r\n\r\n", f->recipe.id);
    header_append(h,
                  "_array_data.header_convention \"%s\"\r\n"
                  "_array_data.header_contents\r\n;\r\n",
                  kind == CBF_GENERIC ? "GENERIC_MINI_1.0" : "PILATUS_1.2");
    append_contents(h, kind, x, &f->recipe);
    header_append(h, ";\r\n\r\n_array_data.data\r\n;\r\n--CIF-BINARY-FORMAT-SECTION--\r\n");
    header_append(h, "Content-Type: application/octet-stream;\r\n"
                     "     conversions=\"x-CBF_BYTE_OFFSET\"\r\n"
                     "Content-Transfer-Encoding: BINARY\r\n");
    header_append(h, "X-Binary-Size: %zu\r\nX-Binary-ID: 1\r\n", bytes);
    header_append(h, "X-Binary-Element-Type: \"signed 32-bit integer\"\r\n"
                     "X-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\n");
    header_append(h, "X-Binary-Number-of-Elements: %zu\r\n", f->image.count);
    header_append(h, "X-Binary-Size-Fastest-Dimension: %" PRId64 "\r\n", x->panels->fast_pixels);
    header_append(h, "X-Binary-Size-Second-Dimension: %" PRId64 "\r\n", x->panels->slow_pixels);
    header_append(h, "X-Binary-Size-Padding: 4095\r\n\r\n\x0c\x1a\x04\xd5");
}
