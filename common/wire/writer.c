#include "wire/writer.h"

#include <msgpack.h>

enum { ROOM = 128 };  // bytes that are made at once

bool writer_grow(struct writer *w, size_t more)
{
    uint8_t *grown = mem_grow(w->bytes, w->size, more < ROOM ? ROOM : more, 1, &w->capacity);
    w->full |= !grown;
    w->bytes = grown ? grown : w->bytes;
    return grown;
}

/* What msgpack-c has made of an item; not 0 when memory was out. */
static int append(void *writer, const char *bytes, size_t size)
{
    struct writer *w = writer;
    if (!writer_has_room(w, size))
        return -1;
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return 0;
}

static msgpack_packer packer(struct writer *w)
{
    return (msgpack_packer){.data = w, .callback = append};
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
