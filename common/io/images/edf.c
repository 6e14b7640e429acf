#include "io/images/edf.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "io/images/pixel_bytes.h"

enum { BLOCK = 512, HEADER_MAX = 1 << 20, VALUE_SIZE = 128, EDGE_MAX = 1 << 20 };

/* A header that is being read. */
struct edf {
    const char *path;
    struct error *e;
    enum status status;
    char *text;    // owned: the header, up to its closing brace
    size_t bytes;  // of the header, with its padding
};

__attribute__((format(printf, 2, 3))) static void refuse(struct edf *h, const char *format, ...)
{
    char text[200];
    va_list all;
    va_start(all, format);
    (void)vsnprintf(text, sizeof text, format, all);
    va_end(all);
    if (!h->status)
        h->status = error_set(h->e, STATUS_INPUT, "%s: header: %s", h->path, text);
}

/* Reads the text of the header up to the brace that ends it, from a file of `size` bytes. */
static void read_text(struct edf *h, FILE *in, size_t size)
{
    const size_t most = size < HEADER_MAX ? size / BLOCK * BLOCK : HEADER_MAX;
    h->text = mem_array(most + BLOCK + 1, 1);
    while (h->bytes < most) {
        const size_t n = fread(h->text + h->bytes, 1, BLOCK, in);
        char *end = memchr(h->text + h->bytes, '}', n);
        if (n != BLOCK || memchr(h->text + h->bytes, '\0', n))
            break;
        h->bytes += n;
        if (end) {
            *end = '\0';
            return;
        }
    }
    refuse(h, "the closing brace is missing in a multiple of %d bytes", BLOCK);
}

/* Finds the value of a key, which may be written in upper or lower case, in value[VALUE_SIZE].
 * Returns false if the header does not have the key.  Refuses a key with two values. */
static bool find(struct edf *h, const char *key, char value[VALUE_SIZE])
{
    const size_t length = strlen(key);
    bool found = false;
    *value = '\0';
    for (const char *at = h->text; at; at = strpbrk(at, ";\n{")) {
        at += strspn(at, " \t\r\n;{");
        if (!*at)
            break;
        if (strncasecmp(at, key, length) != 0)
            continue;
        const char *equals = at + length + strspn(at + length, " \t");
        if (*equals != '=')
            continue;
        const char *from = equals + 1 + strspn(equals + 1, " \t");
        size_t n = strcspn(from, ";\n");
        while (n && strchr(" \t\r", from[n - 1]))
            n--;
        if (found || n >= VALUE_SIZE)
            refuse(h, "%s is given twice or is too long", key);
        found = true;
        (void)snprintf(value, VALUE_SIZE, "%.*s", n < VALUE_SIZE ? (int)n : VALUE_SIZE - 1, from);
    }
    return found;
}

/* Returns the number of a key; `otherwise` if the header does not have the key. */
static double real_of(struct edf *h, const char *key, double otherwise)
{
    char value[VALUE_SIZE];
    const char *end;
    if (!find(h, key, value))
        return otherwise;
    const double x = number_real(value, &end);
    if (end == value || *end || !isfinite(x))
        refuse(h, "%s is not a number (got '%.40s')", key, value);
    return x;
}

/* Returns the number of pixels of a key.  0 after an error. */
static int64_t edge_of(struct edf *h, const char *key)
{
    const double x = real_of(h, key, 0);
    if (!(x >= 1 && x <= EDGE_MAX && x == floor(x)))
        refuse(h, "%s must be a whole number from 1 to %d", key, EDGE_MAX);
    return h->status ? 0 : (int64_t)x;
}

/* Refuses a key with another value than one of `words`, separated by blanks. */
static void expect(struct edf *h, const char *key, const char *words)
{
    char value[VALUE_SIZE], list[VALUE_SIZE];
    if (!find(h, key, value))
        return;
    (void)snprintf(list, sizeof list, "%s", words);
    char *rest = list;
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        if (strcasecmp(word, value) == 0)
            return;
    refuse(h, "%s is '%.40s', which cannot be read; expected %s", key, value, words);
}

