#include "codec/chunk_head.h"

#include <endian.h>
#include <string.h>

#include "codec/be32.h"

void chunk_head_put(uint8_t *out, size_t bytes, size_t block)
{
    const uint64_t total = htobe64((uint64_t)bytes);
    memcpy(out, &total, sizeof total);
    put_be32(out + sizeof total, block);
}

enum status chunk_head_get(const uint8_t *chunk, size_t length, const char *name, size_t bytes,
                           size_t unit, size_t block_max, size_t *block, struct error *e)
{
    uint64_t total;
    if (length < CHUNK_HEAD)
        return error_set(e, STATUS_INPUT, "%s: %zu bytes, the header alone has %d", name, length,
                         CHUNK_HEAD);
    memcpy(&total, chunk, sizeof total);
    *block = get_be32(chunk + sizeof total);
    if (be64toh(total) != bytes)
        return error_set(e, STATUS_INPUT, "%s: header: %zu bytes, must be %zu", name,
                         (size_t)be64toh(total), bytes);
    if ((bytes && !*block) || *block > block_max || *block % unit)
        return error_set(e, STATUS_INPUT,
                         "%s: header: blocks of %zu bytes, must be a multiple of %zu up to %zu",
                         name, *block, unit, block_max);
    return STATUS_OK;
}
