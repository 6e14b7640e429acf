#include "io/images/tiff.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "io/images/pixel_bytes.h"

/* Numbers of tags [TIFF 6.0]. */
enum {
    WIDTH = 256,
    HEIGHT = 257,
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    STRIPS = 273,
    ORIENTATION = 274,
    SAMPLES = 277,
    ROWS_PER_STRIP = 278,
    STRIP_BYTES = 279,
    PREDICTOR = 317,
    TILES = 324,
    SAMPLE_FORMAT = 339,
};

/* Values of COMPRESSION.  Deflate has two numbers, and always the format of zlib. */
enum { NO_COMPRESSION = 1, DEFLATE = 8, OLD_DEFLATE = 32946 };
enum { NO_PREDICTOR = 1, DIFFERENCES = 2 };  // values of PREDICTOR
enum { DEFLATE_MOST = 1032 };                // bytes that a byte of deflate can become

enum { SHORT = 3, LONG = 4, ENTRY_BYTES = 12, ENTRIES_MAX = 4096, EDGE_MAX = 1 << 20 };

/* A file that is being read. */
struct tiff {
    FILE *in;
    const char *path;
    size_t size;
    bool big;  // big-endian
    struct error *e;
    enum status status;
    uint32_t first;  // offset of the tags
    uint16_t count;  // number of tags
    bool deflated;
    bool differs;  // a pixel is its difference from the previous one in its row
};

static void refuse(struct tiff *t, const char *what)
{
    if (!t->status)
        t->status = error_set(t->e, STATUS_INPUT, "%s: %s", t->path, what);
}

