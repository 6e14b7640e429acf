#include "io/images/smv.h"

#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/filetype.h"
#include "base/units.h"
#include "io/images/tilted_header.h"
#include "model/recipe.h"

/* Limits of the length of a header, in bytes, and of the edge of an image, in pixels. */
enum { HEADER_MIN = 16, HEADER_MAX = 1 << 20, SIDE_MAX = 1 << 20 };

/* Keys of all numbers that nanoBragg searches for in a header. */
static const char *const number_keys[] = {
    "PIXEL_SIZE",    "DISTANCE", "CLOSE_DISTANCE", "WAVELENGTH",   "BEAM_CENTER_X",
    "BEAM_CENTER_Y", "ORGX",     "ORGY",           "PHI",          "OSC_RANGE",
    "TWOTHETA",      "SIZE1",    "SIZE2",          "HEADER_BYTES", "DETECTOR_DIMENSIONS",
};

/* Returns the text after the last "KEY=".  NULL: it does not occur. */
static const char *last_value(const char *header, const char *key)
{
    size_t length = strlen(key);
    const char *found = NULL;
    for (const char *at = header; (at = strstr(at, key)); at++)
        if (at[length] == '=')
            found = at + length + 1;
    return found;
}

bool smv_value(const struct smv *smv, const char *key, double *value)
{
    const char *text = last_value(smv->header, key);
    if (!text)
        return false;
    *value = strtod(text, NULL);
    return true;
}

static enum status check_numbers(const char *path, const struct smv *smv, struct error *e)
{
    for (size_t i = 0; i < sizeof number_keys / sizeof *number_keys; i++) {
        const char *text = last_value(smv->header, number_keys[i]);
        if (!text)
            continue;
        char *end;
        double value = strtod(text, &end);
        if (end == text || !isfinite(value))
            return error_set(e, STATUS_INPUT, "%s: header: %s=%.*s is not a finite number", path,
                             number_keys[i], (int)strcspn(text, ";\n"), text);
    }
    return STATUS_OK;
}

static enum status bad_size(const char *path, const char *key, double value, double max,
                            struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: header: %s=%g; expected a whole number from 1 to %.0f",
                     path, key, value, max);
}

/* Finds the size of the image in SIZE1 and SIZE2.  If SIZE1 is 0 or missing, both are
 * DETECTOR_DIMENSIONS. */
static enum status find_size(const char *path, struct smv *smv, struct error *e)
{
    double side[2] = {0.0, 0.0};
    smv_value(smv, "SIZE1", &side[0]);
    smv_value(smv, "SIZE2", &side[1]);
    if (side[0] == 0.0 && smv_value(smv, "DETECTOR_DIMENSIONS", &side[0]))
        side[1] = side[0];
    for (int i = 0; i < 2; i++)
        if (side[i] < 1.0 || side[i] > SIDE_MAX || side[i] != floor(side[i]))
            return bad_size(path, i ? "SIZE2" : "SIZE1", side[i], SIDE_MAX, e);
    smv->fast_pixels = (int64_t)side[0];
    smv->slow_pixels = (int64_t)side[1];
    return STATUS_OK;
}

static enum status find_file_size(const char *path, size_t *bytes, struct error *e)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot examine", path);
    *bytes = (size_t)st.st_size;
    return STATUS_OK;
}

/* Reads the whole header, whose length is known.  Allocates memory only if the file is at least
 * as long as the header. */
