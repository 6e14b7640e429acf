/* CRC-32C (Castagnoli), the checksum of payloads. */
#ifndef BRAGG_BASE_CRC32C_H
#define BRAGG_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin) over `size` bytes; by SSE4.2 and PCLMUL where the
 * CPU has them. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The same by table on any CPU: what the fast one is tested against. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);

/* Bytes that were summed up on their own, from 0. */
struct crc32c_piece {
    uint32_t sum;
    size_t bytes;
};

/* The sum of all pieces, one after the other. */
uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count);

#endif
