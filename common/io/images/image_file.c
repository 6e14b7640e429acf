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

/* d*TREK stores a count above 32767 of an image plate as a share of it: such files are readable
 * where no pixel is that bright. */
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

/* Pixels of two bytes whose type is not said are unsigned_short, as other readers have it. */
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
                         "%s: header: has no TYPE, and pixels have 4 bytes; expected "
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

/* Pixels are hardly ever text: bytes that are printable from the first one on. */
static bool is_text(const char *first, size_t n)
{
    enum { LEAST = 16 };
    size_t i = n >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < n && (isprint((unsigned char)first[i]) || isspace((unsigned char)first[i])))
        i++;
    return n >= LEAST && i == n;
}

/* Raw pixels have no mark of their own: a file that begins as another format does, or as text,
 * is refused, whatever its length. */
static enum status refuse_other_formats(const char *path, const char *first, size_t n,
                                        struct error *e)
{
    const enum filetype type = filetype_of(first, n);
    if (type != FILETYPE_OTHER)
        return filetype_check(path, type, FILETYPE_PIXELS, e);
    if (is_text(first, n))
        return error_set(e, STATUS_INPUT, "%s: is text; expected SMV, CBF or float32 pixels", path);
    return STATUS_OK;
}

static enum status read_file(FILE *in, const char *path, struct image_file *f, struct error *e)
{
    struct stat st;
    if (fstat(fileno(in), &st))
        return error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    if (!S_ISREG(st.st_mode))
        return error_set(e, STATUS_INPUT, "%s: must be an ordinary file", path);
    const size_t size = (size_t)st.st_size;
    char first[512] = {0};
    const size_t got = fread(first, 1, sizeof first, in);
    rewind(in);
    const enum filetype type = filetype_of(first, got);
    if (type == FILETYPE_SMV)
        return read_smv(in, path, size, f, e);
    if (type == FILETYPE_CBF)
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
