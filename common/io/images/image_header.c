#include "io/images/image_header.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "io/images/smv.h"
#include "io/text/filetype.h"

enum { CBF_HEADER_MAX = 1 << 18 };

/* ---- numbers with units ----------------------------------------------------------------- */

/* What a unit is in the unit of the format; the list ends with NULL. */
struct unit {
    const char *name;
    double factor;
};

/* A header, and what was wrong with the first value that cannot be taken. */
struct header {
    const char *path, *text;
    bool smv;
    struct error *e;
    enum status status;
};

static void refuse(struct header *h, const char *key, const char *value, const char *what)
{
    if (!h->status)
        h->status = error_set(h->e, STATUS_INPUT, "%s: header: %s %.*s: %s", h->path, key,
                              (int)strcspn(value, ";\r\n"), value, what);
}

static bool is_of_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* What stands behind a whole key, from `at` on: "KEY=" in SMV, "# KEY" in CBF; NULL: nothing. */
static const char *find_value(const struct header *h, const char *at, const char *key)
{
    const size_t length = strlen(key);
    for (; (at = strstr(at, key)); at++) {
        const char *end = at + length;
        if ((at > h->text && is_of_name(at[-1])) || is_of_name(*end))
            continue;
        end += strspn(end, " \t");
        if (!h->smv)
            return end + strspn(end, ":=( \t");
        if (*end == '=')
            return end + 1 + strspn(end + 1, " \t");
    }
    return NULL;
}

/* The number of a value with a unit of the list; *end behind both. */
static bool take_quantity(const char *value, const struct unit units[], double *number,
                          const char **end)
{
    const char *behind;
    const double x = number_real(value, &behind);
    if (behind == value || !isfinite(x))
        return false;
    const char *unit = behind + strspn(behind, " \t");
    const size_t length = strcspn(unit, " \t\r\n;,()");
    *end = unit + length;
    if (!length && *unit == ',')
        return false;  // of a decimal comma
    if (!length || strncmp(unit, "x", length) == 0) {
        *end = behind;
        *number = x * units[0].factor;
        return true;
    }
    for (size_t i = 0; units[i].name; i++)
        if (strlen(units[i].name) == length && strncmp(unit, units[i].name, length) == 0) {
            *number = x * units[i].factor;
            return true;
        }
    return false;
}

static const struct unit none[] = {{"", 1}, {"counts", 1}, {NULL, 0}};
static const struct unit mm[] = {{"mm", 1e-3}, {"m", 1}, {"um", 1e-6}, {NULL, 0}};
static const struct unit metres[] = {{"m", 1}, {"mm", 1e-3}, {"um", 1e-6}, {NULL, 0}};
static const struct unit angstroms[] = {{"A", 1e-10},        {"Angstrom", 1e-10},
                                        {"angstrom", 1e-10}, {"Angstroms", 1e-10},
                                        {"nm", 1e-9},        {NULL, 0}};
static const struct unit degrees[] = {{"deg.", M_PI / 180},
                                      {"deg", M_PI / 180},
                                      {"degrees", M_PI / 180},
                                      {"degree", M_PI / 180},
                                      {NULL, 0}};

/* The number of a key in SI units, 0 where the header does not have it; all that it says must be
 * the same.  *said: it is there. */
static double value_of(struct header *h, const char *key, const struct unit units[], bool *said)
{
    double first = 0.0, number;
    const char *at = h->text, *value, *end;
    *said = false;
    for (; (value = find_value(h, at, key)) && !h->status; at = value) {
        if (!take_quantity(value, units, &number, &end))
            refuse(h, key, value, "is not a number with a unit that is known");
        else if (*said && number != first)
            refuse(h, key, value, "contradicts another value of the same key");
        else if (!*said)
            first = number;
        *said = true;
    }
    return first;
}

static double real_of(struct header *h, const char *key, const struct unit units[])
{
    bool said;
    return value_of(h, key, units, &said);
}

/* ---- SMV ------------------------------------------------------------------------------ */

static void take_smv_beam(struct header *text, struct image_header *h)
{
    bool has[4];
    const double x_m = value_of(text, "DENZO_X_BEAM", mm, &has[0]);
    const double y_m = value_of(text, "DENZO_Y_BEAM", mm, &has[1]);
    const double center_x_m = value_of(text, "BEAM_CENTER_X", mm, &has[2]);
    const double center_y_m = value_of(text, "BEAM_CENTER_Y", mm, &has[3]);
    if (has[0] && has[1]) {
        h->beam_fast_m = y_m;
        h->beam_slow_m = x_m;
    } else if (!has[2] || !has[3]) {
        return;
    } else if (strstr(text->text, "BEAMLINE=fake")) {
        h->beam_fast_m = center_x_m;
        h->beam_slow_m = (double)h->slow * h->pixel_m - center_y_m;
    } else {
        h->beam_fast_m = center_y_m;
        h->beam_slow_m = center_x_m;
    }
    h->has_beam = true;
}

