#include "io/images/smv.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/input.h"
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

static enum status check_type(const char *path, const struct smv *smv, struct error *e)
{
    static const char type[] = "unsigned_short";
    const char *text = last_value(smv->header, "TYPE");
    if (text && strncmp(text, type, sizeof type - 1) != 0)
        return error_set(e, STATUS_INPUT, "%s: header: TYPE=%.*s, only %s can be read", path,
                         (int)strcspn(text, ";\n"), text, type);
    return STATUS_OK;
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
    if (file_bytes < smv->header_bytes || file_bytes - smv->header_bytes < bytes)
        return error_set(e, STATUS_INPUT,
                         "%s: too short: %zu x %zu pixels need %zu bytes after the header", path,
                         (size_t)smv->fast_pixels, (size_t)smv->slow_pixels, bytes);
    smv->pixels = mem_array(count, sizeof *smv->pixels);
    if (!smv->pixels)
        return error_memory(e, "SMV image");
    if (fread(smv->pixels, sizeof *smv->pixels, count, in) != count)
        return error_set(e, STATUS_INPUT, "%s: cannot read its %zu pixels", path, count);
    const char *order = last_value(smv->header, "BYTE_ORDER");
    bool big = order && strncmp(order, "big_endian", 10) == 0;
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