static enum status read_text(FILE *in, const char *path, struct smv *smv, struct error *e)
{
    size_t file_bytes = 0;
    const enum status s = find_file_size(path, &file_bytes, e);
    if (s)
        return s;
    if (file_bytes < smv->header_bytes)
        return error_set(e, STATUS_INPUT, "%s: truncated inside its SMV header", path);
    smv->header = mem_try_array(smv->header_bytes + 1, 1);
    if (!smv->header)
        return error_memory(e, "SMV header");
    if (fseek(in, 0, SEEK_SET) != 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot seek", path);
    if (fread(smv->header, 1, smv->header_bytes, in) != smv->header_bytes)
        return error_set(e, STATUS_INPUT, "%s: truncated inside its SMV header", path);
    smv->header[smv->header_bytes] = '\0';
    return STATUS_OK;
}

/* Reads the header.  The header contains its own length; therefore the first 512 bytes are read
 * first, then the whole header. */
static enum status read_header(FILE *in, const char *path, struct smv *smv, struct error *e)
{
    char first[512 + 1] = {0};
    size_t got = fread(first, 1, 512, in);
    const enum status type = filetype_check(path, filetype_of(first, got), FILETYPE_SMV, e);
    if (type)
        return type;
    if (got < HEADER_MIN || first[0] != '{')
        return error_set(e, STATUS_INPUT, "%s: not an SMV file; expected '{' as its first byte",
                         path);
    const char *text = last_value(first, "HEADER_BYTES");
    double bytes = text ? strtod(text, NULL) : 0.0;
    if (!(bytes >= HEADER_MIN && bytes <= HEADER_MAX) || bytes != floor(bytes))
        return error_set(e, STATUS_INPUT,
                         "%s: header: HEADER_BYTES is not a whole number from %d to %d", path,
                         HEADER_MIN, HEADER_MAX);
    smv->header_bytes = (size_t)bytes;
    const enum status status = read_text(in, path, smv, e);
    if (status)
        return status;
    char *brace = strchr(smv->header, '}');
    if (!brace)
        return error_set(e, STATUS_INPUT, "%s: header: no '}' in its %zu bytes", path,
                         smv->header_bytes);
    *brace = '\0';
    return STATUS_OK;
}

/* --- the type of the pixels, from the header ----------------------------------- */

/* A value in the header, without blanks at its ends. */
struct value {
    const char *text;
    size_t length;
};

static bool is_of_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the next value of a key, from `at` on.  The key must be a whole word.  The text of the
 * result is NULL if there is none. */
static struct value find_value(const struct smv *smv, const char *at, const char *key)
{
    const size_t length = strlen(key);
    for (; (at = strstr(at, key)); at++) {
        const char *end = at + length + strspn(at + length, " \t");
        if ((at > smv->header && is_of_name(at[-1])) || *end != '=')
            continue;
        end += 1 + strspn(end + 1, " \t");
        struct value v = {end, strcspn(end, ";\r\n")};
        while (v.length && (end[v.length - 1] == ' ' || end[v.length - 1] == '\t'))
            v.length--;
        return v;
    }
    return (struct value){0};
}

/* Returns true if a value equals a word.  Upper and lower case are equal.  A blank equals a `_`,
 * because programs use one or the other. */
static bool is_word(struct value v, const char *word)
{
    size_t i = 0;
    while (i < v.length && word[i] &&
           (tolower((unsigned char)v.text[i]) == tolower((unsigned char)word[i]) ||
            (strchr(" _", v.text[i]) && strchr(" _", word[i]))))
        i++;
    return v.text && i == v.length && !word[i];
}

static enum status refuse_value(const char *path, const char *key, struct value v,
                                const char *expected, struct error *e)
{
    return error_set(e, STATUS_INPUT, "%s: header: %s=%.*s cannot be read; expected %s", path, key,
                     (int)v.length, v.text, expected);
}

/* Checks the keys that describe the position and the type of the pixels.  If such a key occurs
 * several times, all its values must be equal. */
static enum status check_twice(const char *path, const struct smv *smv, struct error *e)
{
    static const char *const keys[] = {"HEADER_BYTES", "DIM",  "SIZE1",     "SIZE2",
                                       "BYTE_ORDER",   "TYPE", "Data_type", "COMPRESSION"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct value first = find_value(smv, smv->header, keys[i]);
        for (struct value v = first; v.text; v = find_value(smv, v.text, keys[i]))
            if (v.length != first.length || memcmp(v.text, first.text, v.length) != 0)
                return error_set(
                    e, STATUS_INPUT, "%s: header: has both %s=%.*s and %s=%.*s; expected one value",
                    path, keys[i], (int)first.length, first.text, keys[i], (int)v.length, v.text);
    }
    return STATUS_OK;
}

/* Checks that the image has two dimensions and is not compressed.  d*TREK also writes images with
 * more dimensions and compressed ones. */
static enum status check_kind(const char *path, const struct smv *smv, struct error *e)
{
    const struct value dim = find_value(smv, smv->header, "DIM"),
                       packed = find_value(smv, smv->header, "COMPRESSION");
    if (dim.text && !is_word(dim, "2"))
        return refuse_value(path, "DIM", dim, "2", e);
    if (packed.text && !is_word(packed, "None"))
        return refuse_value(path, "COMPRESSION", packed, "None", e);
    return STATUS_OK;
}

enum status smv_is_big_endian(const char *path, const struct smv *smv, bool *big, struct error *e)
{
    const struct value v = find_value(smv, smv->header, "BYTE_ORDER");
    *big = is_word(v, "big_endian");
    if (!v.text)
        return error_set(e, STATUS_INPUT,
                         "%s: header: no BYTE_ORDER; expected little_endian or big_endian", path);
    return *big || is_word(v, "little_endian")
               ? STATUS_OK
               : refuse_value(path, "BYTE_ORDER", v, "little_endian or big_endian", e);
}

/* Finds the pixel type that a key names.  *said: the header has the key; otherwise *type is not
 * changed.  STATUS_INPUT: the type is unknown. */
static enum status type_of(const char *path, const struct smv *smv, const char *key,
                           enum pixel_type *type, bool *said, struct error *e)
{
    static const struct {
        const char *name;
        enum pixel_type type;
    } known[] = {
        {"unsigned_short", PIXEL_U16}, {"unsigned_short_int", PIXEL_U16},
        {"unsigned_long", PIXEL_U32},  {"unsigned_long_int", PIXEL_U32},
        {"unsigned_int", PIXEL_U32},   {"signed_long", PIXEL_I32},
        {"long_integer", PIXEL_I32},   {"signed_int", PIXEL_I32},
        {"long_int", PIXEL_I32},       {"float", PIXEL_F32},
        {"float_IEEE", PIXEL_F32},
    };
    const struct value v = find_value(smv, smv->header, key);
    *said = v.text;
    for (size_t i = 0; v.text && i < sizeof known / sizeof *known; i++)
        if (is_word(v, known[i].name)) {
            *type = known[i].type;
            return STATUS_OK;
        }
    return v.text ? refuse_value(path, key, v,
                                 "unsigned_short, unsigned_long, signed_long, long_integer or "
                                 "float",
                                 e)
                  : STATUS_OK;
}

/* Reads Data_type, then TYPE.  d*TREK names the type in Data_type and writes TYPE=mad, which is
 * not a pixel type and is ignored. */
enum status smv_type(const char *path, const struct smv *smv, enum pixel_type *type, bool *said,
                     struct error *e)
{
    bool also;
    enum pixel_type other = PIXEL_U16;
    enum status s = type_of(path, smv, "Data_type", type, said, e);
    if (s || (*said && is_word(find_value(smv, smv->header, "TYPE"), "mad")))
        return s;
    s = type_of(path, smv, "TYPE", &other, &also, e);
    if (!s && *said && also && other != *type)
        return error_set(e, STATUS_INPUT, "%s: header: TYPE and Data_type contradict each other",
                         path);
    *type = also ? other : *type;
    *said = *said || also;
    return s;
}

enum status smv_check_bytes(const char *path, const struct smv *smv, size_t file_bytes,
                            size_t pixel_bytes, struct error *e)
{
    const size_t count = (size_t)smv->fast_pixels * (size_t)smv->slow_pixels;
    const size_t bytes = file_bytes < smv->header_bytes ? 0 : file_bytes - smv->header_bytes;
    if (bytes == count * pixel_bytes)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: too %s: %zu x %zu pixels of %zu bytes need %zu bytes after the header; "
                     "the file has %zu",
                     path, bytes < count * pixel_bytes ? "short" : "long", (size_t)smv->fast_pixels,
                     (size_t)smv->slow_pixels, pixel_bytes, count * pixel_bytes, bytes);
}

