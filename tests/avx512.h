/*
 * AVX-512 on a machine that has only AVX2, for tests: SIMDe emulates the instructions.  Builds with
 * EMULATED=1 include this file before all others (-include).
 */
#ifndef BRAGG_TESTS_AVX512_H
#define BRAGG_TESTS_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <simde/x86/avx512.h>
#pragma GCC diagnostic pop

#include <immintrin.h>

#undef I  // of complex.h

/* SIMDe 0.7.4 has wrong arguments for the masked form of the first, and does not have the others.
 */
#undef _mm512_madd_epi16
#undef _kor_mask16
#undef _kandn_mask16
#define _mm512_madd_epi16 simde_mm512_madd_epi16
#define _kor_mask16(a, b) ((simde__mmask16)((a) | (b)))
#define _kandn_mask16(a, b) ((simde__mmask16)(~(a) & (b)))
#define _mm512_cmpgt_epu32_mask emulated_cmpgt_epu32_mask
#define _mm512_cvtepi32_epi8 emulated_cvtepi32_epi8
#define _mm512_cvtepu16_epi32 emulated_cvtepu16_epi32
#define _mm512_cvtpd_ps emulated_cvtpd_ps
#define _mm512_cvtps_pd emulated_cvtps_pd
#define _mm512_extractf32x8_ps emulated_extractf32x8_ps
#define _mm512_mask3_fmadd_ps emulated_mask3_fmadd_ps
#define _mm512_i32gather_ps emulated_i32gather_ps
#define _mm512_mask_reduce_add_ps emulated_mask_reduce_add_ps

typedef uint32_t emulated_words __attribute__((vector_size(64)));
typedef int32_t emulated_ints __attribute__((vector_size(64)));
typedef double emulated_doubles __attribute__((vector_size(64)));
typedef float emulated_half_floats __attribute__((vector_size(32)));
typedef uint16_t emulated_shorts __attribute__((vector_size(32)));
typedef uint8_t emulated_bytes __attribute__((vector_size(16)));

static inline simde__mmask16 emulated_cmpgt_epu32_mask(__m512i a, __m512i b)
{
    const emulated_ints greater = (emulated_words)a > (emulated_words)b;
    unsigned mask = 0;
    for (int i = 0; i < 16; i++)
        mask |= (unsigned)-greater[i] << i;
    return (simde__mmask16)mask;
}

static inline __m128i emulated_cvtepi32_epi8(__m512i a)
{
    return (__m128i) __builtin_convertvector((emulated_words)a, emulated_bytes);
}

static inline __m512i emulated_cvtepu16_epi32(__m256i a)
{
    return (__m512i) __builtin_convertvector((emulated_shorts)a, emulated_words);
}

static inline __m256 emulated_cvtpd_ps(__m512d a)
{
    return (__m256) __builtin_convertvector((emulated_doubles)a, emulated_half_floats);
}

static inline __m512d emulated_cvtps_pd(__m256 a)
{
    return (__m512d) __builtin_convertvector((emulated_half_floats)a, emulated_doubles);
}

static inline __m256 emulated_extractf32x8_ps(__m512 a, int half)
{
    __m256 halves[2];
    __builtin_memcpy(halves, &a, sizeof halves);
    return halves[half];
}

static inline __m512 emulated_mask3_fmadd_ps(__m512 a, __m512 b, __m512 c, simde__mmask16 mask)
{
    return simde_mm512_mask_mov_ps(c, mask, simde_mm512_fmadd_ps(a, b, c));
}

static inline __m512 emulated_i32gather_ps(__m512i at, const void *from, int scale)
{
    float items[16];
    for (int i = 0; i < 16; i++)
        __builtin_memcpy(items + i, (const char *)from + ((emulated_ints)at)[i] * (long)scale, 4);
    return simde_mm512_loadu_ps(items);
}

/* Adds halves, as the compilers do: lane i to lane i + 8, then to i + 4, i + 2 and i + 1. */
static inline float emulated_mask_reduce_add_ps(simde__mmask16 mask, __m512 a)
{
    float items[16];
    simde_mm512_storeu_ps(items, simde_mm512_maskz_mov_ps(mask, a));
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            items[i] += items[i + half];
    return items[0];
}

#define __AVX512F__ 1
#define __AVX512DQ__ 1
#define __AVX512BW__ 1
#define __AVX512VL__ 1

#endif
