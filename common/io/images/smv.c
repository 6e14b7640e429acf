#include "io/images/smv.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/input.h"
#include "base/units.h"
#include "io/text/filetype.h"
#include "io/text/textfile.h"

/* Longest header and edge that are believed. */
enum { HEADER_MIN = 16, HEADER_MAX = 1 << 20, SIDE_MAX = 1 << 20 };

/* A word that a header may have as a value, and what it stands for, from 1; NULL ends a list. */
struct smv_word {
    const char *name;
    int value;
};

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

/* --- how pixels are stored ------------------------------------------------------- */

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next text from `at` on that stands behind "KEY=" or "KEY =", where KEY is no part of a longer
 * name; *length without blanks at its ends.  NULL: there is none. */
static const char *next_value(const struct smv *smv, const char *at, const char *key,
                              size_t *length)
{
    const size_t size = strlen(key);
    for (; (at = strstr(at, key)); at++) {
        const char *value = at + size + strspn(at + size, TEXT_SPACE);
        if (*value++ != '=' || (at > smv->header && is_of_name(at[-1])))
            continue;
        value += strspn(value, TEXT_SPACE);
        *length = strcspn(value, ";\n");
        while (*length && strchr(TEXT_SPACE, value[*length - 1]))
            --*length;
        return value;
    }
    return NULL;
}

/* Which of the words a key says, in any capitals, a blank for a _ or the other way round; 0 where
 * the header does not have the key. */
static enum status take_word(const char *path, const struct smv *smv, const char *key,
                             const struct smv_word *words, const char *expected, int *value,
                             struct error *e)
{
    size_t length;
    *value = 0;
    for (const char *at = smv->header; (at = next_value(smv, at, key, &length));) {
        char text[32] = "";
        int found = 0;
        for (size_t i = 0; i < length && i + 1 < sizeof text; i++)
            text[i] = at[i] == ' ' ? '_' : at[i];
        for (const struct smv_word *w = words; w->name; w++)
            found = strcasecmp(w->name, text) == 0 ? w->value : found;
        if (!found)
            return error_set(e, STATUS_INPUT, "%s: header: %s=%.*s is not known here; expected %s",
                             path, key, (int)(length < 40 ? length : 40), at, expected);
        if (*value && *value != found)
            return error_set(e, STATUS_INPUT,
                             "%s: header: %s=%.*s contradicts another value of the same key", path,
                             key, (int)length, at);
        *value = found;
    }
    return STATUS_OK;
}

/* A size that is there twice must be the same. */
static enum status check_twice(const char *path, const struct smv *smv, const char *key,
                               struct error *e)
{
    size_t length;
    double first = 0.0;
    bool said = false;
    for (const char *at = smv->header; (at = next_value(smv, at, key, &length)); said = true) {
        const double value = strtod(at, NULL);
        if (said && value != first)
            return error_set(e, STATUS_INPUT,
                             "%s: header: %s=%g contradicts %s=%g of the same header", path, key,
                             value, key, first);
        first = value;
    }
    return STATUS_OK;
}

enum status smv_storage_read(const char *path, const struct smv *smv, struct smv_storage *storage,
                             struct error *e)
{
    enum { LITTLE = 1, BIG, OPEN = 1, TWO = 1 };
    static const struct smv_word types[] = {
        {"unsigned_short", SMV_U16}, {"unsigned_short_int", SMV_U16},
        {"unsigned_long", SMV_U32},  {"unsigned_long_int", SMV_U32},
        {"unsigned_int", SMV_U32},   {"signed_long", SMV_I32},
        {"signed_int", SMV_I32},     {"long_int", SMV_I32},
        {"long", SMV_I32},           {"int", SMV_I32},
        {"float", SMV_F32},          {NULL, 0}};
    static const struct smv_word orders[] = {
        {"little_endian", LITTLE}, {"big_endian", BIG}, {NULL, 0}};
    static const struct smv_word dimensions[] = {{"2", TWO}, {NULL, 0}};
    static const struct smv_word packings[] = {{"none", OPEN}, {NULL, 0}};
    int type = 0, order = 0, ignored;
    enum status s = take_word(path, smv, "TYPE", types,
                              "unsigned_short, unsigned_long, signed_long or float", &type, e);
    s = s ? s
          : take_word(path, smv, "BYTE_ORDER", orders, "little_endian or big_endian", &order, e);
    s = s ? s : take_word(path, smv, "DIM", dimensions, "2", &ignored, e);
    s = s ? s : take_word(path, smv, "COMPRESSION", packings, "None", &ignored, e);
    s = s ? s : check_twice(path, smv, "SIZE1", e);
    s = s ? s : check_twice(path, smv, "SIZE2", e);
    *storage = (struct smv_storage){(enum smv_type)type, order == BIG};
    return s;
}