double smv_pixel_m(const struct smv *smv)
{
    const struct value v = find_value(smv, smv->header, "PIXEL_SIZE");
    return v.text ? mm_to_m(strtod(v.text, NULL)) : 0.0;
}

enum status smv_compare_pixel(const char *name, double said_m, double pixel_m, struct error *e)
{
    if (said_m == 0.0 || fabs(said_m - pixel_m) <= 1e-3 * pixel_m)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the header has PIXEL_SIZE=%g mm, but pixels of the detector have %g mm",
                     name, m_to_mm(said_m), m_to_mm(pixel_m));
}

/* --- reading ------------------------------------------------------------------- */

/* Checks that the pixels are unsigned 16-bit integers.  If the header does not name the type, the
 * length of the file is checked instead (see read_pixels). */
static enum status check_type(const char *path, const struct smv *smv, struct error *e)
{
    enum pixel_type type = PIXEL_U16;
    bool said;
    const enum status s = smv_type(path, smv, &type, &said, e);
    const struct value v = find_value(smv, smv->header, "Data_type");
    if (s || type == PIXEL_U16)
        return s;
    return v.text ? refuse_value(path, "Data_type", v, "unsigned short int", e)
                  : refuse_value(path, "TYPE", find_value(smv, smv->header, "TYPE"),
                                 "unsigned_short", e);
}

