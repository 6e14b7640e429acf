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

/* What pixels of that many bytes are; STATUS_INPUT where TYPE says other ones. */
static enum status find_type(const char *path, const struct smv_storage *storage, size_t bytes,
                             enum pixel_type *type, struct error *e)
{
    static const enum pixel_type types[] = {
        [SMV_U16] = PIXEL_U16, [SMV_U32] = PIXEL_U32, [SMV_I32] = PIXEL_I32, [SMV_F32] = PIXEL_F32};
    *type = storage->type != SMV_UNSAID ? types[storage->type] : bytes == 2 ? PIXEL_U16 : PIXEL_I32;
    return pixel_size(*type) == bytes
               ? STATUS_OK
               : error_set(e, STATUS_INPUT,
                           "%s: header: TYPE is of %zu bytes a pixel, and the file has %zu", path,
                           pixel_size(*type), bytes);
}

static enum status read_smv(FILE *in, const char *path, size_t size, struct image_file *f,
                            struct error *e)
{
    struct smv smv;
    struct smv_storage storage;
    enum pixel_type type;
    enum status s = smv_read(path, false, &smv, e);
    s = s ? s : smv_storage_read(path, &smv, &storage, e);
    if (s == STATUS_OK) {
        f->fast = smv.fast_pixels;
        f->slow = smv.slow_pixels;
        const size_t count = (size_t)f->fast * (size_t)f->slow, data = size - smv.header_bytes;
        if (size < smv.header_bytes || (data != 2 * count && data != 4 * count))
            s = error_set(e, STATUS_INPUT, "%s: %zu bytes, must be %zu and 2 or 4 a pixel", path,
                          size, smv.header_bytes);
        s = s ? s : find_type(path, &storage, data / count, &type, e);
        s = s ? s : read_pixels(in, path, (long)smv.header_bytes, type, count, &f->image, e);
        if (s == STATUS_OK && storage.big_endian)
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

/* No image of numbers consists of letters, digits and blanks alone. */
static bool is_text(FILE *in)
{
    char bytes[4096];
    const size_t got = fread(bytes, 1, sizeof bytes, in);
    size_t i = got >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < got && (isprint((unsigned char)bytes[i]) || isspace((unsigned char)bytes[i])))
        i++;
    rewind(in);
    return i == got;
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
    if (is_text(in))
        return error_set(e, STATUS_INPUT,
                         "%s: is text; expected an image (SMV, CBF or float32 pixels)", path);
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
