/*
 * Philox4x32-10 (base/rng.h) in vectors: one block of four words in each 64-bit lane.
 * Written with vector types because compilers do not see on their own that a product of
 * two 32-bit halves is one instruction; the words are those of philox4x32.
 */
#ifndef BRAGG_ENGINE_PHILOX_LANES_H
#define BRAGG_ENGINE_PHILOX_LANES_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define PHILOX_BYTES 64
#define PHILOX_PRODUCT(a, b) ((philox_lanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#define PHILOX_BYTES 32
#define PHILOX_PRODUCT(a, b) ((philox_lanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE2__)
#define PHILOX_BYTES 16
#define PHILOX_PRODUCT(a, b) ((philox_lanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#else
#define PHILOX_BYTES 16
#define PHILOX_PRODUCT(a, b) (((a)&0xffffffffu) * ((b)&0xffffffffu))
#endif

enum { PHILOX_LANES = PHILOX_BYTES / 8 };

typedef uint64_t philox_lanes __attribute__((vector_size(PHILOX_BYTES)));
typedef double philox_doubles __attribute__((vector_size(PHILOX_BYTES)));

/* Uniform in (0, 1) of two words in the low halves of lanes: rng_uniform_of. */
static inline __attribute__((always_inline)) void
philox_store_uniforms(philox_lanes high, philox_lanes low, double *to)
{
    const philox_lanes bits = (high << 32 | (low & 0xffffffffu)) >> 12 | 0x3ff0000000000000u;
    philox_doubles x;
    memcpy(&x, &bits, sizeof x);
    x = x - (1.0 - 0x1p-53);
    memcpy(to, &x, sizeof x);
}

/* Blocks that are made side by side, so that processors find enough to do. */
enum { PHILOX_SIDE = 2, PHILOX_BLOCKS = PHILOX_SIDE * PHILOX_LANES };

/* Words 0 to 3 of PHILOX_BLOCKS blocks, in the low halves of lanes.  Word 0 of their
 * counters comes in word[][0], words 1 to 3 are `rest`.  High halves hold rubbish
 * throughout: products ignore them. */
static inline __attribute__((always_inline)) void philox_words(philox_lanes word[PHILOX_SIDE][4],
                                                               const uint32_t rest[3], uint64_t key)
{
    const philox_lanes zero = {0}, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#pragma GCC unroll 2
    for (int s = 0; s < PHILOX_SIDE; s++)
        for (int i = 1; i < 4; i++)
            word[s][i] = zero + rest[i - 1];
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++) {
            philox_lanes *c = word[s];
            const philox_lanes p0 = PHILOX_PRODUCT(c[0], m0), p1 = PHILOX_PRODUCT(c[2], m1);
            c[0] = p1 >> 32 ^ c[1] ^ (zero + k0);
            c[2] = p0 >> 32 ^ c[3] ^ (zero + k1);
            c[1] = p1;
            c[3] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* Stores words as pairs (even word, odd word), one pair a lane. */
static inline __attribute__((always_inline)) void philox_store_pairs(philox_lanes even,
                                                                     philox_lanes odd, void *to)
{
    const philox_lanes bits = (even & 0xffffffffu) | odd << 32;
    memcpy(to, &bits, sizeof bits);
}

#endif
