#include "wire/msgpack.h"

#include <endian.h>
#include <math.h>
#include <msgpack.h>
#include <string.h>

/* --- writer -------------------------------------------------------------- */

enum { ROOM = 128 };  // smallest number of bytes that are allocated at once

void writer_grow(struct writer *w, size_t more)
{
    w->bytes = mem_grow(w->bytes, w->size, more < ROOM ? ROOM : more, 1, &w->capacity);
}

/* Callback of msgpack-c: appends the bytes of an item. */
static int append_bytes(void *writer, const char *bytes, size_t size)
{
    struct writer *w = writer;
    writer_reserve(w, size);
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return 0;
}

static msgpack_packer packer(struct writer *w)
{
    return (msgpack_packer){.data = w, .callback = append_bytes};
}

void writer_uint_of_any_width(struct writer *w, uint64_t value)
{
    msgpack_packer p = packer(w);
    msgpack_pack_uint64(&p, value);
}

void writer_int(struct writer *w, int64_t value)
{
    msgpack_packer p = packer(w);
    msgpack_pack_int64(&p, value);
}

void writer_real(struct writer *w, double value)
{
    msgpack_packer p = packer(w);
    msgpack_pack_double(&p, value);
}

void writer_text(struct writer *w, const char *text)
{
    msgpack_packer p = packer(w);
    const size_t length = strlen(text);
    msgpack_pack_str(&p, length);
    msgpack_pack_str_body(&p, text, length);
}

void writer_large_array(struct writer *w, size_t count)
{
    msgpack_packer p = packer(w);
    msgpack_pack_array(&p, count);
}

void writer_large_map(struct writer *w, size_t count)
{
    msgpack_packer p = packer(w);
    msgpack_pack_map(&p, count);
}

/* --- reader -------------------------------------------------------------- */

static size_t bytes_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

bool reader_done(const struct reader *r)
{
    return r->at == r->end;
}

/* Reads a big-endian number of `size` bytes at offset 1 of the item.  Returns false if the number
 * is cut off. */
static bool number(const struct reader *r, size_t size, uint64_t *value)
{
    if (bytes_left(r) < 1 + size)
        return false;
    if (bytes_left(r) > 8) {  // the usual case
        memcpy(value, r->at + 1, 8);
        *value = size ? be64toh(*value) >> (64 - 8 * size) : 0;
        return true;
    }
    *value = 0;
    for (size_t i = 1; i <= size; i++)
        *value = *value << 8 | r->at[i];
    return true;
}

/* Reads the byte `tag`.  Returns false, and reads nothing, if the next byte is another one. */
static bool take_tag(struct reader *r, uint8_t tag)
{
    if (!bytes_left(r) || *r->at != tag)
        return false;
    r->at++;
    return true;
}

bool reader_nil(struct reader *r)
{
    return take_tag(r, 0xc0);
}

bool reader_bool(struct reader *r, bool *value)
{
    if (take_tag(r, 0xc2))
        *value = false;
    else if (take_tag(r, 0xc3))
        *value = true;
    else
        return false;
    return true;
}

/* Reads any integer as sign and 64 bits (two's complement if negative).  Returns the size of the
 * item in bytes.  0: the item is not an integer. */
static size_t integer(const struct reader *r, bool *negative, uint64_t *value)
{
    if (!bytes_left(r))
        return 0;
    const uint8_t tag = *r->at;
    *negative = false;
    if (tag < 0x80 || tag >= 0xe0) {
        *negative = tag >= 0xe0;
        *value = *negative ? UINT64_MAX << 8 | tag : tag;
        return 1;
    }
    if (tag < 0xcc || tag > 0xd3)
        return 0;
    const unsigned width = 1u << (tag & 3);
    if (!number(r, width, value))
        return 0;
    if (tag >= 0xd0 && *value >> (8 * width - 1)) {
        *negative = true;
        if (width < 8)
            *value |= UINT64_MAX << (8 * width);
    }
    return 1 + width;
}

bool reader_int(struct reader *r, int64_t min, int64_t max, int64_t *value)
{
    bool negative;
    uint64_t bits;
    const size_t size = integer(r, &negative, &bits);
    if (!size || (!negative && bits > INT64_MAX))
        return false;
    const int64_t x = (int64_t)bits;
    if (x < min || x > max)
        return false;
    *value = x;
    r->at += size;
    return true;
}

bool reader_uint_of_any_width(struct reader *r, uint64_t max, uint64_t *value)
{
    bool negative;
    uint64_t bits;
    const size_t size = integer(r, &negative, &bits);
    if (!size || negative || bits > max)
        return false;
    *value = bits;
    r->at += size;
    return true;
}

bool reader_real(struct reader *r, double *value)
{
    uint64_t bits;
    double x;
    if (!bytes_left(r) || *r->at != 0xcb || !number(r, 8, &bits))
        return false;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x))
        return false;
    *value = x;
    r->at += 9;
    return true;
}

/* The layout of an item: `head` bytes, then `body` bytes of content, then `items` items that it
 * contains. */
struct layout {
    size_t head, body, items;
};

/* Finds the layout of an item with a tag from 0xc4 to 0xdf.  The table is indexed by the low five
 * bits of the tag.  It has the size of the length field, the size of a fixed body, and the unit
 * of the length.  Returns false if the item is cut off. */
