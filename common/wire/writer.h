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

#include <msgpack.h>

#include "base/alloc.h"
#include "wire/message.h"

enum { WRITER_ROOM = 128 };  // bytes that are made at once

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

/* What msgpack-c has made of an item; not 0 when memory was out. */
static inline int writer_append(void *writer, const char *bytes, size_t size)
{
    struct writer *w = writer;
    if (!writer_has_room(w, size))
        return -1;
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return 0;
}

static inline msgpack_packer writer_packer(struct writer *w)
{
    return (msgpack_packer){.data = w, .callback = writer_append};
}

static inline void writer_nil(struct writer *w)
{
    msgpack_packer p = writer_packer(w);
    msgpack_pack_nil(&p);
}

static inline void writer_bool(struct writer *w, bool value)
{
    msgpack_packer p = writer_packer(w);
    value ? msgpack_pack_true(&p) : msgpack_pack_false(&p);
}

static inline void writer_uint(struct writer *w, uint64_t value)
{
    msgpack_packer p = writer_packer(w);
    if (value < 128 && w->size < w->capacity)  // as mostly
        w->bytes[w->size++] = (uint8_t)value;
    else
        msgpack_pack_uint64(&p, value);
}

static inline void writer_int(struct writer *w, int64_t value)
{
    msgpack_packer p = writer_packer(w);
    msgpack_pack_int64(&p, value);
}

static inline void writer_real(struct writer *w, double value)
{
    msgpack_packer p = writer_packer(w);
    msgpack_pack_double(&p, value);
}

/* Without a NUL. */
static inline void writer_text(struct writer *w, const char *text)
{
    msgpack_packer p = writer_packer(w);
    const size_t length = strlen(text);
    msgpack_pack_str(&p, length);
    msgpack_pack_str_body(&p, text, length);
}

/* A name of fewer than 32 bytes, in memory of 32. */
static inline void writer_key(struct writer *w, const char *name, size_t length)
{
    enum { KEY_ROOM = 32 };
    if (!writer_has_room(w, 1 + KEY_ROOM))
        return;
    w->bytes[w->size] = (uint8_t)(0xa0 | length);
    memcpy(w->bytes + w->size + 1, name, KEY_ROOM);
    w->size += 1 + length;
}

/* Heads, of so many items, or pairs of a key and an item. */
static inline void writer_array(struct writer *w, size_t count)
{
    msgpack_packer p = writer_packer(w);
    msgpack_pack_array(&p, count);
}

static inline void writer_map(struct writer *w, size_t count)
{
    msgpack_packer p = writer_packer(w);
    msgpack_pack_map(&p, count);
}

/* A part that owns what was written. */
static inline struct part part_written(const struct writer *w)
{
    return (struct part){.data = w->bytes, .size = w->size, .release = mem_free, .owner = w->bytes};
}

#endif