static enum status read_smv(const char *path, struct image_header *h, struct error *e)
{
    struct smv smv;
    enum status s = smv_read(path, false, &smv, e);
    if (s == STATUS_OK) {
        struct header text = {.path = path, .text = smv.header, .smv = true, .e = e};
        *h = (struct image_header){
            .fast = smv.fast_pixels,
            .slow = smv.slow_pixels,
            .pixel_m = real_of(&text, "PIXEL_SIZE", mm),
            .distance_m = real_of(&text, "DISTANCE", mm),
            .wavelength_m = real_of(&text, "WAVELENGTH", angstroms),
            .phi_rad = real_of(&text, "OSC_START", degrees),
            .osc_rad = real_of(&text, "OSC_RANGE", degrees),
            .twotheta_rad = real_of(&text, "TWOTHETA", degrees),
            .adc_offset = real_of(&text, "ADC_OFFSET", none),
            .saturation = real_of(&text, "CCD_IMAGE_SATURATION", none),
        };
        take_smv_beam(&text, h);
        s = text.status;
    }
    smv_free(&smv);
    return s;
}

/* ---- mini-CBF ------------------------------------------------------------------------- */

/* "(FAST, SLOW) pixels" */
static void take_cbf_beam(struct header *text, struct image_header *h)
{
    const char *value = find_value(text, text->text, "# Beam_xy"), *end = value;
    double px[2] = {0, 0};
    for (int i = 0; value && i < 2; i++) {
        const char *at = end + (i ? strspn(end, ", \t") : 0);
        px[i] = number_real(at, &end);
        if (end == at || !isfinite(px[i]) || (i == 0 && *end != ',')) {
            refuse(text, "# Beam_xy", value, "is not two numbers in pixels");
            return;
        }
    }
    if (!value)
        return;
    end += strspn(end, ") \t");
    if (strcspn(end, "\r\n") && strncmp(end, "pixel", 5) != 0)
        refuse(text, "# Beam_xy", value, "is not two numbers in pixels");
    h->has_beam = true;
    h->beam_fast_m = px[0] * h->pixel_m;
    h->beam_slow_m = px[1] * h->pixel_m;
}

/* "A m x B m": a pixel must be a square. */
static double take_cbf_pixel(struct header *text)
{
    const char *value = find_value(text, text->text, "# Pixel_size"), *end;
    double edge_m[2] = {0, 0};
    if (!value)
        return 0.0;
    if (!take_quantity(value, metres, &edge_m[0], &end)) {
        refuse(text, "# Pixel_size", value, "is not a number with a unit that is known");
        return 0.0;
    }
    end += strspn(end, " \t");
    if (*end != 'x')
        return edge_m[0];
    end += 1 + strspn(end + 1, " \t");
    if (!take_quantity(end, metres, &edge_m[1], &end) ||
        !(fabs(edge_m[1] - edge_m[0]) <= 1e-6 * edge_m[0]))
        refuse(text, "# Pixel_size", value, "is not a square");
    return edge_m[0];
}

static enum status take_cbf(const char *path, const char *bytes, struct image_header *h,
                            struct error *e)
{
    struct header text = {.path = path, .text = bytes, .e = e};
    *h = (struct image_header){
        .fast = (int64_t)real_of(&text, "X-Binary-Size-Fastest-Dimension", none),
        .slow = (int64_t)real_of(&text, "X-Binary-Size-Second-Dimension", none),
        .pixel_m = take_cbf_pixel(&text),
        .distance_m = real_of(&text, "# Detector_distance", metres),
        .wavelength_m = real_of(&text, "# Wavelength", angstroms),
        .phi_rad = real_of(&text, "# Start_angle", degrees),
        .osc_rad = real_of(&text, "# Angle_increment", degrees),
        .twotheta_rad = real_of(&text, "# Detector_2theta", degrees),
        .adc_offset = real_of(&text, "# ADC_offset", none),
        .saturation = real_of(&text, "# Count_cutoff", none),
    };
    take_cbf_beam(&text, h);
    return text.status;
}

static enum status read_cbf(FILE *in, const char *path, struct image_header *h, struct error *e)
{
    char *text = mem_array(CBF_HEADER_MAX + 1, 1);
    if (!text)
        return error_memory(e, path);
    const size_t got = fread(text, 1, CBF_HEADER_MAX, in);
    char *mark = memmem(text, got, "\x0c\x1a\x04\xd5", 4);
    enum status s = STATUS_OK;
    text[got] = 0;
    if (mark) {
        *mark = 0;
        s = take_cbf(path, text, h, e);
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
