/* Counts of 4 bytes, big-endian, in chunks. */
#ifndef BRAGG_CODEC_BE32_H
#define BRAGG_CODEC_BE32_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void put_be32(uint8_t *out, size_t value)
{
    const uint32_t big = htobe32((uint32_t)value);
    memcpy(out, &big, sizeof big);
}

static inline size_t get_be32(const uint8_t *from)
{
    uint32_t big;
    memcpy(&big, from, sizeof big);
    return be32toh(big);
}

#endif
