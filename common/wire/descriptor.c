#include "wire/descriptor.h"

#include <endian.h>
#include <string.h>

#include "wire/msgpack.h"

enum { ITEMS = 6, WORDS = CARD_HANDLE / sizeof(uint64_t) };

static void write_handle(struct writer *w, const struct card_handle *handle)
{
    uint64_t words[WORDS];
    memcpy(words, handle->bytes, sizeof words);
    for (size_t i = 0; i < WORDS; i++)
        writer_uint(w, le64toh(words[i]));
}

static bool read_handle(struct reader *in, struct card_handle *handle)
{
    uint64_t words[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
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
    writer_array(&w, d->on_card ? ITEMS + WORDS : ITEMS);
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
    if (reader_array(&in, ITEMS + WORDS, &items) && (items == ITEMS || items == ITEMS + WORDS) &&
        reader_int(&in, 1, INT32_MAX, &d->pid) && reader_uint(&in, INT32_MAX, &fd) &&
        reader_uint(&in, POOL_SLOTS_MAX - 1, &slot) && reader_uint(&in, UINT64_MAX, &d->offset) &&
        reader_uint(&in, UINT64_MAX, &d->length) && reader_uint(&in, UINT64_MAX, &d->generation) &&
        (items == ITEMS || read_handle(&in, &d->handle)) && reader_done(&in)) {
        d->on_card = items != ITEMS;
        d->fd = (uint32_t)fd;
        d->slot = (uint32_t)slot;
        return STATUS_OK;
    }
    return error_set(e, STATUS_INPUT, "a frame with a damaged descriptor");
}
