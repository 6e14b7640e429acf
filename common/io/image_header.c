#include "io/image_header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/units.h"
#include "io/filetype.h"
#include "io/smv.h"

enum { CBF_HEADER_MAX = 1 << 18 };

/* ---- SMV ------------------------------------------------------------------------------ */

static double smv_number(const struct smv *smv, const char *key, double otherwise)
{
    (void)smv_value(smv, key, &otherwise);
    return otherwise;
}

static void take_smv_beam(const struct smv *smv, struct image_header *h)
{
    double x_mm, y_mm;
    if (smv_value(smv, "DENZO_X_BEAM", &x_mm) && smv_value(smv, "DENZO_Y_BEAM", &y_mm)) {
        h->beam_fast_m = mm_to_m(y_mm);
        h->beam_slow_m = mm_to_m(x_mm);
    } else if (!smv_value(smv, "BEAM_CENTER_X", &x_mm) || !smv_value(smv, "BEAM_CENTER_Y", &y_mm)) {
        return;
    } else if (strstr(smv->header, "BEAMLINE=fake")) {
        h->beam_fast_m = mm_to_m(x_mm);
        h->beam_slow_m = (double)h->slow * h->pixel_m - mm_to_m(y_mm);
    } else {
        h->beam_fast_m = mm_to_m(y_mm);
        h->beam_slow_m = mm_to_m(x_mm);
    }
    h->has_beam = true;
}

static enum status read_smv(const char *path, struct image_header *h, struct error *e)
{
    struct smv smv;
    const enum status s = smv_read(path, false, &smv, e);
    if (s == STATUS_OK) {
        *h = (struct image_header){
            .fast = smv.fast_pixels,
            .slow = smv.slow_pixels,
            .pixel_m = mm_to_m(smv_number(&smv, "PIXEL_SIZE", 0.0)),
            .distance_m = mm_to_m(smv_number(&smv, "DISTANCE", 0.0)),
            .wavelength_m = angstrom_to_m(smv_number(&smv, "WAVELENGTH", 0.0)),
            .phi_rad = deg_to_rad(smv_number(&smv, "OSC_START", 0.0)),
            .osc_rad = deg_to_rad(smv_number(&smv, "OSC_RANGE", 0.0)),
            .twotheta_rad = deg_to_rad(smv_number(&smv, "TWOTHETA", 0.0)),
            .adc_offset = smv_number(&smv, "ADC_OFFSET", 0.0),
            .saturation = smv_number(&smv, "CCD_IMAGE_SATURATION", 0.0),
        };
        take_smv_beam(&smv, h);
    }
    smv_free(&smv);
    return s;
}

/* ---- mini-CBF ------------------------------------------------------------------------- */

/* The number behind a key of the header, and perhaps a bracket; false when there is none. */
static bool cbf_number(const char *text, const char *key, double *value, const char **behind)
{
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " :=(");
    const char *end;
    const double x = number_real(at, &end);
    if (end == at)
        return false;
    *value = x;
    *behind = end;
    return true;
}

/* A length in m, of which mm may be said. */
static double cbf_length_m(const char *text, const char *key)
{
    const char *behind;
    double value = 0.0;
    if (!cbf_number(text, key, &value, &behind))
        return 0.0;
    return strncmp(behind, " mm", 3) == 0 ? mm_to_m(value) : value;
}

static double cbf_value(const char *text, const char *key)
{
    const char *behind;
    double value = 0.0;
    (void)cbf_number(text, key, &value, &behind);
    return value;
}

static void take_cbf(const char *text, struct image_header *h)
{
    const char *behind;
    double fast_px, slow_px;
    *h = (struct image_header){
        .fast = (int64_t)cbf_value(text, "X-Binary-Size-Fastest-Dimension:"),
        .slow = (int64_t)cbf_value(text, "X-Binary-Size-Second-Dimension:"),
        .pixel_m = cbf_length_m(text, "# Pixel_size"),
        .distance_m = cbf_length_m(text, "# Detector_distance"),
        .wavelength_m = angstrom_to_m(cbf_value(text, "# Wavelength")),
        .phi_rad = deg_to_rad(cbf_value(text, "# Start_angle")),
        .osc_rad = deg_to_rad(cbf_value(text, "# Angle_increment")),
        .twotheta_rad = deg_to_rad(cbf_value(text, "# Detector_2theta")),
        .adc_offset = cbf_value(text, "# ADC_offset"),
        .saturation = cbf_value(text, "# Count_cutoff"),
    };
    if (cbf_number(text, "# Beam_xy", &fast_px, &behind) && *behind == ',') {
        const char *end;
        slow_px = number_real(behind + 1, &end);
        h->has_beam = end != behind + 1;
        h->beam_fast_m = fast_px * h->pixel_m;
        h->beam_slow_m = slow_px * h->pixel_m;
    }
}

static enum status read_cbf(FILE *in, const char *path, struct image_header *h, struct error *e)
{
    char *text = mem_array(CBF_HEADER_MAX + 1, 1);
    if (!text)
        return error_memory(e, path);
    const size_t got = fread(text, 1, CBF_HEADER_MAX, in);
    char *mark = memmem(text, got, "\x0c\x1a\x04\xd5", 4);
    enum status s = STATUS_OK;
    if (mark) {
        *mark = 0;
        take_cbf(text, h);
    } else {
        s = error_set(e, STATUS_INPUT, "%s: no CBF: no binary part", path);
    }
    mem_free(text);
    return s;
}

/* ---- both ----------------------------------------------------------------------------- */

static enum status check(const char *path, const struct image_header *h, struct error *e)
{
    const struct {
        const char *name;
        double value, least, most;
    } rows[] = {
        {"pixels along fast", (double)h->fast, 1, 1 << 20},
        {"pixels along slow", (double)h->slow, 1, 1 << 20},
        {"edge of a pixel, m", h->pixel_m, 0, 1},
        {"distance, m", h->distance_m, 0, 1e6},
        {"wavelength, m", h->wavelength_m, 0, 1e-6},
        {"beam along fast, m", h->beam_fast_m, -1e3, 1e3},
        {"beam along slow, m", h->beam_slow_m, -1e3, 1e3},
        {"two-theta, rad", h->twotheta_rad, -7, 7},
        {"rotation, rad", h->osc_rad, -1e3, 1e3},
        {"start of the rotation, rad", h->phi_rad, -1e6, 1e6},
        {"saturation", h->saturation, 0, 1e12},
        {"offset", h->adc_offset, -1e12, 1e12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!(rows[i].value >= rows[i].least && rows[i].value <= rows[i].most))
            return error_set(e, STATUS_INPUT, "%s: header: %s: %g, must be from %g to %g", path,
                             rows[i].name, rows[i].value, rows[i].least, rows[i].most);
    return STATUS_OK;
}

enum status image_header_read(const char *path, struct image_header *h, struct error *e)
{
    char first[512];
    *h = (struct image_header){0};
    FILE *in = fopen(path, "rbe");
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    const enum filetype type = filetype_of(first, fread(first, 1, sizeof first, in));
    rewind(in);
    enum status s = type == FILETYPE_CBF ? read_cbf(in, path, h, e) : STATUS_OK;
    (void)fclose(in);
    if (type != FILETYPE_CBF)
        s = read_smv(path, h, e);
    return s ? s : check(path, h, e);
}