static enum status read_pixels(FILE *in, const char *path, struct smv *smv, struct error *e)
{
    size_t count, bytes, file_bytes = 0;
    if (!size_multiply((size_t)smv->fast_pixels, (size_t)smv->slow_pixels, &count) ||
        !size_multiply(count, sizeof *smv->pixels, &bytes))
        return bad_size(path, "SIZE1", (double)smv->fast_pixels, SIDE_MAX, e);
    const enum status s = find_file_size(path, &file_bytes, e);
    if (s)
        return s;
    const enum status fits = smv_check_bytes(path, smv, file_bytes, sizeof *smv->pixels, e);
    if (fits)
        return fits;
    bool big = false;
    if (find_value(smv, smv->header, "BYTE_ORDER").text) {
        const enum status ordered = smv_is_big_endian(path, smv, &big, e);
        if (ordered)
            return ordered;
    }
    smv->pixels = mem_try_array(count, sizeof *smv->pixels);
    if (!smv->pixels)
        return error_memory(e, "SMV image");
    if (fread(smv->pixels, sizeof *smv->pixels, count, in) != count)
        return error_set(e, STATUS_INPUT, "%s: cannot read its %zu pixels", path, count);
    for (size_t i = 0; i < count; i++)
        smv->pixels[i] = big ? be16toh(smv->pixels[i]) : le16toh(smv->pixels[i]);
    return STATUS_OK;
}

enum status smv_read(const char *path, bool with_pixels, struct smv *smv, struct error *e)
{
    *smv = (struct smv){0};
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    enum status status = read_header(in, path, smv, e);
    if (!status)
        status = check_numbers(path, smv, e);
    if (!status)
        status = find_size(path, smv, e);
    if (!status)
        status = check_twice(path, smv, e);
    if (!status)
        status = check_kind(path, smv, e);
    if (!status && with_pixels)
        status = check_type(path, smv, e);
    if (!status && with_pixels)
        status = read_pixels(in, path, smv, e);
    fclose(in);
    return status;
}

