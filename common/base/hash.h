/* A 64-bit hash for lineage and names.  It must not be used for secrets. */
#ifndef BRAGG_BASE_HASH_H
#define BRAGG_BASE_HASH_H

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

#endif
