/*
 * Vectors of the search for counts.  Written with vector types because compilers keep no
 * search in registers on their own, and fold what says whether a lane is left slowly.
 */
#ifndef BRAGG_ENGINE_SEARCH_LANES_H
#define BRAGG_ENGINE_SEARCH_LANES_H

#include <stdint.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LANE_BYTES 64
#elif defined(__AVX2__)
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif

enum { LANES = LANE_BYTES / 4 };

typedef float lane_floats __attribute__((vector_size(LANE_BYTES)));
typedef int32_t lane_ints __attribute__((vector_size(LANE_BYTES)));

/* Bits of the lanes where a < b, the first one lowest. */
static inline __attribute__((always_inline)) uint32_t lanes_below(lane_floats a, lane_floats b)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)(a < b));
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)(a < b));
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(a[i] < b[i]) << i;
    return bits;
#endif
}

/* Bits of the lanes where a != b. */
static inline __attribute__((always_inline)) uint32_t lanes_differ(lane_ints a, lane_ints b)
{
#if defined(__AVX512F__)
    return _mm512_cmpneq_epi32_mask((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)(a != b));
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)(a != b));
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(a[i] != b[i]) << i;
    return bits;
#endif
}

/* a where all bits of `which` are set, b where none is. */
static inline __attribute__((always_inline)) lane_floats lanes_select(lane_ints which,
                                                                      lane_floats a, lane_floats b)
{
    return (lane_floats)(((lane_ints)a & which) | ((lane_ints)b & ~which));
}

/* Counts the lanes where a < b, each on its own. */
static inline __attribute__((always_inline)) lane_ints lanes_count(lane_ints count, lane_floats a,
                                                                   lane_floats b)
{
#if defined(__AVX512F__)
    const __mmask16 below = _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
    return (lane_ints)_mm512_mask_sub_epi32((__m512i)count, below, (__m512i)count,
                                            _mm512_set1_epi32(-1));
#else
    return count - (lane_ints)(a < b);
#endif
}

#endif
