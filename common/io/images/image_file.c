#include "io/images/image_file.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "io/images/cbf.h"
#include "io/images/edf.h"
#include "io/images/header_axes.h"
#include "io/images/smv.h"
#include "io/images/stream2.h"
#include "io/images/tiff.h"

enum { CBF_HEADER_MAX = 1 << 18 };

/* ---- headers: numbers with units
 * ----------------------------------------------------------------- */

/* A unit of a list: its name, and the factor that converts a value to SI units.  The first unit
 * of a list is the default of the format.  A list ends with the name NULL. */
struct unit {
    const char *name;
    double factor;
};

/* A header that is being read.  *e and `status` hold the error about the first value that is not
 * valid. */
struct header {
    const char *path, *text;
    bool smv;
    struct error *e;
    enum status status;
};

static void refuse_value(struct header *h, const char *key, const char *value, const char *what)
{
    if (!h->status)
        h->status = error_set(h->e, STATUS_INPUT, "%s: header: %s %.*s: %s", h->path, key,
                              (int)strcspn(value, ";\r\n"), value, what);
}

static bool is_of_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the text after the next occurrence of a key, from `at` on.  The key must be a whole
 * word.  In SMV the form is "KEY=", in CBF "KEY" with optional `:`, `=` or `(` after it.  NULL:
 * the key does not occur. */
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

/* Parses a number with a unit from the list.  The default unit may be missing.  *number is in SI
 * units.  *end is the place after number and unit.  Returns false if the text is not a number
 * with such a unit. */
