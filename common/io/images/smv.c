#include "io/images/smv.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/units.h"
#include "io/text/filetype.h"

/* Longest header and edge that are believed. */
enum { HEADER_MIN = 16, HEADER_MAX = 1 << 20, SIDE_MAX = 1 << 20 };

/* All numbers that nanoBragg looks for. */
static const char *const number_keys[] = {
    "PIXEL_SIZE",    "DISTANCE", "CLOSE_DISTANCE", "WAVELENGTH",   "BEAM_CENTER_X",
    "BEAM_CENTER_Y", "ORGX",     "ORGY",           "PHI",          "OSC_RANGE",
    "TWOTHETA",      "SIZE1",    "SIZE2",          "HEADER_BYTES", "DETECTOR_DIMENSIONS",
};

/* Text after the last "KEY=", NULL for none. */
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
    return error_set(e, STATUS_INPUT, "%s: header: %s=%g, must be a whole number from 1 to %.0f",
                     path, key, value, max);
}

/* SIZE1 and SIZE2, or DETECTOR_DIMENSIONS for both when SIZE1 is 0 or missing. */
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

/* Reads the whole header, whose length is known; its room only when the file is as long. */
static enum status read_text(FILE *in, const char *path, struct smv *smv, struct error *e)
{
    size_t file_bytes = 0;
    const enum status s = find_file_size(path, &file_bytes, e);
    if (s)
        return s;
    if (file_bytes < smv->header_bytes)
        return error_set(e, STATUS_INPUT, "%s: ends inside its SMV header", path);
    smv->header = mem_array(smv->header_bytes + 1, 1);
    if (!smv->header)
        return error_memory(e, "SMV header");
    if (fseek(in, 0, SEEK_SET) != 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot seek", path);
    if (fread(smv->header, 1, smv->header_bytes, in) != smv->header_bytes)
        return error_set(e, STATUS_INPUT, "%s: ends inside its SMV header", path);
    smv->header[smv->header_bytes] = '\0';
    return STATUS_OK;
}

/* The length of the header is inside it: 512 bytes first, then the rest. */
static enum status read_header(FILE *in, const char *path, struct smv *smv, struct error *e)
{
    char first[512 + 1] = {0};
    size_t got = fread(first, 1, 512, in);
    const enum status type = filetype_check(path, filetype_of(first, got), FILETYPE_SMV, e);
    if (type)
        return type;
    if (got < HEADER_MIN || first[0] != '{')
        return error_set(e, STATUS_INPUT, "%s: not an SMV file: must begin with '{'", path);
    const char *text = last_value(first, "HEADER_BYTES");
    double bytes = text ? strtod(text, NULL) : 0.0;
    if (!(bytes >= HEADER_MIN && bytes <= HEADER_MAX) || bytes != floor(bytes))
        return error_set(e, STATUS_INPUT,
                         "%s: header: HEADER_BYTES must be a whole number from %d to %d", path,
                         HEADER_MIN, HEADER_MAX);
    smv->header_bytes = (size_t)bytes;
    const enum status status = read_text(in, path, smv, e);
    if (status)
        return status;
    char *brace = strchr(smv->header, '}');
    if (!brace)
        return error_set(e, STATUS_INPUT, "%s: header: no '}' within its %zu bytes", path,
                         smv->header_bytes);
    *brace = '\0';
    return STATUS_OK;
}

/* --- what the pixels are ------------------------------------------------------- */

/* A value without the blanks around it. */
struct value {
    const char *text;
    size_t length;
};

static bool is_of_name(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* The next value of a whole key from `at` on; the text is NULL where there is none. */
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

/* In any capitals; writers put a blank for a _ or the other way round. */
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

/* Everything that says where the pixels are and what they are must be said once, or alike. */
static enum status check_twice(const char *path, const struct smv *smv, struct error *e)
{
    static const char *const keys[] = {"HEADER_BYTES", "DIM",  "SIZE1",     "SIZE2",
                                       "BYTE_ORDER",   "TYPE", "Data_type", "COMPRESSION"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct value first = find_value(smv, smv->header, keys[i]);
        for (struct value v = first; v.text; v = find_value(smv, v.text, keys[i]))
            if (v.length != first.length || memcmp(v.text, first.text, v.length) != 0)
                return error_set(e, STATUS_INPUT, "%s: header: says both %s=%.*s and %s=%.*s", path,
                                 keys[i], (int)first.length, first.text, keys[i], (int)v.length,
                                 v.text);
    }
    return STATUS_OK;
}

/* d*TREK knows images of more dimensions, and packed ones. */
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
                         "%s: header: has no BYTE_ORDER; expected little_endian or big_endian",
                         path);
    return *big || is_word(v, "little_endian")
               ? STATUS_OK
               : refuse_value(path, "BYTE_ORDER", v, "little_endian or big_endian", e);
}

/* The type that a key names; *said: the header has the key. */
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

/* d*TREK names the type in Data_type, and says TYPE=mad. */
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
                     "%s: the file says PIXEL_SIZE=%g mm, but pixels of the detector have %g mm",
                     name, m_to_mm(said_m), m_to_mm(pixel_m));
}

/* --- reading ------------------------------------------------------------------- */

/* 16 bits alone; where a header does not say its type, the length of the file does. */
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
    smv->pixels = mem_array(count, sizeof *smv->pixels);
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
    *mask = mem_array(count, 1);
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