/* Reads n <= 4 bytes at `at` as a whole number. */
static uint32_t number_at(struct tiff *t, uint64_t at, size_t n)
{
    uint8_t bytes[4] = {0};
    if (t->status)
        return 0;
    if (at > t->size || n > t->size - at || fseek(t->in, (long)at, SEEK_SET) ||
        fread(bytes, 1, n, t->in) != n) {
        refuse(t, "the file is too short; expected a complete TIFF file");
        return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | bytes[t->big ? i : n - 1 - i];
    return value;
}

/* Returns the offset of the entry of a tag; 0: the file does not have the tag. */
static uint64_t entry_of(struct tiff *t, unsigned tag)
{
    for (uint16_t i = 0; i < t->count && !t->status; i++) {
        const uint64_t at = t->first + 2 + (uint64_t)i * ENTRY_BYTES;
        if (number_at(t, at, 2) == tag)
            return at;
    }
    return 0;
}

/* Returns how many values a tag has. */
static uint32_t count_of(struct tiff *t, unsigned tag)
{
    const uint64_t at = entry_of(t, tag);
    return at ? number_at(t, at + 4, 4) : 0;
}

/* Returns value number i of a tag of whole numbers; `otherwise` if the file does not have the tag.
 */
static uint32_t value_of(struct tiff *t, unsigned tag, uint32_t i, uint32_t otherwise)
{
    char text[80];
    const uint64_t at = entry_of(t, tag);
    if (!at)
        return otherwise;
    const uint32_t type = number_at(t, at + 2, 2), count = number_at(t, at + 4, 4);
    const uint32_t bytes = type == SHORT ? 2 : 4;
    if (!t->status && ((type != SHORT && type != LONG) || i >= count)) {
        (void)snprintf(text, sizeof text, "tag %u has type %" PRIu32 " and %" PRIu32 " values", tag,
                       type, count);
        refuse(t, text);
    }
    const bool inside = (uint64_t)count * bytes <= 4;
    const uint64_t place = inside ? at + 8 : number_at(t, at + 8, 4);
    return number_at(t, place + (uint64_t)i * bytes, bytes);
}

/* Refuses a value that is not the expected one. */
static void expect(struct tiff *t, unsigned tag, uint32_t otherwise, uint32_t expected,
                   const char *what)
{
    char text[200];
    const uint32_t value = value_of(t, tag, 0, otherwise);
    if (t->status || value == expected)
        return;
    (void)snprintf(text, sizeof text, "%s (got %" PRIu32 " in tag %u); expected %" PRIu32, what,
                   value, tag, expected);
    refuse(t, text);
}

/* Finds how strips are compressed. */
static void find_compression(struct tiff *t)
{
    const uint32_t value = value_of(t, COMPRESSION, 0, NO_COMPRESSION);
    t->deflated = value == DEFLATE || value == OLD_DEFLATE;
    if (!t->deflated) {
        expect(t, COMPRESSION, NO_COMPRESSION, NO_COMPRESSION,
               "the image is compressed by another method than deflate. Write it with deflate or "
               "without compression");
        return;
    }
    t->differs = value_of(t, PREDICTOR, 0, NO_PREDICTOR) == DIFFERENCES;
    if (!t->differs)
        expect(t, PREDICTOR, NO_PREDICTOR, NO_PREDICTOR,
               "the image has differences of floats. Write it without predictor");
}

/* Finds the tags of the only image, and checks those that say how pixels are stored. */
static void open_tags(struct tiff *t)
{
    enum { BLACK_IS_ZERO = 1, TOP_LEFT = 1 };
    t->big = number_at(t, 0, 1) == 'M';
    t->first = number_at(t, 4, 4);
    t->count = (uint16_t)number_at(t, t->first, 2);
    if (t->count > ENTRIES_MAX)
        refuse(t, "too many tags; expected a TIFF file");
    if (number_at(t, t->first + 2 + (uint64_t)t->count * ENTRY_BYTES, 4))
        refuse(t, "the file has several images; expected one");
    find_compression(t);
    expect(t, SAMPLES, 1, 1, "the image has colours");
    expect(t, ORIENTATION, TOP_LEFT, TOP_LEFT, "the image is turned or mirrored");
    expect(t, PHOTOMETRIC, BLACK_IS_ZERO, BLACK_IS_ZERO, "the values are inverted or are colours");
    if (entry_of(t, TILES))
        refuse(t, "the image is stored in tiles; expected strips");
}

/* Returns how a pixel is stored. */
static struct pixel_bytes pixel_of(struct tiff *t)
{
    enum { UNSIGNED = 1, SIGNED = 2, FLOATS = 3 };
    char text[120];
    const uint32_t bits = value_of(t, BITS, 0, 1);
    const uint32_t format = value_of(t, SAMPLE_FORMAT, 0, UNSIGNED);
    const struct pixel_bytes p = {.size = bits / 8,
                                  .is_signed = format == SIGNED,
                                  .is_real = format == FLOATS,
                                  .big = t->big};
    if (!t->status && (format < UNSIGNED || format > FLOATS || bits % 8 || !pixel_bytes_good(&p))) {
        (void)snprintf(text, sizeof text,
                       "pixels have %" PRIu32 " bits and the format %" PRIu32
                       "; expected 8, 16 or 32 bits of whole numbers, or 32 bits of floats",
                       bits, format);
        refuse(t, text);
    }
    return p;
}

static void take_size(struct tiff *t, int64_t *fast, int64_t *slow)
{
    *fast = value_of(t, WIDTH, 0, 0);
    *slow = value_of(t, HEIGHT, 0, 0);
    if (!t->status && (*fast < 1 || *slow < 1 || *fast > EDGE_MAX || *slow > EDGE_MAX))
        refuse(t, "the width or the height is not possible");
}

enum status tiff_header(FILE *in, const char *path, size_t size, struct image_header *h,
                        struct error *e)
{
    struct tiff t = {.in = in, .path = path, .size = size, .e = e};
    *h = (struct image_header){0};
    open_tags(&t);
    take_size(&t, &h->fast, &h->slow);
    (void)pixel_of(&t);
    return t.status;
}

/* Reads the n bytes of a strip, which are inside the file, into out[room].  Returns the number of
 * bytes of its pixels; 0: an error. */
static size_t read_strip(struct tiff *t, uint64_t at, size_t n, uint8_t *out, size_t room)
{
    if (!t->deflated && n > room) {
        refuse(t, "the strips do not fit the size of the image");
        return 0;
    }
    uint8_t *packed = t->deflated ? mem_room(n) : out;
    uLongf length = t->deflated ? room : n;
    if (fseek(t->in, (long)at, SEEK_SET) || fread(packed, 1, n, t->in) != n)
        refuse(t, "cannot read a strip of the image");
    else if (t->deflated && uncompress(out, &length, packed, n) != Z_OK)
        refuse(t, "a strip is damaged, or does not fit the size of the image");
    if (t->deflated)
        mem_free(packed);
    return t->status ? 0 : length;
}

/* Reads all strips into bytes[all]. */
static void read_strips(struct tiff *t, int64_t slow, uint8_t *bytes, size_t all)
{
    const uint32_t strips = count_of(t, STRIPS);
    size_t done = 0;
    if (strips != count_of(t, STRIP_BYTES) || strips > slow)
        refuse(t, "the file is corrupt: the number of strips is not possible");
    for (uint32_t i = 0; i < strips && !t->status; i++) {
        const uint64_t at = value_of(t, STRIPS, i, 0), n = value_of(t, STRIP_BYTES, i, 0);
        if (!t->status && (at > t->size || n > t->size - at))
            refuse(t, "the strips do not fit the size of the image");
        if (!t->status)
            done += read_strip(t, at, (size_t)n, bytes + done, all - done);
    }
    if (done != all)
        refuse(t, "the strips do not fit the size of the image");
}

/* Adds the pixels of each row up, which are differences modulo their size. */
static void add_up(const struct pixel_bytes *p, uint8_t *bytes, size_t fast, size_t slow)
{
    for (size_t i = 0; i < fast * slow; i++) {
        uint8_t *pixel = bytes + i * p->size;
        unsigned carry = 0;
        for (size_t k = 0; k < p->size && i % fast; k++) {
            const size_t at = p->big ? p->size - 1 - k : k;
            carry += (unsigned)pixel[at] + *(pixel + at - p->size);
            pixel[at] = (uint8_t)carry;
            carry >>= 8;
        }
    }
}

/* Checks that a file of this size can hold an image of `bytes` bytes, before memory is reserved. */
static void check_size(struct tiff *t, size_t bytes)
{
    if (bytes / (t->deflated ? DEFLATE_MOST : 1) > t->size)
        refuse(t, "the file is too short for its image");
}

enum status tiff_read(FILE *in, const char *path, size_t size, struct image_file *f,
                      struct error *e)
{
    struct tiff t = {.in = in, .path = path, .size = size, .e = e};
    open_tags(&t);
    take_size(&t, &f->fast, &f->slow);
    const struct pixel_bytes p = pixel_of(&t);
    const size_t count = (size_t)f->fast * (size_t)f->slow;
    if (!t.status)
        check_size(&t, count * p.size);
    if (t.status)
        return t.status;
    uint8_t *bytes = mem_room(count * p.size);
    read_strips(&t, f->slow, bytes, count * p.size);
    if (!t.status && t.differs)
        add_up(&p, bytes, (size_t)f->fast, (size_t)f->slow);
    const enum status s =
        t.status ? t.status : pixel_bytes_take(&p, bytes, count, &f->image, path, e);
    mem_free(bytes);
    return s;
}