enum status smv_mask(const struct smv *smv, uint8_t **mask, struct error *e)
{
    const size_t count = (size_t)smv->fast_pixels * (size_t)smv->slow_pixels;
    *mask = mem_try_array(count, 1);
    for (size_t i = 0; *mask && i < count; i++)
        (*mask)[i] = smv->pixels[i] != 0;
    return *mask ? STATUS_OK : error_memory(e, "the mask");
}

void smv_free(struct smv *smv)
{
    mem_free(smv->header);
    mem_free(smv->pixels);
    *smv = (struct smv){0};
}

/* --- headers --------------------------------------------------------------- */

enum { LEGACY_BYTES = 512, MODERN_BYTES = 1024, LEGACY_DIGITS = 6, MODERN_DIGITS = 9 };

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char byte_order[] = "little_endian";
#else
static const char byte_order[] = "big_endian";
#endif

/* Pads the header with blanks to the length `bytes`.  A longer header is not changed. */
static void pad(struct header_text *h, size_t bytes)
{
    if (h->length < bytes) {
        memset(h->text + h->length, ' ', bytes - h->length);
        h->length = bytes;
    }
}

/* Appends the beam position in the conventions of other programs, in mm, with `digits`
 * significant digits.  ADXV measures from the left and the bottom edge.  MOSFLM and DENZO measure
 * along slow, then along fast; MOSFLM from the centre of the first pixel, DENZO from its outer
 * corner. */
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

/* Appends the point of the panel that is nearest to the sample, in the convention of XDS: in
 * pixels, where the centre of the first pixel is 1. */
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

/* Appends the geometry.  BEAM_CENTER follows the convention of dxtbx for files with BEAMLINE=fake
 * (FormatSMVJHSim).  dxtbx puts the beam at X + pixel along fast and at height - Y + pixel along
 * slow, both from the outer corner of the first pixel.  BEAM_CENTER is therefore the position
 * from the corner minus a pixel along fast and slow. */
static void append_geometry(struct header_text *h, const struct experiment *x,
                            const struct frame *f)
{
    const struct recipe *r = &f->recipe;
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
    if (x->beam.has_exposure)
        header_append(h, "TIME=%.9g;\n", x->beam.exposure_s);
    header_append(h, "ADC_OFFSET=%.9g;\nDETECTOR_SN=000;\n", x->adc_offset);
    if (header_is_tilted(x))
        header_append_dtrek(h, x, f, type_name(&f->image));
    else
        header_append(h, "BEAMLINE=fake;\n");
    if (x->counts_photons && f->image.unit == UNIT_ADU)
        header_append(h, "CCD_IMAGE_SATURATION=%.9g;\n", floor(x->saturation));
}

enum status smv_header_modern(struct header_text *h, const struct experiment *x,
                              const struct frame *f, struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT,
                         "an SMV file has one panel, but the detector has %zu. Use NXmx",
                         x->npanels);
    /* the header contains its own length: make it again if it became longer */
    size_t bytes = MODERN_BYTES;
    for (;;) {
        h->length = 0;
        header_append(h, "{\nHEADER_BYTES=%zu;\nDIM=2;\nBYTE_ORDER=%s;\nTYPE=%s;\n", bytes,
                      byte_order, type_name(&f->image));
        append_geometry(h, x, f);
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
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, but its panel has %zu",
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
        return error_set(e, STATUS_INPUT,
                         "an SMV file has one panel, but the detector has %zu. Use NXmx",
                         x->npanels);
    if (f->image.type != PIXEL_U16)
        return error_set(e, STATUS_INPUT, "nanoBragg's header is for 16-bit images only");
    struct header_text h;
    const struct panel *p = x->panels;
    smv_header_nanobragg(&h, p, (double)p->slow_pixels * p->pixel_m, x->beam.wavelength_m,
                         f->recipe.phi_rad, f->recipe.osc_rad);
    return write_frame(out, &h, x, &f->image, e);
}
