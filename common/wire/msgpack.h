/*
 * MessagePack.  The writer appends items to a buffer that grows.  It uses the shortest form of each
 * item, so that a value has one encoding.  The reader is a cursor over untrusted bytes.
 */
#ifndef BRAGG_WIRE_MSGPACK_H
#define BRAGG_WIRE_MSGPACK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/message.h"

/* --- writer -------------------------------------------------------------- */

/* A writer begins as {0}.  It uses msgpack-c. */
struct writer {
    uint8_t *bytes;  // owned, to be freed by mem_free
    size_t size, capacity;
};

/* writer_grow makes room for `more` bytes in a larger array.  writer_reserve makes room if there is
 * not enough. */
void writer_grow(struct writer *w, size_t more);

static inline void writer_reserve(struct writer *w, size_t more)
{
    if (more > w->capacity - w->size)
        writer_grow(w, more);
}

void writer_int(struct writer *w, int64_t value);
void writer_real(struct writer *w, double value);
void writer_text(struct writer *w, const char *text);  // the NUL is not written

static inline void writer_byte(struct writer *w, uint8_t byte)
{
    writer_reserve(w, 1);
    w->bytes[w->size++] = byte;
}

static inline void writer_nil(struct writer *w)
{
    writer_byte(w, 0xc0);
}

static inline void writer_bool(struct writer *w, bool value)
{
    writer_byte(w, value ? 0xc3 : 0xc2);
}

void writer_uint_of_any_width(struct writer *w, uint64_t value);
static inline void writer_uint(struct writer *w, uint64_t value)
{
    if (value < 128)  // the usual case
        writer_byte(w, (uint8_t)value);
    else
        writer_uint_of_any_width(w, value);
}

/* Writes a name of `length` bytes, fewer than WRITER_KEY_SIZE.  WRITER_KEY_SIZE bytes from `name`
 * on must be readable. */
enum { WRITER_KEY_SIZE = 32 };
static inline void writer_key(struct writer *w, const char *name, size_t length)
{
    writer_reserve(w, 1 + WRITER_KEY_SIZE);
    w->bytes[w->size] = (uint8_t)(0xa0 | length);
    memcpy(w->bytes + w->size + 1, name, WRITER_KEY_SIZE);
    w->size += 1 + length;
}

/* Write the head of an array of `count` items, or of a map of `count` pairs of key and item. */
void writer_large_array(struct writer *w, size_t count);
static inline void writer_array(struct writer *w, size_t count)
{
    if (count < 16)
        writer_byte(w, (uint8_t)(0x90 | count));
    else
        writer_large_array(w, count);
}

void writer_large_map(struct writer *w, size_t count);
static inline void writer_map(struct writer *w, size_t count)
{
    if (count < 16)
        writer_byte(w, (uint8_t)(0x80 | count));
    else
        writer_large_map(w, count);
}

/* Returns a part that owns the written bytes. */
static inline struct part part_written(const struct writer *w)
{
    return (struct part){.data = w->bytes, .size = w->size, .release = mem_free, .owner = w->bytes};
}

/* --- reader -------------------------------------------------------------- */

/* A reader never allocates and never recurses.  It compares every claimed length and count with the
 * number of bytes that are left.  If the next item is not of the requested kind, a function returns
 * false and leaves the cursor unchanged. */
struct reader {
    const uint8_t *at, *end;
};

/* Returns a reader of `size` bytes, which must outlive the reader. */
static inline struct reader reader_over(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    return (struct reader){bytes, bytes + size};
}

bool reader_nil(struct reader *r);
bool reader_bool(struct reader *r, bool *value);

/* Read an integer of any width within [min, max]. */
bool reader_int(struct reader *r, int64_t min, int64_t max, int64_t *value);
bool reader_uint_of_any_width(struct reader *r, uint64_t max, uint64_t *value);
static inline bool reader_uint(struct reader *r, uint64_t max, uint64_t *value)
{
    const uint8_t tag = r->at == r->end ? 0xff : *r->at;
    if (tag >= 0x80 || tag > max)
        return reader_uint_of_any_width(r, max, value);
    *value = tag;  // the usual case
    r->at++;
    return true;
}

/* Reads a float64.  Refuses NaN and infinity. */
bool reader_real(struct reader *r, double *value);

/* Reads text of at most size - 1 bytes without NUL into `text`, and adds a NUL. */
bool reader_text(struct reader *r, char *text, size_t size);

/* Reads text of at most READER_KEY_MAX bytes without NUL.  *key is a reader of its bytes. */
enum { READER_KEY_MAX = 63 };
bool reader_key(struct reader *r, struct reader *key);

/* Like reader_key, but returns false unless the key is `text`, of `size` bytes, in the encoding
 * that the writer uses.  `size` is 1 to 31.  At least 8 bytes from `text` on must be readable. */
static inline bool reader_key_is(struct reader *r, const char *text, size_t size,
                                 struct reader *key)
{
    uint64_t a, b;
    const size_t left = (size_t)(r->end - r->at);
    if (left <= size || *r->at != (0xa0 | size))
        return false;
    if (size <= sizeof a && left > sizeof a) {  // the usual case
        memcpy(&a, r->at + 1, sizeof a);
        memcpy(&b, text, sizeof b);
        if (be64toh(a ^ b) >> 8 * (sizeof a - size))
            return false;
    } else if (memcmp(r->at + 1, text, size) != 0) {
        return false;
    }
    key->at = r->at + 1;
    key->end = r->at += 1 + size;
    return true;
}

/* Returns true if the first eight bytes of the next key show that it comes after `text`.  Reads
 * nothing.  At least 8 bytes from `text` on must be readable, with zeros after the end of the
 * text. */
static inline bool reader_key_is_after(const struct reader *r, const char *text)
{
    uint64_t a, b;
    if ((size_t)(r->end - r->at) <= sizeof a || (*r->at & 0xe0) != 0xa0)
        return false;
    memcpy(&a, r->at + 1, sizeof a);
    memcpy(&b, text, sizeof b);
    const unsigned size = *r->at & 0x1f;
    a = be64toh(a);
    if (size < sizeof a)
        a = size ? a >> 8 * (sizeof a - size) << 8 * (sizeof a - size) : 0;
    return a > be64toh(b);
}

/* Read the head of an array or a map.  *count is at most `max`, and at most the number that the
 * remaining bytes can contain. */
bool reader_array(struct reader *r, uint32_t max, uint32_t *count);
bool reader_map(struct reader *r, uint32_t max, uint32_t *count);

/* Skips one item of any type with everything that it contains. */
bool reader_skip(struct reader *r);

/* Returns true if no bytes are left. */
bool reader_done(const struct reader *r);

#endif
