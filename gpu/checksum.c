/* The part of the checksums of pixels that the host computes. */
#include "gpu/checksum.h"

#include "base/hash.h"
#include "gpu/device.h"

struct gpu_checksum gpu_checksum_of(const struct gpu_run *r)
{
    struct gpu_checksum c = {0};
    const enum pixel_type type = gpu_leaving(r, &c.bytes);
    c.count = (uint64_t)r->part[r->nparts - 1].end * pixel_size(type);
    uint32_t power = CRC32C_BYTE_MORE;
    for (int bytes = 1; bytes < GPU_CHECKSUM_BYTES; bytes *= 2)
        power = crc32c_product(power, power);
    for (int i = 0; i < GPU_CHECKSUM_POWERS; i++) {
        c.power[i] = power;
        power = crc32c_product(power, power);
    }
    return c;
}

uint32_t gpu_checksum_finish(uint32_t sum, uint64_t count)
{
    static const unsigned char zeros[GPU_CHECKSUM_BYTES * GPU_THREADS];
    const struct gpu_checksum c = {.count = count};
    const size_t added = gpu_checksum_blocks(&c) * sizeof zeros - count;
    return crc32c_before(~sum, (struct crc32c_piece){crc32c(0, zeros, added), added});
}
