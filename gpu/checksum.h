/*
 * The CRC-32C of pixels in GPU memory.  The checksum of the data is a sum of the checksums of its
 * pieces, each times a power of x that stands for the bytes after this piece.  Each thread forms
 * the checksum of one piece.
 *
 * The data are regarded as if zero bytes followed up to the end of the last block of threads.
 * gpu_checksum_finish removes these bytes from the checksum.
 *
 * The same text is compiled as a kernel (gpu/checksum_kernel.cu) and as a loop for the CPU
 * (tests/hostgpu/host_engine.c).
 */
#ifndef BRAGG_GPU_CHECKSUM_H
#define BRAGG_GPU_CHECKSUM_H

#include "base/crc32c.h"
#include "gpu/kernel.h"
#include "gpu/team.h"

enum { GPU_CHECKSUM_WORDS = GPU_CHECKSUM_BYTES / 4 };

/* of[i][b]: the checksum register after byte b and i zero bytes. */
struct gpu_checksum_tables {
    uint32_t of[4][256];
};

/* Returns the number of blocks. */
HD uint64_t gpu_checksum_blocks(const struct gpu_checksum *c)
{
    const uint64_t block = (uint64_t)GPU_CHECKSUM_BYTES * GPU_THREADS;
    return (c->count + block - 1) / block;
}

/* Computes the tables.  All threads of the team call the function together. */
INLINE void gpu_checksum_prepare(struct gpu_checksum_tables *t, struct gpu_team team)
{
    for (uint32_t byte = (uint32_t)team.thread; byte < 256; byte += (uint32_t)team.threads) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = crc32c_times_x(sum);
        t->of[0][byte] = sum;
    }
    gpu_team_wait(team);
    for (uint32_t byte = (uint32_t)team.thread; byte < 256; byte += (uint32_t)team.threads)
        for (int i = 1; i < 4; i++) {
            const uint32_t sum = t->of[i - 1][byte];
            t->of[i][byte] = (sum >> 8) ^ t->of[0][sum & 255];
        }
    gpu_team_wait(team);
}

/* Returns the checksum register `sum` after four more bytes. */
INLINE uint32_t checksum_word(const struct gpu_checksum_tables *t, uint32_t sum, uint32_t word)
{
    sum ^= word;
    return t->of[3][sum & 255] ^ t->of[2][sum >> 8 & 255] ^ t->of[1][sum >> 16 & 255] ^
           t->of[0][sum >> 24];
}

/* Returns the checksum register `sum` after a piece with fewer bytes than GPU_CHECKSUM_BYTES, and
 * after the zero bytes that follow. */
INLINE uint32_t checksum_rest(const struct gpu_checksum_tables *t, uint32_t sum,
                              const unsigned char *from, uint64_t bytes)
{
    GPU_ROLLED
    for (uint64_t at = 0; at < GPU_CHECKSUM_BYTES; at++) {
        const uint32_t byte = at < bytes ? from[at] : 0;
        sum = (sum >> 8) ^ t->of[0][(sum ^ byte) & 255];
    }
    return sum;
}

/* Returns the checksum register `sum` after a whole piece. */
INLINE uint32_t checksum_piece(const struct gpu_checksum_tables *t, uint32_t sum,
                               const unsigned char *from)
{
    GPU_UNROLLED(4)
    for (int i = 0; i < GPU_CHECKSUM_WORDS / 4; i++) {
        uint32_t word[4];
        memcpy(word, __builtin_assume_aligned(from + 16 * i, 16), sizeof word);
        for (int k = 0; k < 4; k++)
            sum = checksum_word(t, sum, word[k]);
    }
    return sum;
}

/* Returns a checksum register after this number of further pieces that are zero. */
HD uint32_t gpu_checksum_shift(const struct gpu_checksum *c, uint32_t sum, uint64_t pieces)
{
    GPU_ROLLED
    for (int i = 0; pieces; i++, pieces >>= 1)
        if (pieces & 1)
            sum = crc32c_product(sum, c->power[i]);
    return sum;
}

/* Does the work of one thread: returns the register of its piece at the end of the block.  The
 * register of a block is the exclusive or of those of its threads. */
INLINE uint32_t gpu_checksum_thread(const struct gpu_checksum *c,
                                    const struct gpu_checksum_tables *t, uint64_t block, int thread)
{
    const uint64_t at = (block * GPU_THREADS + (uint64_t)thread) * GPU_CHECKSUM_BYTES;
    const unsigned char *from = (const unsigned char *)c->bytes + at;
    uint32_t sum = at ? 0 : UINT32_MAX;
    if (at + GPU_CHECKSUM_BYTES <= c->count)
        sum = checksum_piece(t, sum, from);
    else if (at < c->count)
        sum = checksum_rest(t, sum, from, c->count - at);
    return gpu_checksum_shift(c, sum, (uint64_t)(GPU_THREADS - 1 - thread));
}

/* Returns the register of a block at the end of all blocks.  That of the data is the exclusive or
 * of those of the blocks. */
HD uint32_t gpu_checksum_block(const struct gpu_checksum *c, uint64_t block, uint32_t sum)
{
    return gpu_checksum_shift(c, sum, (gpu_checksum_blocks(c) - 1 - block) * GPU_THREADS);
}

#endif
