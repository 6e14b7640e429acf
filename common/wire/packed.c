#include "wire/packed.h"

#include "base/alloc.h"
#include "codec/bslz4.h"

enum { PACKED = ROUTE_PACKED_16 | ROUTE_PACKED_32 };

static size_t size_of(const struct route *r)
{
    return r->flags & ROUTE_PACKED_16 ? sizeof(uint16_t) : sizeof(uint32_t);
}

void packer_free(struct packer *p)
{
    mem_free(p->room);
    *p = (struct packer){0};
}

static bool reserve(struct packer *p, size_t bytes)
{
    if (bytes <= p->bytes)
        return bytes > 0;
    packer_free(p);
    p->room = mem_array(bytes, 1);
    p->bytes = p->room ? bytes : 0;
    return p->room != NULL;
}

/* The pixels of a part as a chunk of its own; with no data where it would not be shorter. */
static enum status make_chunk(struct packer *p, const struct part *pixels, size_t size,
                              struct part *chunk, struct error *e)
{
    const size_t count = pixels->size / size;
    *chunk = (struct part){0};
    if (!reserve(p, bslz4_bound(count, size)))
        return error_memory(e, "packed pixels");
    const size_t length = bslz4_compress(isa_best(), pixels->data, count, size, p->room);
    if (length >= pixels->size)
        return STATUS_OK;
    void *data = mem_copy(p->room, length, 1);
    *chunk = (struct part){.data = data, .size = length, .release = mem_free, .owner = data};
    return data ? STATUS_OK : error_memory(e, "packed pixels");
}

enum status packed_make(struct packer *p, const struct route *r, const struct message *m,
                        size_t size, struct message *instead, struct error *e)
{
    struct part head, chunk;
    struct route packed = *r;
    packed.flags |= size == sizeof(uint16_t) ? ROUTE_PACKED_16 : ROUTE_PACKED_32;
    enum status s = make_chunk(p, &m->parts[2], size, &chunk, e);
    if (s || !chunk.data)
        return s;
    s = route_encode(&packed, &m->parts[1], &head, e);
    if (s == STATUS_OK)
        s = message_add(instead, head, e);
    if (s == STATUS_OK)
        return message_add(instead, chunk, e);
    mem_free(chunk.owner);
    return s;
}

enum status packed_open(struct route *r, struct message *m, size_t count, struct error *e)
{
    size_t bytes;
    if (!packed_is(r))
        return STATUS_OK;
    if (m->nparts < 3 || (r->flags & PACKED) == PACKED || !size_multiply(count, size_of(r), &bytes))
        return error_set(e, STATUS_INPUT, "packed pixels that are none");
    const struct part chunk = m->parts[2];
    enum status s = bslz4_check(chunk.data, chunk.size, count, size_of(r), e);
    uint8_t *pixels = s == STATUS_OK ? mem_array(count, size_of(r)) : NULL;
    if (s == STATUS_OK && !pixels)
        return error_memory(e, "an image");
    if (s == STATUS_OK)
        s = bslz4_decompress(chunk.data, chunk.size, pixels, count, size_of(r), e);
    if (s) {
        mem_free(pixels);
        return s;
    }
    if (chunk.release)
        chunk.release(chunk.owner);
    m->parts[2] =
        (struct part){.data = pixels, .size = bytes, .release = mem_free, .owner = pixels};
    r->flags &= ~(uint32_t)PACKED;
    return STATUS_OK;
}
