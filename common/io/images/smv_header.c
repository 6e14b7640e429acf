#include "io/images/smv.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "model/beam.h"

enum { LEGACY_BYTES = 512, MODERN_BYTES = 1024, LEGACY_DIGITS = 6, MODERN_DIGITS = 9 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char byte_order[] = "little_endian";
#else
static const char byte_order[] = "big_endian";
#endif

/* Spaces up to `bytes`; a longer text keeps its length. */
static void pad(struct header_text *h, size_t bytes)
{
    if (h->length < bytes) {
        memset(h->text + h->length, ' ', bytes - h->length);
        h->length = bytes;
    }
}

/* Where the beam hits, as others count: ADXV from the left and the bottom edge, MOSFLM and DENZO
 * along slow and fast, XDS in pixels from 1 at the centre of the first, to the point that is
 * nearest to the sample.  All in mm but that; `digits` that count. */
static void append_centres(struct header_text *h, const struct panel *p, double slow_size_m,
                           int digits)
{
    const double half = 0.5 * p->pixel_m;
    header_append(h, "ADXV_CENTER_X=%.*g;\nADXV_CENTER_Y=%.*g;\n", digits, m_to_mm(p->beam_fast_m),
                  digits, m_to_mm(slow_size_m - p->beam_slow_m));
    header_append(h, "MOSFLM_CENTER_X=%.*g;\nMOSFLM_CENTER_Y=%.*g;\n", digits,
                  m_to_mm(p->beam_slow_m - half), digits, m_to_mm(p->beam_fast_m - half));
    header_append(h, "DENZO_X_BEAM=%.*g;\nDENZO_Y_BEAM=%.*g;\n", digits, m_to_mm(p->beam_slow_m),
                  digits, m_to_mm(p->beam_fast_m));
}

static void append_xds_origin(struct header_text *h, const struct panel *p, int digits)
{
    header_append(h, "XDS_ORGX=%.*g;\nXDS_ORGY=%.*g;\n", digits, p->close_fast_m / p->pixel_m + 0.5,
                  digits, p->close_slow_m / p->pixel_m + 0.5);
}

/* --- nanoBragg's family: %g, 512 bytes --------------------------------------- */

static void begin_legacy(struct header_text *h, const char *type, int64_t fast, int64_t slow,
                         double pixel_m, double distance_m, double wavelength_m)
{
    h->length = 0;
    header_append(h, "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=%s;\nTYPE=%s;\n", byte_order, type);
    header_append(h, "SIZE1=%" PRId64 ";\nSIZE2=%" PRId64 ";\nPIXEL_SIZE=%g;\nDISTANCE=%g;\n", fast,
                  slow, m_to_mm(pixel_m), m_to_mm(distance_m));
    header_append(h, "WAVELENGTH=%g;\n", m_to_angstrom(wavelength_m));
}

static void end_legacy(struct header_text *h)
{
    header_append(h, "DETECTOR_SN=000;\nBEAMLINE=fake;\n}\f");
    pad(h, LEGACY_BYTES);
}

static void append_angles(struct header_text *h, const struct panel *p, double phi_rad,
                          double osc_rad)
{
    header_append(h, "CLOSE_DISTANCE=%g;\n", m_to_mm(p->close_distance_m));
    header_append(h, "PHI=%g;\nOSC_START=%g;\nOSC_RANGE=%g;\nTWOTHETA=%g;\n", rad_to_deg(phi_rad),
                  rad_to_deg(phi_rad), rad_to_deg(osc_rad), rad_to_deg(p->twotheta_rad));
}

void smv_header_nanobragg(struct header_text *h, const struct panel *p, double slow_size_m,
                          double wavelength_m, double phi_rad, double osc_rad)
{
    begin_legacy(h, "unsigned_short", p->fast_pixels, p->slow_pixels, p->pixel_m, p->distance_m,
                 wavelength_m);
    header_append(h, "BEAM_CENTER_X=%g;\nBEAM_CENTER_Y=%g;\n", p->beam_x_mm, p->beam_y_mm);
    append_centres(h, p, slow_size_m, LEGACY_DIGITS);
    header_append(h, "DIALS_ORIGIN=%g,%g,%g\n", m_to_mm(p->origin_m[2]), m_to_mm(p->origin_m[1]),
                  m_to_mm(-p->origin_m[0]));
    append_xds_origin(h, p, LEGACY_DIGITS);
    append_angles(h, p, phi_rad, osc_rad);
    end_legacy(h);
}

void smv_header_nonbragg(struct header_text *h, const struct panel *p, double slow_size_m,
                         double wavelength_m, double phi_rad, double osc_rad)
{
    begin_legacy(h, "unsigned_short", p->fast_pixels, p->slow_pixels, p->pixel_m, p->distance_m,
                 wavelength_m);
    header_append(h, "BEAM_CENTER_X=%g;\nBEAM_CENTER_Y=%g;\n", m_to_mm(p->beam_fast_m),
                  m_to_mm(slow_size_m - p->beam_slow_m));
    header_append(h, "ORGX=%g;\nORGY=%g;\n", p->close_fast_m / p->pixel_m,
                  p->close_slow_m / p->pixel_m);
    append_angles(h, p, phi_rad, osc_rad);
    end_legacy(h);
}

void smv_header_noisify(struct header_text *h, const struct smv_noisify *n)
{
    begin_legacy(h, n->bits == 32 ? "long_integer" : "unsigned_short", n->fast_pixels,
                 n->slow_pixels, n->pixel_m, n->distance_m, n->wavelength_m);
    header_append(h, "BEAM_CENTER_X=%g;\nBEAM_CENTER_Y=%g;\n", m_to_mm(n->beam_x_m),
                  m_to_mm(n->beam_y_m));
    header_append(h, "PHI=%g;\nOSC_START=%g;\nOSC_RANGE=%g;\n", n->phi_deg, n->phi_deg, n->osc_deg);
    end_legacy(h);
}

/* --- ours: %.9g, 1024 bytes or more ------------------------------------------- */

static const char *type_name(const struct image *image)
{
    if (!image->pixels)
        return "unsigned_short";
    switch (image->type) {
    case PIXEL_F32:
        return "float";
    case PIXEL_U32:
        return "unsigned_long";
    case PIXEL_I32:
        return "signed_long";
    case PIXEL_U16:
        break;
    }
    return "unsigned_short";
}

/* BEAM_CENTER is what dxtbx makes of it in a file of BEAMLINE=fake, FormatSMVJHSim: it puts the
 * beam at X + pixel along fast and at height - Y + pixel along slow, both from the outer corner
 * of the first pixel.  That is ADXV_CENTER less a pixel along fast and slow. */
static void append_geometry(struct header_text *h, const struct experiment *x,
                            const struct recipe *r)
{
    const struct panel *p = x->panels;
    double height_m = (double)p->slow_pixels * p->pixel_m;
    header_append(h, "SIZE1=%" PRId64 ";\nSIZE2=%" PRId64 ";\n", p->fast_pixels, p->slow_pixels);
    header_append(h, "PIXEL_SIZE=%.9g;\nDISTANCE=%.9g;\n", m_to_mm(p->pixel_m),
                  m_to_mm(p->distance_m));
    header_append(h, "WAVELENGTH=%.9g;\n", m_to_angstrom(incident_beam(x, r).mean_m));
    header_append(h, "BEAM_CENTER_X=%.9g;\nBEAM_CENTER_Y=%.9g;\n",
                  m_to_mm(p->beam_fast_m - p->pixel_m),
                  m_to_mm(height_m + p->pixel_m - p->beam_slow_m));
    append_centres(h, p, height_m, MODERN_DIGITS);
    append_xds_origin(h, p, MODERN_DIGITS);
    header_append(h, "PHI=%.9g;\nOSC_START=%.9g;\nOSC_RANGE=%.9g;\nTWOTHETA=%.9g;\n",
                  rad_to_deg(r->phi_rad), rad_to_deg(r->phi_rad), rad_to_deg(r->osc_rad),
                  rad_to_deg(p->twotheta_rad));
    header_append(h, "ADC_OFFSET=%.9g;\nDETECTOR_SN=000;\nBEAMLINE=fake;\n", x->adc_offset);
}

enum status smv_header_modern(struct header_text *h, const struct experiment *x,
                              const struct frame *f, struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT, "an SMV file holds one panel, the detector has %zu",
                         x->npanels);
    /* The length stands inside the text: write, and write again if it grew. */
    size_t bytes = MODERN_BYTES;
    for (;;) {
        h->length = 0;
        header_append(h, "{\nHEADER_BYTES=%zu;\nDIM=2;\nBYTE_ORDER=%s;\nTYPE=%s;\n", bytes,
                      byte_order, type_name(&f->image));
        append_geometry(h, x, &f->recipe);
        header_append_truth(h, x, &f->recipe, SIZE_MAX, &(struct header_style){"", "=", ";\n"});
        header_append(h, "}\n\f");
        if (h->length <= bytes)
            break;
        bytes += LEGACY_BYTES;
    }
    pad(h, bytes);
    return STATUS_OK;
}

