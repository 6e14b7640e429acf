/* CRC-32C (Castagnoli), the checksum of payloads. */
#ifndef BRAGG_BASE_CRC32C_H
#define BRAGG_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of the data before, which is `crc` (0: no data), continued over `size`
 * more bytes.  Uses the fastest way that the CPU supports. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* Ways to compute the checksum, slowest first: with a table, with the instruction of SSE4.2,
 * with three such instructions in parallel (and PCLMUL), and with folding (AVX-512 with
 * VPCLMUL). */
enum crc32c_way {
    CRC32C_PORTABLE,
    CRC32C_SSE42,
    CRC32C_STREAMS,
    CRC32C_FOLDED,
    CRC32C_FASTEST = CRC32C_FOLDED
};

/* crc32c_has returns true if the CPU supports a way.  crc32c_by computes the same checksum in a
 * given way, for tests. */
bool crc32c_has(enum crc32c_way way);
uint32_t crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t size);

/* Checksum and size of a piece of data.  The checksum is that of the piece alone: it begins with
 * 0. */
struct crc32c_piece {
    uint32_t sum;
    size_t bytes;
};

/* Returns the checksum of all pieces, one after the other. */
uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count);

/* Returns the checksum of the bytes before the piece `last`; all bytes have the checksum `whole`.
 */
uint32_t crc32c_before(uint32_t whole, struct crc32c_piece last);

#endif
