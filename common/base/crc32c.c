#include "base/crc32c.h"

#include <string.h>

/* One table of 16: four bits at a time is slow but small, and rarely used. */
static uint32_t nibble(uint32_t crc)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    return (crc >> 4) ^ table[crc & 15];
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = nibble(nibble(crc ^ bytes[i]));
    return ~crc;
}

#if defined(__x86_64__)

#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t size)
{
    const uint8_t *bytes = data;
    uint64_t sum = (uint32_t)~crc;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        sum = _mm_crc32_u64(sum, word);
    }
    for (; size; bytes++, size--)
        sum = _mm_crc32_u8((uint32_t)sum, *bytes);
    return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, data, size)
                                            : crc32c_portable(crc, data, size);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return crc32c_portable(crc, data, size);
}

#endif
