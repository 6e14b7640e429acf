#include "io/images/cbf.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/isa.h"
#include "io/images/byte_offset.h"

/* Pixels that are encoded at once, and bytes that this may take. */
enum { CHUNK = 16384, CHUNK_BYTES = BYTE_OFFSET_WORST * CHUNK + BYTE_OFFSET_SLACK };

void cbf_scratch_free(struct cbf_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct cbf_scratch){0};
}

/* The n pixels from number `first` as int32: the image's own, or in room[CHUNK] when they
 * must be changed.  NULL when one is too large, and then *first is its number. */
static const int32_t *whole_pixels(const struct image *image, const uint8_t *mask, size_t *first,
                                   size_t n, int32_t *room)
{
    const int32_t *pixels = (const int32_t *)image->pixels + *first;
    if (image->type == PIXEL_U16) {
        const uint16_t *narrow = (const uint16_t *)image->pixels + *first;
        for (size_t i = 0; i < n; i++)
            room[i] = narrow[i];
        pixels = room;
    }
    if (image->type == PIXEL_U32)
        for (size_t i = 0; i < n; i++)
            if (pixels[i] < 0 && (!mask || mask[*first + i])) {
                *first += i;
                return NULL;
            }
    for (size_t i = 0; mask && i < n; i++)
        room[i] = mask[*first + i] ? pixels[i] : CBF_MASKED;
    return mask ? room : pixels;
}

/* Room for one more chunk behind `used` bytes. */
static bool reserve(struct cbf_scratch *scratch, size_t used, size_t count)
{
    if (scratch->size >= used + CHUNK_BYTES)
        return true;
    const size_t size = (used ? 2 * used : count + count / 8) + CHUNK_BYTES;
    uint8_t *bytes = realloc(scratch->bytes, size);
    if (!bytes)
        return false;
    *scratch = (struct cbf_scratch){bytes, size};
    return true;
}

/* Encodes the image into the scratch; *bytes becomes its length. */
static enum status encode(const struct image *image, const uint8_t *mask,
                          struct cbf_scratch *scratch, size_t *bytes, struct error *e)
{
    const struct byte_offset_kernels *kernels = byte_offset_kernels(isa_best());
    int32_t room[CHUNK], previous = 0;
    *bytes = 0;
    for (size_t first = 0; first < image->count; first += CHUNK) {
        const size_t n = image->count - first < CHUNK ? image->count - first : CHUNK;
        if (!reserve(scratch, *bytes, image->count))
            return error_memory(e, "an encoded image");
        uint8_t *to = scratch->bytes + *bytes;
        if (image->type == PIXEL_U16 && !mask) {
            const uint16_t *narrow = (const uint16_t *)image->pixels + first;
            *bytes += kernels->encode_u16(narrow, n, previous, to);
            previous = narrow[n - 1];
            image_was_read(image, first + n);
            continue;
        }
        const int32_t *pixels = whole_pixels(image, mask, &first, n, room);
        if (!pixels)
            return error_set(e, STATUS_INPUT, "pixel %zu is %" PRIu32 ", CBF holds up to %d", first,
                             ((const uint32_t *)image->pixels)[first], INT32_MAX);
        *bytes += kernels->encode_i32(pixels, n, previous, to);
        previous = pixels[n - 1];
        image_was_read(image, first + n);
    }
    return STATUS_OK;
}

static enum status check(const struct experiment *x, const struct image *image, struct error *e)
{
    if (x->npanels != 1)
        return error_set(e, STATUS_INPUT, "a mini-CBF file holds one panel, the detector has %zu",
                         x->npanels);
    if (!image->pixels || image->type == PIXEL_F32)
        return error_set(e, STATUS_INPUT, "the pixels are no whole numbers, as CBF needs them");
    if ((int64_t)image->count != experiment_pixels(x))
        return error_set(e, STATUS_INPUT, "the image has %zu pixels, its panel %" PRId64,
                         image->count, experiment_pixels(x));
    return STATUS_OK;
}

enum status cbf_write(FILE *out, const struct experiment *x, const struct frame *f,
                      enum cbf_header kind, struct cbf_scratch *scratch, struct error *e)
{
    static const char padding[4095];
    static const char end[] = "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n";
    struct header_text h;
    size_t bytes;
    enum status s = check(x, &f->image, e);
    s = s ? s : cbf_header_check(kind, x, e);
    if (!s)
        s = encode(&f->image, x->panels->mask, scratch, &bytes, e);
    if (s)
        return s;
    cbf_header_make(&h, kind, x, f, bytes);
    if (fwrite(h.text, 1, h.length, out) != h.length ||
        fwrite(scratch->bytes, 1, bytes, out) != bytes ||
        fwrite(padding, 1, sizeof padding, out) != sizeof padding || fputs(end, out) < 0)
        return error_errno(e, STATUS_FAILED, "cannot write a CBF image");
    return STATUS_OK;
}
