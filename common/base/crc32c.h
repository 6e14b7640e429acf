/* CRC-32C (Castagnoli), the checksum of payloads. */
#ifndef BRAGG_BASE_CRC32C_H
#define BRAGG_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin) over `size` bytes, in the fastest way that the CPU has. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* The ways, slowest first: by table, by the instruction of SSE4.2, three of these side by side
 * (with PCLMUL), by folding (AVX-512 with VPCLMUL). */
enum crc32c_way {
    CRC32C_PORTABLE,
    CRC32C_SSE42,
    CRC32C_STREAMS,
    CRC32C_FOLDED,
    CRC32C_FASTEST = CRC32C_FOLDED
};

/* True when the CPU has what it needs; and the same sum in one way that it has, for comparison. */
bool crc32c_has(enum crc32c_way way);
uint32_t crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t size);

/* Bytes that were summed up on their own, from 0. */
struct crc32c_piece {
    uint32_t sum;
    size_t bytes;
};

/* The sum of all pieces, one after the other. */
uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count);

/* The sum of what comes before the piece `last` in bytes whose sum is `whole`. */
uint32_t crc32c_before(uint32_t whole, struct crc32c_piece last);

#endif
