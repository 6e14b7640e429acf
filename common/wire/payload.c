#include "wire/payload.h"

#include <endian.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/bslz4.h"
#include "wire/msgpack.h"

/* --- packed pixels ------------------------------------------------------- */

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
    p->room = mem_room(bytes);
    p->bytes = p->room ? bytes : 0;
    return p->room != NULL;
}

/* Compresses the pixels of a part into *chunk.  chunk->data is NULL if the chunk would not be
 * shorter than the pixels. */
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
        return error_set(
            e, STATUS_INPUT,
            "a malformed packed image: no pixel part, or conflicting flags of the pixel size");
    const struct part chunk = m->parts[2];
    enum status s = bslz4_check(chunk.data, chunk.size, count, size_of(r), e);
    uint8_t *pixels = s == STATUS_OK ? mem_room(bytes) : NULL;
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

/* --- pixels in shared memory --------------------------------------------- */

enum { DESCRIPTOR_ITEMS = 6, HANDLE_WORDS = CARD_HANDLE / sizeof(uint64_t) };

static void write_handle(struct writer *w, const struct card_handle *handle)
{
    uint64_t words[HANDLE_WORDS];
    memcpy(words, handle->bytes, sizeof words);
    for (size_t i = 0; i < HANDLE_WORDS; i++)
        writer_uint(w, le64toh(words[i]));
}

static bool read_handle(struct reader *in, struct card_handle *handle)
{
    uint64_t words[HANDLE_WORDS];
    for (size_t i = 0; i < HANDLE_WORDS; i++) {
        if (!reader_uint(in, UINT64_MAX, &words[i]))
            return false;
        words[i] = htole64(words[i]);
    }
    memcpy(handle->bytes, words, sizeof words);
    return true;
}

enum status descriptor_encode(const struct descriptor *d, struct part *part, struct error *e)
{
    struct writer w = {0};
    writer_array(&w, d->on_card ? DESCRIPTOR_ITEMS + HANDLE_WORDS : DESCRIPTOR_ITEMS);
    writer_int(&w, d->pid);
    writer_uint(&w, d->fd);
    writer_uint(&w, d->slot);
    writer_uint(&w, d->offset);
    writer_uint(&w, d->length);
    writer_uint(&w, d->generation);
    if (d->on_card)
        write_handle(&w, &d->handle);
    if (w.full) {
        mem_free(w.bytes);
        return error_memory(e, "a descriptor");
    }
    *part = part_written(&w);
    return STATUS_OK;
}

enum status descriptor_decode(struct descriptor *d, const struct part *part, struct error *e)
{
    struct reader in = reader_over(part->data, part->size);
    uint32_t items;
    uint64_t fd, slot;
    if (reader_array(&in, DESCRIPTOR_ITEMS + HANDLE_WORDS, &items) &&
        (items == DESCRIPTOR_ITEMS || items == DESCRIPTOR_ITEMS + HANDLE_WORDS) &&
        reader_int(&in, 1, INT32_MAX, &d->pid) && reader_uint(&in, INT32_MAX, &fd) &&
        reader_uint(&in, POOL_SLOTS_MAX - 1, &slot) && reader_uint(&in, UINT64_MAX, &d->offset) &&
        reader_uint(&in, UINT64_MAX, &d->length) && reader_uint(&in, UINT64_MAX, &d->generation) &&
        (items == DESCRIPTOR_ITEMS || read_handle(&in, &d->handle)) && reader_done(&in)) {
        d->on_card = items != DESCRIPTOR_ITEMS;
        d->fd = (uint32_t)fd;
        d->slot = (uint32_t)slot;
        return STATUS_OK;
    }
    return error_set(e, STATUS_INPUT, "a frame with a damaged descriptor");
}
