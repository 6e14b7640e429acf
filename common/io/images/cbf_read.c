/* Reading mini-CBF: what bragg-compare needs. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/images/byte_offset.h"
#include "io/images/cbf.h"

/* What the text in front of the binary part says. */
struct layout {
    size_t bytes, padding, count, fast, slow;
};

/* The whole number behind "key:"; false when there is none. */
static bool find_number(const char *text, const char *key, size_t *value)
{
    const char *at = strstr(text, key);
    char *end = NULL;
    if (!at)
        return false;
    at += strlen(key);
    *value = strtoul(at, &end, 10);
    return end != at && *value < SIZE_MAX / 16;
}

static enum status read_layout(const char *text, size_t left, const char *path, struct layout *l,
                               struct error *e)
{
    if (!strstr(text, "x-CBF_BYTE_OFFSET") || !strstr(text, "\"signed 32-bit integer\""))
        return error_set(e, STATUS_INPUT,
                         "%s: no CBF of signed 32-bit integers as byte offsets, the only kind that "
                         "can be read",
                         path);
    if (!find_number(text, "X-Binary-Size:", &l->bytes) ||
        !find_number(text, "X-Binary-Size-Fastest-Dimension:", &l->fast) ||
        !find_number(text, "X-Binary-Size-Second-Dimension:", &l->slow) || l->fast == 0 ||
        l->slow == 0)
        return error_set(e, STATUS_INPUT,
                         "%s: X-Binary-Size or a dimension is missing or no number above 0", path);
    if (!find_number(text, "X-Binary-Size-Padding:", &l->padding))
        l->padding = 0;
    if (l->bytes > left)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes of pixels, must be %zu", path,
                         left, l->bytes);
    if (l->padding > left - l->bytes)
        return error_set(e, STATUS_INPUT, "%s: too short: %zu bytes behind the pixels, must be %zu",
                         path, left - l->bytes, l->padding);
    /* No pixel takes less than a byte. */
    if (!size_multiply(l->fast, l->slow, &l->count) || l->count > l->bytes)
        return error_set(e, STATUS_INPUT, "%s: %zu x %zu pixels cannot be in %zu bytes", path,
                         l->fast, l->slow, l->bytes);
    return STATUS_OK;
}

/* `content` is a whole file, followed by a 0. */
static enum status parse(char *content, size_t size, const char *path, struct image_file *f,
                         struct error *e)
{
    static const char marker[] = "\x0c\x1a\x04\xd5";
    struct layout l;
    struct error cause = {0};
    char *mark = memmem(content, size, marker, 4);
    if (size < 6 || memcmp(content, "###CBF", 6) != 0 || !mark)
        return error_set(e, STATUS_INPUT, "%s: no CBF: no ###CBF or no binary part", path);
    *mark = 0;
    const char *data = mark + 4;
    enum status s = read_layout(content, size - (size_t)(data - content), path, &l, e);
    if (s)
        return s;
    if (!image_reserve(&f->image, PIXEL_I32, UNIT_ADU, l.count))
        return error_memory(e, path);
    f->fast = (int64_t)l.fast;
    f->slow = (int64_t)l.slow;
    s = byte_offset_decode((const uint8_t *)data, l.bytes, f->image.pixels, l.count, &cause);
    return s ? error_set(e, s, "%s: %s", path, cause.text) : STATUS_OK;
}

enum status cbf_read(FILE *in, const char *path, size_t size, struct image_file *f, struct error *e)
{
    char *content = mem_array(size + 1, 1);
    if (!content)
        return error_memory(e, path);
    const enum status s = fread(content, 1, size, in) == size
                              ? parse(content, size, path, f, e)
                              : error_errno(e, STATUS_INPUT, "%s: cannot read", path);
    mem_free(content);
    if (s)
        image_free(&f->image);
    return s;
}