static bool parse_quantity(const char *value, const struct unit units[], double *number,
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
        return false;  // a comma after the number is a decimal comma
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

/* Returns the value of a key in SI units; 0 if the header does not have the key.  If the key
 * occurs several times, all values must be equal.  *said: the header has the key. */
static double value_of(struct header *h, const char *key, const struct unit units[], bool *said)
{
    double first = 0.0, number;
    const char *at = h->text, *value, *end;
    *said = false;
    for (; (value = find_value(h, at, key)) && !h->status; at = value) {
        if (!parse_quantity(value, units, &number, &end))
            refuse_value(h, key, value, "is not a number with a known unit");
        else if (*said && number != first)
            refuse_value(h, key, value, "contradicts another value of the same key");
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

/* ---- panels that headers place by axes ------------------------------------------------------ */

/* Sets distance and beam position to those of the panel: where the beam meets its plane. */
static void find_beam(struct image_header *h)
{
    double normal[3];
    vec_cross(h->fast_axis, h->slow_axis, normal);
    const double near_m = vec_dot(normal, h->corner_m);
    h->distance_m = fabs(normal[2]) > 1e-6 ? near_m / normal[2] : fabs(near_m);
    const double to_beam[3] = {-h->corner_m[0], -h->corner_m[1], h->distance_m - h->corner_m[2]};
    h->beam_fast_m = vec_dot(h->fast_axis, to_beam);
    h->beam_slow_m = vec_dot(h->slow_axis, to_beam);
    h->has_beam = true;
}

/* Takes a panel, and checks it against the other entries of the header. */
static enum status take_panel(const char *path, const double fast[3], const double slow[3],
                              const double corner_m[3], double pixel_m, struct image_header *h,
                              struct error *e)
{
    if (h->pixel_m > 0 && !(fabs(h->pixel_m / pixel_m - 1) < 1e-3))
        return error_set(e, STATUS_INPUT,
                         "%s: header: pixels of %g mm, but those of the axes have %g mm", path,
                         m_to_mm(h->pixel_m), m_to_mm(pixel_m));
    vec_copy(h->fast_axis, fast);
    vec_copy(h->slow_axis, slow);
    vec_copy(h->corner_m, corner_m);
    h->pixel_m = pixel_m;
    h->has_panel = true;
    find_beam(h);
    double normal[3];
    vec_cross(fast, slow, normal);
    if (fabs(sin(h->twotheta_rad)) > 1e-6 && fabs(normal[2]) > 1 - 1e-12)
        return error_set(e, STATUS_INPUT,
                         "%s: header: 2theta is %.6g deg, but the axes do not turn the detector",
                         path, rad_to_deg(h->twotheta_rad));
    return STATUS_OK;
}

/* ---- headers of SMV
 * ------------------------------------------------------------------------------ */

static void find_smv_beam(struct header *text, struct image_header *h)
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

/* Takes what the axes of a header say about the detector and the scan.  Plain keys of the header
 * say the wavelength and the rotation first. */
static enum status take_axes(const char *path, const struct header_axes *a, struct image_header *h,
                             struct error *e)
{
    if (!a->has_panel)
        return STATUS_OK;
    h->wavelength_m = h->wavelength_m > 0 ? h->wavelength_m : a->wavelength_m;
    if (a->has_rotation && h->osc_rad == 0) {
        h->phi_rad = a->phi_rad;
        h->osc_rad = a->osc_rad;
    }
    return take_panel(path, a->fast, a->slow, a->corner_m, a->pixel_m, h, e);
}

static enum status read_smv_header(const char *path, struct image_header *h, struct error *e)
{
    struct smv smv;
    struct header_axes axes;
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
        find_smv_beam(&text, h);
        s = text.status;
        s = s ? s : smv_axes_read(path, smv.header, &axes, e);
        s = s ? s : take_axes(path, &axes, h, e);
    }
    smv_free(&smv);
    return s;
}

/* ---- headers of mini-CBF
 * ------------------------------------------------------------------------- */

static const char CBF_SENSOR[] = "sensor, thickness";

/* Reads the beam position from a mini-CBF header: `# Beam_xy (FAST, SLOW) pixels`. */
static void find_cbf_beam(struct header *text, struct image_header *h)
{
    const char *value = find_value(text, text->text, "# Beam_xy"), *end = value;
    double px[2] = {0, 0};
    for (int i = 0; value && i < 2; i++) {
        const char *at = end + (i ? strspn(end, ", \t") : 0);
        px[i] = number_real(at, &end);
        if (end == at || !isfinite(px[i]) || (i == 0 && *end != ',')) {
            refuse_value(text, "# Beam_xy", value, "is not two numbers in pixels");
            return;
        }
    }
    if (!value)
        return;
    end += strspn(end, ") \t");
    if (strcspn(end, "\r\n") && strncmp(end, "pixel", 5) != 0)
        refuse_value(text, "# Beam_xy", value, "is not two numbers in pixels");
    h->has_beam = true;
    h->beam_fast_m = px[0] * h->pixel_m;
    h->beam_slow_m = px[1] * h->pixel_m;
}

/* Returns the edge of a pixel in m from a mini-CBF header: `# Pixel_size A m x B m`.  The pixel
 * must be a square.  0: the header does not have the key. */
static double find_cbf_pixel(struct header *text)
{
    const char *value = find_value(text, text->text, "# Pixel_size"), *end;
    double edge_m[2] = {0, 0};
    if (!value)
        return 0.0;
    if (!parse_quantity(value, metres, &edge_m[0], &end)) {
        refuse_value(text, "# Pixel_size", value, "is not a number with a known unit");
        return 0.0;
    }
    end += strspn(end, " \t");
    if (*end != 'x')
        return edge_m[0];
    end += 1 + strspn(end + 1, " \t");
    if (!parse_quantity(end, metres, &edge_m[1], &end) ||
        !(fabs(edge_m[1] - edge_m[0]) <= 1e-6 * edge_m[0]))
        refuse_value(text, "# Pixel_size", value, "is not a square");
    return edge_m[0];
}

/* Reads the material of the sensor from a mini-CBF header: `# MATERIAL sensor, thickness T m`. */
static void find_cbf_material(struct header *text, struct image_header *h)
{
    const char *end = find_value(text, text->text, CBF_SENSOR);
    if (!end)
        return;
    while (strncmp(end, CBF_SENSOR, sizeof CBF_SENSOR - 1) != 0)
        end--;
    const char *begin = end;
    while (begin > text->text && begin[-1] != '\n')
        begin--;
    begin += strspn(begin, "# \t");
    (void)snprintf(h->material, sizeof h->material, "%.*s", (int)(end - begin), begin);
    h->material[strcspn(h->material, " \t")] = '\0';
    if (strcasecmp(h->material, "silicon") == 0)
        (void)snprintf(h->material, sizeof h->material, "Si");
}

/* Reads the name of the detector from a mini-CBF header: `# Detector: NAME, S/N NUMBER`. */
static void find_cbf_name(struct header *text, struct image_header *h)
{
    const char *value = find_value(text, text->text, "# Detector");
    if (value)
        (void)snprintf(h->detector, sizeof h->detector, "%.*s", (int)strcspn(value, "\r\n"), value);
}

static enum status parse_cbf_header(const char *path, const char *bytes, struct image_header *h,
                                    struct error *e)
{
    struct header text = {.path = path, .text = bytes, .e = e};
    *h = (struct image_header){
        .fast = (int64_t)real_of(&text, "X-Binary-Size-Fastest-Dimension", none),
        .slow = (int64_t)real_of(&text, "X-Binary-Size-Second-Dimension", none),
        .pixel_m = find_cbf_pixel(&text),
        .distance_m = real_of(&text, "# Detector_distance", metres),
        .wavelength_m = real_of(&text, "# Wavelength", angstroms),
        .phi_rad = real_of(&text, "# Start_angle", degrees),
        .osc_rad = real_of(&text, "# Angle_increment", degrees),
        .twotheta_rad = real_of(&text, "# Detector_2theta", degrees),
        .adc_offset = real_of(&text, "# ADC_offset", none),
        .saturation = real_of(&text, "# Count_cutoff", none),
        .thickness_m = real_of(&text, CBF_SENSOR, metres),
    };
    find_cbf_beam(&text, h);
    find_cbf_material(&text, h);
    find_cbf_name(&text, h);
    struct header_axes axes;
    enum status s = text.status;
    s = s ? s : cbf_axes_read(path, bytes, &axes, e);
    return s ? s : take_axes(path, &axes, h, e);
}

/* Reads the text of a CBF file up to its binary part.  Does not read the pixels, because a
 * series has many files.  Returns false if there is no binary part within CBF_HEADER_MAX bytes. */
static bool read_cbf_text(FILE *in, char *text)
{
    enum { BLOCK = 4096, MARK = 4 };
    size_t got = 0, n;
    while (got < CBF_HEADER_MAX && (n = fread(text + got, 1, BLOCK, in)) > 0) {
        const size_t from = got < MARK ? 0 : got - MARK;
        got += n;
        char *mark = memmem(text + from, got - from, "\x0c\x1a\x04\xd5", MARK);
        if (mark) {
            *mark = 0;
            return true;
        }
    }
    return false;
}

static enum status read_cbf_header(FILE *in, const char *path, struct image_header *h,
                                   struct error *e)
{
    char *text = mem_array(CBF_HEADER_MAX + 1, 1);
    const enum status s =
        read_cbf_text(in, text)
            ? parse_cbf_header(path, text, h, e)
            : error_set(e, STATUS_INPUT, "%s: not a CBF file: the binary part is missing", path);
    mem_free(text);
    return s;
}

/* ---- headers ----------------------------------------------------------------------------- */

static enum status check_header(const char *path, const struct image_header *h, struct error *e)
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
        {"thickness of the sensor, m", h->thickness_m, 0, 1},
        {"offset", h->adc_offset, -1e12, 1e12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!(rows[i].value >= rows[i].least && rows[i].value <= rows[i].most))
            return error_set(e, STATUS_INPUT, "%s: header: %s: %g; expected a value from %g to %g",
                             path, rows[i].name, rows[i].value, rows[i].least, rows[i].most);
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
    struct stat st = {0};
    const size_t size = fstat(fileno(in), &st) ? 0 : (size_t)st.st_size;
    enum status s = type == FILETYPE_CBF    ? read_cbf_header(in, path, h, e)
                    : type == FILETYPE_TIFF ? tiff_header(in, path, size, h, e)
                    : type == FILETYPE_EDF  ? edf_header(in, path, size, h, e)
                    : type == FILETYPE_CBOR ? stream2_header(in, path, size, h, e)
                                            : STATUS_OK;
    (void)fclose(in);
    if (type != FILETYPE_CBF && type != FILETYPE_TIFF && type != FILETYPE_EDF &&
        type != FILETYPE_CBOR)
        s = read_smv_header(path, h, e);
    return s ? s : check_header(path, h, e);
}

/* ---- pixels ----------------------------------------------------------------------------- */

static enum status read_pixels(FILE *in, const char *path, long offset, enum pixel_type type,
                               size_t count, struct image *image, struct error *e)
{
    if (!image_reserve(image, type, type == PIXEL_F32 ? UNIT_PHOTONS : UNIT_ADU, count))
        return error_memory(e, path);
    if (fseek(in, offset, SEEK_SET) || fread(image->pixels, pixel_size(type), count, in) != count)
        return error_set(e, STATUS_INPUT, "%s: cannot read %zu pixels", path, count);
    return STATUS_OK;
}

static void swap_bytes(struct image *image)
{
    uint16_t *two = image->pixels;
    uint32_t *four = image->pixels;
    for (size_t i = 0; i < image->count; i++)
        if (image->type == PIXEL_U16)
            two[i] = __builtin_bswap16(two[i]);
        else
            four[i] = __builtin_bswap32(four[i]);
}

/* Checks that no pixel is stored in the compressed form that d*TREK uses for image plates.
 * There, values above 32767 stand for a larger count, divided by RAXIS_COMPRESSION_RATIO.  A file
 * whose pixels are all below this limit can be read. */
static enum status check_ratio(const char *path, const struct smv *smv, const struct image *image,
                               struct error *e)
{
    enum { PLAIN_MAX = 32767 };
    double ratio = 1.0;
    if (image->type != PIXEL_U16 || !smv_value(smv, "RAXIS_COMPRESSION_RATIO", &ratio) ||
        ratio == 1.0)
        return STATUS_OK;
    for (size_t i = 0; i < image->count; i++)
        if (((const uint16_t *)image->pixels)[i] > PLAIN_MAX)
            return error_set(e, STATUS_INPUT,
                             "%s: pixel %zu is stored with RAXIS_COMPRESSION_RATIO=%g, which "
                             "cannot be read; expected 1",
                             path, i, ratio);
    return STATUS_OK;
}

/* Finds the type of the pixels, and checks the length of the file against it.  If the header does
 * not name a type, pixels of two bytes are unsigned_short, as in other programs.  Without a type,
 * pixels of four bytes are an error. */
static enum status find_type(const char *path, const struct smv *smv, size_t size,
                             enum pixel_type *type, struct error *e)
{
    bool said;
    *type = PIXEL_U16;
    const enum status s = smv_type(path, smv, type, &said, e);
    if (s)
        return s;
    const size_t count = (size_t)smv->fast_pixels * (size_t)smv->slow_pixels;
    if (!said && size == smv->header_bytes + 4 * count)
        return error_set(e, STATUS_INPUT,
                         "%s: header: no TYPE, and pixels have 4 bytes; expected "
                         "TYPE=unsigned_long, signed_long, long_integer or float",
                         path);
    return smv_check_bytes(path, smv, size, pixel_size(*type), e);
}

static enum status read_smv(FILE *in, const char *path, size_t size, struct image_file *f,
                            struct error *e)
{
    struct smv smv;
    enum pixel_type type = PIXEL_U16;
    bool big = false;
    enum status s = smv_read(path, false, &smv, e);
    s = s ? s : find_type(path, &smv, size, &type, e);
    s = s ? s : smv_is_big_endian(path, &smv, &big, e);
    if (s == STATUS_OK) {
        f->fast = smv.fast_pixels;
        f->slow = smv.slow_pixels;
        s = read_pixels(in, path, (long)smv.header_bytes, type, (size_t)f->fast * (size_t)f->slow,
                        &f->image, e);
    }
    if (!s && big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
        swap_bytes(&f->image);
    s = s ? s : check_ratio(path, &smv, &f->image, e);
    smv_free(&smv);
    return s;
}

/* Returns true if the first bytes are text: all of them are printable.  Pixels almost never are. */
static bool is_text(const char *first, size_t n)
{
    enum { LEAST = 16 };
    size_t i = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < n && (isprint((unsigned char)first[i]) || isspace((unsigned char)first[i])))
        i++;
    return n >= LEAST && i == n;
}

/* Checks that a file can be raw pixels.  Raw pixels have no signature.  STATUS_INPUT: the first n
 * bytes are those of another format, or are text.  The length of the file does not matter. */
static enum status refuse_other_formats(const char *path, const char *first, size_t n,
                                        struct error *e)
{
    const enum filetype type = filetype_of(first, n);
    if (type != FILETYPE_OTHER)
        return filetype_check(path, type, FILETYPE_PIXELS, e);
    if (is_text(first, n))
        return error_set(e, STATUS_INPUT,
                         "%s: is text; expected SMV, CBF, TIFF, EDF or float32 pixels", path);
    return STATUS_OK;
}

static enum status read_file(FILE *in, const char *path, struct image_file *f, struct error *e)
{
    struct stat st;
    if (fstat(fileno(in), &st))
        return error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: not an ordinary file; expected an image", path);
    const size_t size = (size_t)st.st_size;
    char first[512] = {0};
    const size_t got = fread(first, 1, sizeof first, in);
    rewind(in);
    const enum filetype type = filetype_of(first, got);
    if (type == FILETYPE_SMV)
        return read_smv(in, path, size, f, e);
    if (type == FILETYPE_CBF)
        return cbf_read(in, path, size, f, e);
    if (type == FILETYPE_TIFF)
        return tiff_read(in, path, size, f, e);
    if (type == FILETYPE_EDF)
        return edf_read(in, path, size, f, e);
    if (type == FILETYPE_CBOR)
        return stream2_read(in, path, size, f, e);
    const enum status s = refuse_other_formats(path, first, got, e);
    if (s)
        return s;
    if (size == 0 || size % sizeof(float))
        return error_set(
            e, STATUS_INPUT,
            "%s: %zu bytes of an unknown format; expected SMV, CBF or whole float32 pixels", path,
            size);
    return read_pixels(in, path, 0, PIXEL_F32, size / sizeof(float), &f->image, e);
}

enum status image_file_read(const char *path, struct image_file *f, struct error *e)
{
    *f = (struct image_file){0};
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: not an ordinary file; expected an image", path);
    FILE *in = fopen(path, "rbe");
    if (!in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    enum status s = read_file(in, path, f, e);
    (void)fclose(in);
    if (s && e)
        e->status = s = STATUS_INPUT;
    if (s)
        image_free(&f->image);
    return s;
}

/* ---- writing raw pixels ----------------------------------------------------------------- */

/* Converts the pixels first .. first + n - 1 to float32.  Each type has its own loop, so that the
 * compiler can vectorise the loops. */
static void to_floats(const struct image *image, size_t first, size_t n, float *restrict out)
{
    const uint16_t *u16 = (const uint16_t *)image->pixels + first;
    const uint32_t *u32 = (const uint32_t *)image->pixels + first;
    const int32_t *i32 = (const int32_t *)image->pixels + first;
    if (image->type == PIXEL_U16)
        for (size_t i = 0; i < n; i++)
            out[i] = (float)u16[i];
    else if (image->type == PIXEL_U32)
        for (size_t i = 0; i < n; i++)
            out[i] = (float)u32[i];
    else
        for (size_t i = 0; i < n; i++)
            out[i] = (float)i32[i];
}

enum status raw_write(FILE *out, const struct image *image, const char *path, struct error *e)
{
    enum { BLOCK = 16384 };
    float block[BLOCK];
    const bool as_it_is = image->type == PIXEL_F32;
    for (size_t done = 0, n; done < image->count; done += n) {
        n = as_it_is || image->count - done < BLOCK ? image->count - done : BLOCK;
        if (!as_it_is)
            to_floats(image, done, n, block);
        if (fwrite(as_it_is ? image->pixels : block, sizeof *block, n, out) != n)
            return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
    }
    return STATUS_OK;
}
