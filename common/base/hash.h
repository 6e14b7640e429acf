/* Checksums and hashes of bytes in memory: a 64-bit hash for lineage and names, CRC-32C for
 * payloads, and MD5 for formats that contain it.  None of them may be used for secrets. */
#ifndef BRAGG_BASE_HASH_H
#define BRAGG_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Value of `hash` before the first bytes: the offset basis of FNV-1a. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Returns the hash of the data before, which is `hash`, continued over `size` more bytes
 * (FNV-1a, 64 bit). */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Continues `hash` over a text and its final NUL.  With the NUL the texts "ab", "c" have another
 * hash than "a", "bc". */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* Returns a hash in which every bit depends on all bits of `hash` (the finalizer of SplitMix64). */
static inline uint64_t hash_finish(uint64_t hash)
{
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

/* CRC-32C (Castagnoli), the checksum of payloads. */

/* Returns the checksum of the data before, which is `crc` (0: no data), continued over `size`
 * more bytes.  Uses the fastest way that the CPU supports, and for large data the threads of
 * program_threads. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

/* Copies `size` bytes, in the same way, and returns their checksum. */
uint32_t crc32c_copy(void *to, const void *from, size_t size);

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

/* Returns the checksum of all pieces, one after the other.  crc32c_join_by does so in a given way
 * that the CPU supports, for tests. */
uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count);
uint32_t crc32c_join_by(enum crc32c_way way, const struct crc32c_piece *pieces, size_t count);

/* Returns the checksum of the bytes before the piece `last`; all bytes have the checksum `whole`.
 */
uint32_t crc32c_before(uint32_t whole, struct crc32c_piece last);

/* The MD5 checksum of bytes in memory [RFC 1321], which CBF files and the Stream V1 of Dectris
 * contain.  It finds accidental damage only: anybody can make two texts with the same checksum. */

enum { MD5_BYTES = 16 };

/* Stores the checksum of `size` bytes in sum[]. */
void md5_compute(const void *data, size_t size, uint8_t sum[MD5_BYTES]);

#endif