double smv_pixel_m(const struct smv *smv)
{
    size_t length;
    const char *text = next_value(smv, smv->header, "PIXEL_SIZE", &length);
    return text ? mm_to_m(strtod(text, NULL)) : 0.0;
}

enum status smv_compare_pixel(const char *name, double said_m, double pixel_m, struct error *e)
{
    if (said_m == 0.0 || fabs(said_m - pixel_m) <= 1e-3 * pixel_m)
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%s: the file says PIXEL_SIZE=%g mm, but pixels of the detector have %g mm",
                     name, m_to_mm(said_m), m_to_mm(pixel_m));
}

/* --- files -------------------------------------------------------------------------- */

/* Pixels of 16 bits alone can be read here. */
static enum status check_storage(const char *path, const struct smv *smv,
                                 struct smv_storage *storage, struct error *e)
{
    const enum status s = smv_storage_read(path, smv, storage, e);
    if (!s && storage->type != SMV_UNSAID && storage->type != SMV_U16)
        return error_set(e, STATUS_INPUT,
                         "%s: header: pixels of 32 bits; expected TYPE=unsigned_short", path);
    return s;
}

static enum status read_pixels(FILE *in, const char *path, const struct smv_storage *storage,
                               struct smv *smv, struct error *e)
{
    size_t count, bytes, file_bytes = 0;
    if (!size_multiply((size_t)smv->fast_pixels, (size_t)smv->slow_pixels, &count) ||
        !size_multiply(count, sizeof *smv->pixels, &bytes))
        return bad_size(path, "SIZE1", (double)smv->fast_pixels, SIDE_MAX, e);
    const enum status s = find_file_size(path, &file_bytes, e);
    if (s)
        return s;
    if (file_bytes < smv->header_bytes || file_bytes - smv->header_bytes < bytes)
        return error_set(e, STATUS_INPUT,
                         "%s: too short: %zu x %zu pixels need %zu bytes after the header", path,
                         (size_t)smv->fast_pixels, (size_t)smv->slow_pixels, bytes);
    if (file_bytes - smv->header_bytes > bytes)
        return error_set(e, STATUS_INPUT,
                         "%s: too long: %zu x %zu pixels of 16 bits are %zu bytes; got %zu after "
                         "the header",
                         path, (size_t)smv->fast_pixels, (size_t)smv->slow_pixels, bytes,
                         file_bytes - smv->header_bytes);
    smv->pixels = mem_array(count, sizeof *smv->pixels);
    if (!smv->pixels)
        return error_memory(e, "SMV image");
    if (fread(smv->pixels, sizeof *smv->pixels, count, in) != count)
        return error_set(e, STATUS_INPUT, "%s: cannot read its %zu pixels", path, count);
    for (size_t i = 0; i < count; i++)
        smv->pixels[i] = storage->big_endian ? be16toh(smv->pixels[i]) : le16toh(smv->pixels[i]);
    return STATUS_OK;
}

enum status smv_read(const char *path, bool with_pixels, struct smv *smv, struct error *e)
{
    struct smv_storage storage;
    *smv = (struct smv){0};
    FILE *in = input_open(path);
    if (!in)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    enum status status = read_header(in, path, smv, e);
    if (!status)
        status = check_numbers(path, smv, e);
    if (!status)
        status = find_size(path, smv, e);
    if (!status && with_pixels)
        status = check_storage(path, smv, &storage, e);
    if (!status && with_pixels)
        status = read_pixels(in, path, &storage, smv, e);
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
