#include "io/images/image_file.h"

#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io/images/cbf.h"
#include "io/images/smv.h"
#include "io/text/filetype.h"

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

/* Whether `key=` in the header is followed by `word`. */
static bool header_says(const struct smv *smv, const char *key, const char *word)
{
    const size_t length = strlen(key);
    for (const char *at = smv->header; (at = strstr(at, key)); at++)
        if (at[length] == '=' && strncmp(at + length + 1, word, strlen(word)) == 0)
            return true;
    return false;
}

static enum status read_smv(FILE *in, const char *path, size_t size, struct image_file *f,
                            struct error *e)
{
    struct smv smv;
    enum status s = smv_read(path, false, &smv, e);
    size_t count = 0;
    if (s == STATUS_OK) {
        f->fast = smv.fast_pixels;
        f->slow = smv.slow_pixels;
        count = (size_t)f->fast * (size_t)f->slow;
        const size_t data = size - smv.header_bytes;
        if (size < smv.header_bytes || (data != 2 * count && data != 4 * count))
            s = error_set(e, STATUS_INPUT, "%s: %zu bytes, must be %zu and 2 or 4 a pixel", path,
                          size, smv.header_bytes);
        else {
            const enum pixel_type type = data == 2 * count                       ? PIXEL_U16
                                         : header_says(&smv, "TYPE", "float")    ? PIXEL_F32
                                         : header_says(&smv, "TYPE", "unsigned") ? PIXEL_U32
                                                                                 : PIXEL_I32;
            s = read_pixels(in, path, (long)smv.header_bytes, type, count, &f->image, e);
        }
        if (s == STATUS_OK && header_says(&smv, "BYTE_ORDER", "big_endian"))
            swap_bytes(&f->image);
    }
    smv_free(&smv);
    return s;
}

/* Raw pixels may begin with any bytes.  These formats begin with bytes that no pixel is likely to
 * have. */
static enum status refuse_other_formats(const char *path, const char *first, size_t n,
                                        struct error *e)
{
    const enum filetype type = filetype_of(first, n);
    switch (type) {
    case FILETYPE_HDF5:
    case FILETYPE_MTZ:
    case FILETYPE_TIFF:
    case FILETYPE_PNG:
    case FILETYPE_GZIP:
    case FILETYPE_ZIP:
    case FILETYPE_XZ:
    case FILETYPE_BZIP2:
        return filetype_check(path, type, FILETYPE_PIXELS, e);
    default:
        return STATUS_OK;
    }
}

static enum status read_file(FILE *in, const char *path, struct image_file *f, struct error *e)
{
    struct stat st;
    if (fstat(fileno(in), &st))
        return error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: must be an ordinary file", path);
    const size_t size = (size_t)st.st_size;
    char first[16] = {0};
    const size_t got = fread(first, 1, sizeof first, in);
    rewind(in);
    if (got > 1 && first[0] == '{' && isspace((unsigned char)first[1]))
        return read_smv(in, path, size, f, e);
    if (got >= 6 && memcmp(first, "###CBF", 6) == 0)
        return cbf_read(in, path, size, f, e);
    const enum status s = refuse_other_formats(path, first, got, e);
    if (s)
        return s;
    if (size == 0 || size % sizeof(float))
        return error_set(e, STATUS_INPUT, "%s: %zu bytes, must be SMV, CBF or whole float32 pixels",
                         path, size);
    return read_pixels(in, path, 0, PIXEL_F32, size / sizeof(float), &f->image, e);
}

enum status image_file_read(const char *path, struct image_file *f, struct error *e)
{
    *f = (struct image_file){0};
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: must be an ordinary file", path);
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