/* --- files -------------------------------------------------------------------- */

static enum status write_frame(FILE *out, const struct header_text *h, const struct experiment *x,
                               const struct image *image, struct error *e)
{
    size_t pixels = (size_t)(x->panels->fast_pixels * x->panels->slow_pixels);
    if (!image->pixels || image->count != pixels)
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, its panel %zu",
                         image->pixels ? image->count : 0, pixels);
    if (fwrite(h->text, 1, h->length, out) != h->length ||
        fwrite(image->pixels, pixel_size(image->type), pixels, out) != pixels)
        return error_errno(e, STATUS_FAILED, "cannot write an SMV image");
    return STATUS_OK;
}

enum status smv_write_modern(FILE *out, const struct experiment *x, const struct frame *f,
                             struct error *e)
{
    struct header_text h;
    enum status status = smv_header_modern(&h, x, f, e);
    return status ? status : write_frame(out, &h, x, &f->image, e);
}

enum status smv_write_nanobragg(FILE *out, const struct experiment *x, const struct frame *f,
                                struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT, "an SMV file holds one panel, the detector has %zu",
                         x->npanels);
    if (f->image.type != PIXEL_U16)
        return error_set(e, STATUS_INPUT, "nanoBragg's header is for 16-bit images only");
    struct header_text h;
    const struct panel *p = x->panels;
    smv_header_nanobragg(&h, p, (double)p->slow_pixels * p->pixel_m, x->beam.wavelength_m,
                         f->recipe.phi_rad, f->recipe.osc_rad);
    return write_frame(out, &h, x, &f->image, e);
}