static bool layout_tagged(const struct reader *r, struct layout *l)
{
    static const struct {
        uint8_t length, fixed, counts;  // counts: 0 bytes, 1 items, 2 pairs of items
    } tags[] = {
        [0x04] = {1, 0, 0},  [0x05] = {2, 0, 0}, [0x06] = {4, 0, 0},                      // bin
        [0x07] = {1, 1, 0},  [0x08] = {2, 1, 0}, [0x09] = {4, 1, 0},                      // ext
        [0x0a] = {0, 4, 0},  [0x0b] = {0, 8, 0},                                          // float
        [0x0c] = {0, 1, 0},  [0x0d] = {0, 2, 0}, [0x0e] = {0, 4, 0}, [0x0f] = {0, 8, 0},  // uint
        [0x10] = {0, 1, 0},  [0x11] = {0, 2, 0}, [0x12] = {0, 4, 0}, [0x13] = {0, 8, 0},  // int
        [0x14] = {0, 2, 0},  [0x15] = {0, 3, 0}, [0x16] = {0, 5, 0}, [0x17] = {0, 9, 0},  // fixext
        [0x18] = {0, 17, 0},                                                              // fixext
        [0x19] = {1, 0, 0},  [0x1a] = {2, 0, 0}, [0x1b] = {4, 0, 0},                      // str
        [0x1c] = {2, 0, 1},  [0x1d] = {4, 0, 1},                                          // array
        [0x1e] = {2, 0, 2},  [0x1f] = {4, 0, 2},                                          // map
    };
    const uint8_t i = *r->at & 0x1f;
    uint64_t length;
    if (!number(r, tags[i].length, &length))
        return false;
    l->head = 1u + tags[i].length;
    l->body = tags[i].fixed + (tags[i].counts ? 0 : (size_t)length);
    l->items = tags[i].counts * (size_t)length;
    return true;
}

/* Finds the layout of the next item.  Returns false if the item is cut off or claims more bytes
 * than are left. */
static bool layout(const struct reader *r, struct layout *l)
{
    if (!bytes_left(r))
        return false;
    const uint8_t tag = *r->at;
    *l = (struct layout){.head = 1};
    if (tag >= 0x80 && tag < 0x90)
        l->items = 2u * (tag & 15u);
    else if (tag >= 0x90 && tag < 0xa0)
        l->items = tag & 15u;
    else if (tag >= 0xa0 && tag < 0xc0)
        l->body = tag & 31u;
    else if (tag == 0xc1)
        return false;
    else if (tag >= 0xc4 && tag < 0xe0 && !layout_tagged(r, l))
        return false;
    return l->body <= bytes_left(r) - l->head && l->items <= bytes_left(r) - l->head - l->body;
}

static bool is_tag(const struct reader *r, uint8_t fixed, uint8_t mask, uint8_t first, uint8_t last)
{
    return bytes_left(r) && ((*r->at & mask) == fixed || (*r->at >= first && *r->at <= last));
}

/* Reads text of at most `max` bytes without NUL.  *bytes is a reader of its bytes. */
static bool text_bytes(struct reader *r, size_t max, struct reader *bytes)
{
    struct layout l;
    const size_t few = bytes_left(r) ? *r->at ^ 0xa0u : UINT8_MAX;
    if (few < 32 && few < bytes_left(r) && few <= max &&
        !memchr(r->at + 1, 0, few)) {  // the usual case
        *bytes = reader_over(r->at + 1, few);
        r->at = bytes->end;
        return true;
    }
    if (!is_tag(r, 0xa0, 0xe0, 0xd9, 0xdb) || !layout(r, &l) || l.body > max ||
        memchr(r->at + l.head, 0, l.body))
        return false;
    *bytes = reader_over(r->at + l.head, l.body);
    r->at = bytes->end;
    return true;
}

bool reader_key(struct reader *r, struct reader *key)
{
    return text_bytes(r, READER_KEY_MAX, key);
}

bool reader_text(struct reader *r, char *text, size_t size)
{
    struct reader bytes;
    if (!text_bytes(r, size - 1, &bytes))
        return false;
    const size_t length = bytes_left(&bytes);
    memcpy(text, bytes.at, length);
    text[length] = 0;
    return true;
}

bool reader_array(struct reader *r, uint32_t max, uint32_t *count)
{
    struct layout l;
    if (!is_tag(r, 0x90, 0xf0, 0xdc, 0xdd) || !layout(r, &l) || l.items > max)
        return false;
    *count = (uint32_t)l.items;
    r->at += l.head;
    return true;
}

bool reader_map(struct reader *r, uint32_t max, uint32_t *count)
{
    struct layout l;
    if (!is_tag(r, 0x80, 0xf0, 0xde, 0xdf) || !layout(r, &l) || l.items / 2 > max)
        return false;
    *count = (uint32_t)(l.items / 2);
    r->at += l.head;
    return true;
}

bool reader_skip(struct reader *r)
{
    const struct reader start = *r;
    struct layout l;
    size_t pending = 1;  // each item needs at least one byte, so a false count is found at once
    do {
        if (pending > bytes_left(r) || !layout(r, &l)) {
            *r = start;
            return false;
        }
        r->at += l.head + l.body;
        pending += l.items - 1;
    } while (pending);
    return true;
}
