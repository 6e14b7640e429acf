/* Finds out whether a file is the one that the index lists, from its header or its pixels. */
#include "output_lineage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "io/images/image_file.h"

enum { HEADER_BYTES = 8192 };  // frame and lineage are in the first 8192 bytes

/* --- headers ------------------------------------------------------------- */

/* Returns the value after a key of SMV (KEY=VALUE;) or CBF (# KEY VALUE).  NULL: there is none. */
static const char *find_value(const char *header, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = header; (at = strstr(at, key)); at++)
        if (at[length] == '=' || at[length] == ' ')
            return at + length + 1;
    return NULL;
}

static bool is_value(const char *header, const char *key, const char *value)
{
    const char *found = find_value(header, key);
    const size_t length = strlen(value);
    return found && strncmp(found, value, length) == 0 && strspn(found + length, ";\r\n") > 0;
}

/* --- pixels -------------------------------------------------------------- */

/* Converts float32 values to an integer type, in out[count].  Returns false if a value is out of
 * the range of the type. */
static bool convert(const float *values, size_t count, enum pixel_type type, void *out)
{
    const double most = type == PIXEL_U16 ? UINT16_MAX : type == PIXEL_U32 ? UINT32_MAX : INT32_MAX;
    const double least = type == PIXEL_I32 ? INT32_MIN : 0;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)values[i];
        if (!(v >= least && v <= most))
            return false;
        if (type == PIXEL_U16)
            ((uint16_t *)out)[i] = (uint16_t)v;
        else if (type == PIXEL_U32)
            ((uint32_t *)out)[i] = (uint32_t)v;
        else
            ((int32_t *)out)[i] = (int32_t)v;
    }
    return true;
}

/* Returns true if `crc` is the checksum of the pixels in their original type: raw files store
 * integers as float32. */
static bool is_sum_of_floats(const struct image *image, uint32_t crc)
{
    static const enum pixel_type types[] = {PIXEL_U16, PIXEL_U32, PIXEL_I32};
    struct image other = {0};
    bool found = crc32c(0, image->pixels, image->count * sizeof(float)) == crc;
    for (size_t i = 0; i < sizeof types / sizeof *types && !found; i++)
        found = image_reserve(&other, types[i], UNIT_ADU, image->count) &&
                convert(image->pixels, image->count, types[i], other.pixels) &&
                crc32c(0, other.pixels, image->count * pixel_size(types[i])) == crc;
    image_free(&other);
    return found;
}

static bool read_raw(const char *path, struct image *image)
{
    struct stat st;
    FILE *in = fopen(path, "rbe");
    const bool good =
        in && fstat(fileno(in), &st) == 0 && st.st_size > 0 &&
        image_reserve(image, PIXEL_F32, UNIT_PHOTONS, (size_t)st.st_size / sizeof(float)) &&
        fread(image->pixels, sizeof(float), image->count, in) == image->count;
    if (in)
        (void)fclose(in);
    return good;
}

static bool raw_has_sum(const char *path, uint32_t crc)
{
    struct image image = {0};
    const bool same = read_raw(path, &image) && is_sum_of_floats(&image, crc);
    image_free(&image);
    return same;
}

static bool has_sum(const char *path, uint32_t crc)
{
    struct image_file f;
    if (image_file_read(path, &f, NULL))
        return false;
    const bool same = crc32c(0, f.image.pixels, f.image.count * pixel_size(f.image.type)) == crc;
    image_free(&f.image);
    return same;
}

/* --- both ---------------------------------------------------------------- */

bool output_is_entered(const struct output *o, const struct output_settings *settings,
                       const struct experiment *x, const struct index_entry *entry,
                       const char *path)
{
    char header[HEADER_BYTES + 1], frame[24], gain[32];
    if (o->format == FORMAT_RAW)
        return raw_has_sum(path, entry->crc);
    if (o->format != FORMAT_SMV && o->format != FORMAT_CBF)
        return true;
    FILE *in = fopen(path, "rbe");
    if (!in)
        return false;
    header[fread(header, 1, HEADER_BYTES, in)] = 0;
    (void)fclose(in);
    if (!find_value(header, "BRAGG_LINEAGE"))
        return has_sum(path, entry->crc);
    (void)snprintf(frame, sizeof frame, "%" PRIu64, entry->id);
    (void)snprintf(gain, sizeof gain, "%.9g", settings->scale);
    return is_value(header, "BRAGG_FRAME", frame) &&
           is_value(header, "BRAGG_LINEAGE", x->lineage) &&
           (settings->scale == 0 || is_value(header, "BRAGG_GAIN", gain));
}