/* Returns how a pixel is stored. */
static struct pixel_bytes pixel_of(struct edf *h)
{
    static const struct {
        const char *name;
        struct pixel_bytes pixel;
    } types[] = {
        {"UnsignedByte", {.size = 1}},
        {"SignedByte", {.size = 1, .is_signed = true}},
        {"UnsignedShort", {.size = 2}},
        {"SignedShort", {.size = 2, .is_signed = true}},
        {"UnsignedInteger", {.size = 4}},
        {"UnsignedLong", {.size = 4}},
        {"SignedInteger", {.size = 4, .is_signed = true}},
        {"SignedLong", {.size = 4, .is_signed = true}},
        {"Float", {.size = 4, .is_real = true}},
        {"FloatValue", {.size = 4, .is_real = true}},
    };
    char value[VALUE_SIZE], order[VALUE_SIZE];
    struct pixel_bytes p = {.size = 0};
    const bool typed = find(h, "DataType", value), ordered = find(h, "ByteOrder", order);
    for (size_t i = 0; typed && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].name, value) == 0)
            p = types[i].pixel;
    if (!p.size)
        refuse(h,
               "DataType is '%.40s', which cannot be read; expected UnsignedShort, SignedInteger, "
               "FloatValue or another type of at most 4 bytes",
               value);
    p.big = strcasecmp(order, "HighByteFirst") == 0;
    if (p.size > 1 && !p.big && strcasecmp(order, "LowByteFirst") != 0)
        refuse(h, "ByteOrder is %s%.40s; expected LowByteFirst or HighByteFirst",
               ordered ? "" : "missing", order);
    return p;
}

/* Checks that the file has one image of this size, and nothing behind it. */
static void check_bytes(struct edf *h, size_t file, size_t image)
{
    const double said = real_of(h, "Size", (double)image);
    const double binary = real_of(h, "EDF_BinarySize", (double)image);
    if (said != (double)image || binary < (double)image)
        refuse(h, "Size is %.0f, but the pixels have %zu bytes",
               said != (double)image ? said : binary, image);
    if (real_of(h, "Dim_3", 1) != 1)
        refuse(h, "the file has several images; expected one");
    if (h->status || file == h->bytes + image)
        return;
    if (file < h->bytes + image)
        refuse(h, "the file is too short: %zu bytes; expected %zu", file, h->bytes + image);
    else if (file - h->bytes - image >= BLOCK)
        refuse(h,
               "the file has several images, or %zu more bytes than its image; expected one image",
               file - h->bytes - image);
}

/* Reads and checks the header, and sets the size of the image and the type of its pixels.  The
 * caller frees h->text. */
static void open_header(struct edf *h, FILE *in, size_t file, int64_t *fast, int64_t *slow,
                        struct pixel_bytes *p)
{
    char value[VALUE_SIZE];
    read_text(h, in, file);
    if (h->status)
        return;
    *fast = edge_of(h, "Dim_1");
    *slow = edge_of(h, "Dim_2");
    *p = pixel_of(h);
    expect(h, "RasterOrientation", "1");
    expect(h, "Compression", "None NoSpecificValue No NoCompression");
    if (find(h, "EDF_BinaryFileName", value))
        refuse(h, "the pixels are in another file (%.40s); expected them behind the header", value);
    if (!h->status)
        check_bytes(h, file, (size_t)*fast * (size_t)*slow * p->size);
}

enum status edf_header(FILE *in, const char *path, size_t size, struct image_header *h,
                       struct error *e)
{
    struct edf text = {.path = path, .e = e};
    struct pixel_bytes p;
    *h = (struct image_header){0};
    open_header(&text, in, size, &h->fast, &h->slow, &p);
    if (!text.status) {
        h->pixel_m = real_of(&text, "PSize_1", 0);
        h->wavelength_m = real_of(&text, "WaveLength", 0);
    }
    mem_free(text.text);
    return text.status;
}

enum status edf_read(FILE *in, const char *path, size_t size, struct image_file *f, struct error *e)
{
    struct edf text = {.path = path, .e = e};
    struct pixel_bytes p = {.size = 1};
    open_header(&text, in, size, &f->fast, &f->slow, &p);
    mem_free(text.text);
    if (text.status)
        return text.status;
    const size_t count = (size_t)f->fast * (size_t)f->slow;
    uint8_t *bytes = mem_room(count * p.size);
    const bool whole =
        !fseek(in, (long)text.bytes, SEEK_SET) && fread(bytes, p.size, count, in) == count;
    const enum status s =
        whole ? pixel_bytes_take(&p, bytes, count, &f->image, path, e)
              : error_set(e, STATUS_INPUT, "%s: cannot read %zu pixels", path, count);
    mem_free(bytes);
    return s;
}
