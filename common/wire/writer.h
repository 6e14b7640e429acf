/*
 * Writes MessagePack into memory that grows: the counterpart of wire/reader.h.  Each item is as
 * short as it can be, so that a value has one encoding.
 */
#ifndef BRAGG_WIRE_WRITER_H
#define BRAGG_WIRE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/message.h"

enum { WRITER_ROOM = 128, WRITER_HEAD = 9 };  // bytes that are made at once; of a head, at most

/* Begins as {0}. */
struct writer {
    uint8_t *bytes;  // owned, to be freed by mem_free
    size_t size, capacity;
    bool full;  // memory was out: something is missing
};

/* True when there is room for so many bytes more. */
static inline bool writer_has_room(struct writer *w, size_t more)
{
    if (more <= w->capacity - w->size)
        return true;
    const size_t room = more < WRITER_ROOM ? WRITER_ROOM : more;
    uint8_t *grown = mem_grow(w->bytes, w->size, room, 1, &w->capacity);
    w->full |= !grown;
    w->bytes = grown ? grown : w->bytes;
    return grown;
}

/* A tag, and behind it a number of `width` bytes (0, 1, 2, 4, 8). */
static inline void writer_put(struct writer *w, unsigned tag, uint64_t value, unsigned width)
{
    const uint64_t big_endian = width ? __builtin_bswap64(value << (64 - 8 * width)) : 0;
    if (!writer_has_room(w, WRITER_HEAD))
        return;
    w->bytes[w->size] = (uint8_t)tag;
    memcpy(w->bytes + w->size + 1, &big_endian, sizeof big_endian);
    w->size += 1 + width;
}

static inline void writer_nil(struct writer *w)
{
    writer_put(w, 0xc0, 0, 0);
}

static inline void writer_bool(struct writer *w, bool value)
{
    writer_put(w, 0xc2 + value, 0, 0);
}

static inline void writer_uint(struct writer *w, uint64_t value)
{
    if (value < 1 << 7)
        writer_put(w, (unsigned)value, 0, 0);
    else if (value <= UINT8_MAX)
        writer_put(w, 0xcc, value, 1);
    else if (value <= UINT16_MAX)
        writer_put(w, 0xcd, value, 2);
    else if (value <= UINT32_MAX)
        writer_put(w, 0xce, value, 4);
    else
        writer_put(w, 0xcf, value, 8);
}

static inline void writer_int(struct writer *w, int64_t value)
{
    const uint64_t bits = (uint64_t)value;
    if (value >= 0)
        writer_uint(w, bits);
    else if (value >= -32)
        writer_put(w, (uint8_t)bits, 0, 0);
    else if (value >= INT8_MIN)
        writer_put(w, 0xd0, bits, 1);
    else if (value >= INT16_MIN)
        writer_put(w, 0xd1, bits, 2);
    else if (value >= INT32_MIN)
        writer_put(w, 0xd2, bits, 4);
    else
        writer_put(w, 0xd3, bits, 8);
}

static inline void writer_real(struct writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    writer_put(w, 0xcb, bits, 8);
}

/* Without a NUL. */
static inline void writer_text(struct writer *w, const char *text)
{
    const size_t length = strlen(text);
    if (length < 32)
        writer_put(w, 0xa0 | (unsigned)length, 0, 0);
    else if (length <= UINT8_MAX)
        writer_put(w, 0xd9, length, 1);
    else if (length <= UINT16_MAX)
        writer_put(w, 0xda, length, 2);
    else
        writer_put(w, 0xdb, length, 4);
    if (!writer_has_room(w, length))
        return;
    memcpy(w->bytes + w->size, text, length);
    w->size += length;
}

/* Heads, of so many items, or pairs of a key and an item. */
static inline void writer_array(struct writer *w, size_t count)
{
    if (count < 16)
        writer_put(w, 0x90 | (unsigned)count, 0, 0);
    else
        writer_put(w, count <= UINT16_MAX ? 0xdc : 0xdd, count, count <= UINT16_MAX ? 2 : 4);
}

static inline void writer_map(struct writer *w, size_t count)
{
    if (count < 16)
        writer_put(w, 0x80 | (unsigned)count, 0, 0);
    else
        writer_put(w, count <= UINT16_MAX ? 0xde : 0xdf, count, count <= UINT16_MAX ? 2 : 4);
}

/* A part that owns what was written. */
static inline struct part part_written(const struct writer *w)
{
    return (struct part){.data = w->bytes, .size = w->size, .release = mem_free, .owner = w->bytes};
}

#endif
