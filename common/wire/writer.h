/*
 * Writes MessagePack, by msgpack-c, into memory that grows: the counterpart of wire/reader.h.  Each
 * item is as short as it can be, so that a value has one encoding.
 */
#ifndef BRAGG_WIRE_WRITER_H
#define BRAGG_WIRE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/message.h"

/* Begins as {0}. */
struct writer {
    uint8_t *bytes;  // owned, to be freed by mem_free
    size_t size, capacity;
    bool full;  // memory was out: something is missing
};

/* Makes room for so many bytes more; false when memory is out. */
bool writer_grow(struct writer *w, size_t more);

static inline bool writer_has_room(struct writer *w, size_t more)
{
    return more <= w->capacity - w->size || writer_grow(w, more);
}

void writer_int(struct writer *w, int64_t value);
void writer_real(struct writer *w, double value);
void writer_text(struct writer *w, const char *text);  // without a NUL

static inline void writer_byte(struct writer *w, uint8_t byte)
{
    if (writer_has_room(w, 1))
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
    if (value < 128)  // as mostly
        writer_byte(w, (uint8_t)value);
    else
        writer_uint_of_any_width(w, value);
}

/* A name of `length` bytes, fewer than WRITER_KEY_SIZE, in memory of so many. */
enum { WRITER_KEY_SIZE = 32 };
static inline void writer_key(struct writer *w, const char *name, size_t length)
{
    if (!writer_has_room(w, 1 + WRITER_KEY_SIZE))
        return;
    w->bytes[w->size] = (uint8_t)(0xa0 | length);
    memcpy(w->bytes + w->size + 1, name, WRITER_KEY_SIZE);
    w->size += 1 + length;
}

/* Heads, of so many items, or pairs of a key and an item. */
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

/* A part that owns what was written. */
static inline struct part part_written(const struct writer *w)
{
    return (struct part){.data = w->bytes, .size = w->size, .release = mem_free, .owner = w->bytes};
}

#endif
