#include "wire/descriptor.h"

#include "wire/pack.h"
#include "wire/reader.h"

enum { ITEMS = 6 };

enum status descriptor_encode(const struct descriptor *d, struct part *part, struct error *e)
{
    msgpack_sbuffer buffer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer p;
    msgpack_packer_init(&p, &buffer, msgpack_sbuffer_write);
    int bad = msgpack_pack_array(&p, ITEMS);
    bad |= msgpack_pack_int64(&p, d->pid);
    bad |= msgpack_pack_uint32(&p, d->fd);
    bad |= msgpack_pack_uint32(&p, d->slot);
    bad |= msgpack_pack_uint64(&p, d->offset);
    bad |= msgpack_pack_uint64(&p, d->length);
    bad |= msgpack_pack_uint64(&p, d->generation);
    if (bad) {
        msgpack_sbuffer_destroy(&buffer);
        return error_memory(e, "a descriptor");
    }
    *part = pack_take(&buffer);
    return STATUS_OK;
}

enum status descriptor_decode(struct descriptor *d, const struct part *part, struct error *e)
{
    struct reader in = reader_over(part->data, part->size);
    uint32_t items;
    uint64_t fd, slot;
    if (reader_array(&in, ITEMS, &items) && items == ITEMS &&
        reader_int(&in, 1, INT32_MAX, &d->pid) && reader_uint(&in, INT32_MAX, &fd) &&
        reader_uint(&in, POOL_SLOTS_MAX - 1, &slot) && reader_uint(&in, UINT64_MAX, &d->offset) &&
        reader_uint(&in, UINT64_MAX, &d->length) && reader_uint(&in, UINT64_MAX, &d->generation) &&
        reader_done(&in)) {
        d->fd = (uint32_t)fd;
        d->slot = (uint32_t)slot;
        return STATUS_OK;
    }
    return error_set(e, STATUS_INPUT, "a frame with a damaged descriptor");
}
