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

static void reserve_bytes(struct packer *p, size_t bytes)
{
    if (bytes <= p->bytes)
        return;
    packer_free(p);
    p->room = mem_room(bytes);
    p->bytes = bytes;
}

/* Compresses the pixels of a part.  The `data` of the result is NULL if the chunk would not be
 * shorter than the pixels. */
static struct part make_chunk(struct packer *p, const struct part *pixels, size_t size)
{
    const size_t count = pixels->size / size;
    reserve_bytes(p, bslz4_bound(count, size));
    const size_t length = bslz4_compress(isa_best(), pixels->data, count, size, p->room);
    if (length >= pixels->size)
        return (struct part){0};
    void *data = mem_copy(p->room, length, 1);
    return (struct part){.data = data, .size = length, .release = mem_free, .owner = data};
}

enum status packed_make(struct packer *p, const struct route *r, const struct message *m,
                        size_t size, struct message *instead, struct error *e)
{
    struct route packed = *r;
    packed.flags |= size == sizeof(uint16_t) ? ROUTE_PACKED_16 : ROUTE_PACKED_32;
    const struct part chunk = make_chunk(p, &m->parts[2], size);
    if (!chunk.data)
        return STATUS_OK;
    const enum status s = message_add(instead, route_encode(&packed, &m->parts[1]), e);
    return s ? s : message_add(instead, chunk, e);
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
    uint32_t sum;
    const struct part chunk = m->parts[2];
    enum status s = bslz4_check(chunk.data, chunk.size, count, size_of(r), e);
    uint8_t *pixels = s == STATUS_OK ? mem_try_room(bytes) : NULL;
    if (s == STATUS_OK && !pixels)
        return error_memory(e, "an image");
    if (s == STATUS_OK)
        s = bslz4_decompress_summed(chunk.data, chunk.size, pixels, count, size_of(r), &sum, e);
    if (s) {
        mem_free(pixels);
        return s;
    }
    m->chunk = chunk;
    m->has_sum = true;
    m->sum = sum;
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

struct part descriptor_encode(const struct descriptor *d)
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
    return part_written(&w);
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
