/*
 * Vectors of one register of the instruction set that a file is compiled for: LANES
 * floats or 32-bit integers, or half as many doubles.  For loops whose shuffles and
 * conversions compilers do not find on their own, or that they do not keep in registers;
 * arithmetic is written with operators.
 */
#ifndef BRAGG_ENGINE_LANES_H
#define BRAGG_ENGINE_LANES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "base/portable_math.h"

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t shorts __attribute__((vector_size(2 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef double doubles __attribute__((vector_size(4 * LANES)));
typedef uint64_t long_words __attribute__((vector_size(4 * LANES)));

#define LANES_INLINE HD __attribute__((always_inline))

/* SHUFFLE_*(a, b, i...): items i of a followed by b. */
#ifdef __clang__
#define SHUFFLE_FLOATS(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define SHUFFLE_DOUBLES(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE_FLOATS(a, b, ...) __builtin_shuffle(a, b, (ints){__VA_ARGS__})
#define SHUFFLE_DOUBLES(a, b, ...) __builtin_shuffle(a, b, (long_words){__VA_ARGS__})
#endif

LANES_INLINE floats floats_of(float x)
{
    return x - (floats){0};
}

LANES_INLINE doubles doubles_of(double x)
{
    return x - (doubles){0};
}

LANES_INLINE floats floats_load(const float *from)
{
    floats v;
    memcpy(&v, from, sizeof v);
    return v;
}

LANES_INLINE void floats_store(float *to, floats v)
{
    memcpy(to, &v, sizeof v);
}

LANES_INLINE words words_load(const uint32_t *from)
{
    words v;
    memcpy(&v, from, sizeof v);
    return v;
}

LANES_INLINE void words_store(uint32_t *to, words v)
{
    memcpy(to, &v, sizeof v);
}

LANES_INLINE doubles doubles_load(const double *from)
{
    doubles v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* a*b + c, rounded as fused_f and fused. */
LANES_INLINE floats floats_fused(floats a, floats b, floats c)
{
#if defined(__AVX512F__)
    return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

LANES_INLINE doubles doubles_fused(doubles a, doubles b, doubles c)
{
#if defined(__AVX512F__)
    return (doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    return (doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return a * b + c;
#endif
}

/* Returns the products of the low halves of lanes, as signed 16-bit numbers, and a factor below
 * 2^15. The high halves are ignored. */
LANES_INLINE words words_times_short(words a, words factor)
{
#if defined(__AVX512BW__)
    return (words)_mm512_madd_epi16((__m512i)a, (__m512i)factor);
#elif defined(__AVX2__)
    return (words)_mm256_madd_epi16((__m256i)a, (__m256i)factor);
#elif defined(__SSE2__)
    return (words)_mm_madd_epi16((__m128i)a, (__m128i)factor);
#else
    return (words)((ints)(a << 16) >> 16) * factor;
#endif
}

/* Returns from[at[i]]. With AVX2 the items are loaded one by one, which is 8 % faster than the
 * gather instruction. */
LANES_INLINE floats floats_gather(const float *from, words at)
{
#if defined(__AVX512F__)
    return (floats)_mm512_i32gather_ps((__m512i)at, from, 4);
#else
    floats v;
    for (int i = 0; i < LANES; i++)
        v[i] = from[at[i]];
    return v;
#endif
}

/* Pixels of two vectors of doubles are in an order that lets one shuffle bring 32-bit halves
 * of both into the order of pixels: a half of every 128 bits comes from each. */
#if defined(__AVX512F__)
#define LANES_FIRST 0, 1, 4, 5, 8, 9, 12, 13
#define LANES_SECOND 2, 3, 6, 7, 10, 11, 14, 15
#define LANES_LOW 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define LANES_HIGH 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#elif defined(__AVX2__)
#define LANES_FIRST 0, 1, 4, 5
#define LANES_SECOND 2, 3, 6, 7
#define LANES_LOW 0, 2, 8, 10, 4, 6, 12, 14
#define LANES_HIGH 1, 3, 9, 11, 5, 7, 13, 15
#else
#define LANES_FIRST 0, 1
#define LANES_SECOND 2, 3
#define LANES_LOW 0, 2, 4, 6
#define LANES_HIGH 1, 3, 5, 7
#endif
#define LANES_ORDER LANES_FIRST, LANES_SECOND

/* LANES doubles. */
struct doubles_pair {
    doubles first, second;
};

/* `shuffled`: in that order, else in the order of pixels. */
LANES_INLINE struct doubles_pair doubles_pair_load(const double *from, bool shuffled)
{
    const doubles a = doubles_load(from), b = doubles_load(from + LANES / 2);
    const struct doubles_pair plain = {a, b};
    if (!shuffled)
        return plain;
    const struct doubles_pair p = {SHUFFLE_DOUBLES(a, b, LANES_FIRST),
                                   SHUFFLE_DOUBLES(a, b, LANES_SECOND)};
    return p;
}

/* Return the low and the high 32 bits of 64-bit numbers, in the order of pixels. */
LANES_INLINE words words_low(long_words first, long_words second)
{
    return (words)SHUFFLE_FLOATS((floats)first, (floats)second, LANES_LOW);
}

LANES_INLINE words words_high(long_words first, long_words second)
{
    return (words)SHUFFLE_FLOATS((floats)first, (floats)second, LANES_HIGH);
}

/* What words_low and words_high make of pairs in the order of pixels, in that order. */
LANES_INLINE words words_in_order(words v)
{
    return (words)SHUFFLE_FLOATS((floats)v, (floats)v, LANES_ORDER);
}

/* Returns a pair of vectors of doubles as one vector of floats, in the order of the pixels. */
LANES_INLINE floats floats_of_doubles(struct doubles_pair v)
{
#if defined(__AVX512F__)
    return (floats)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)v.first)),
                                      _mm512_cvtpd_ps((__m512d)v.second), 1);
#elif defined(__AVX2__)
    return (floats)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)v.second),
                                   _mm256_cvtpd_ps((__m256d)v.first));
#else
    floats f;
    for (int i = 0; i < LANES / 2; i++) {
        f[i] = (float)v.first[i];
        f[LANES / 2 + i] = (float)v.second[i];
    }
    return f;
#endif
}

LANES_INLINE struct doubles_pair doubles_of_floats(floats v)
{
    struct doubles_pair p;
#if defined(__AVX512F__)
    p.first = (doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
    p.second = (doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
#elif defined(__AVX2__)
    p.first = (doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
    p.second = (doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#else
    for (int i = 0; i < LANES / 2; i++) {
        p.first[i] = (double)v[i];
        p.second[i] = (double)v[LANES / 2 + i];
    }
#endif
    return p;
}

LANES_INLINE floats floats_root(floats v)
{
#if defined(__AVX512F__)
    return (floats)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
    return (floats)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
    return (floats)_mm_sqrt_ps((__m128)v);
#else
    for (int i = 0; i < LANES; i++)
        v[i] = __builtin_sqrtf(v[i]);
    return v;
#endif
}

/* Returns a where all bits of `which` are set, and b where no bit is set. */
LANES_INLINE floats floats_select(ints which, floats a, floats b)
{
    return (floats)(((ints)a & which) | ((ints)b & ~which));
}

LANES_INLINE ints ints_of_floats(floats v)
{
    return __builtin_convertvector(v, ints);
}

LANES_INLINE floats floats_of_ints(words v)
{
    return __builtin_convertvector((ints)v, floats);
}

LANES_INLINE words words_of_shorts(const uint16_t *from)
{
    shorts v;
    memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, words);
}

/* Returns the lanes where a < b as bits; the lowest bit is the first lane. */
LANES_INLINE uint32_t lanes_below(floats a, floats b)
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

/* Returns which of the LANES doubles at `from` are below 0, or -0, as bits; the lowest bit is
 * the first one. */
LANES_INLINE uint32_t doubles_negative(const double *from)
{
#if defined(__AVX512F__)
    return (uint32_t)_mm512_movepi64_mask(_mm512_loadu_si512(from)) |
           (uint32_t)_mm512_movepi64_mask(_mm512_loadu_si512(from + LANES / 2)) << LANES / 2;
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(__builtin_signbit(from[i]) != 0) << i;
    return bits;
#endif
}

/* ---- lanes that are chosen -------------------------------------------------------- */

#if defined(__AVX512F__)
typedef __mmask16 lanes_mask;
#else
typedef ints lanes_mask;  // all bits or none
#endif

LANES_INLINE lanes_mask lanes_equal(words a, words b)
{
#if defined(__AVX512F__)
    return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b);
#else
    return (ints)(a == b);
#endif
}

LANES_INLINE lanes_mask lanes_less(floats a, floats b)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
#else
    return (ints)(a < b);
#endif
}

LANES_INLINE lanes_mask lanes_nonzero(floats v)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
#else
    return (ints)(v != 0.0f);
#endif
}

/* Counts in the chosen lanes, each on its own. */
LANES_INLINE ints ints_count(ints count, lanes_mask m)
{
#if defined(__AVX512F__)
    return (ints)_mm512_mask_sub_epi32((__m512i)count, m, (__m512i)count, _mm512_set1_epi32(-1));
#else
    return count - m;
#endif
}

/* Returns b in the chosen lanes, where b >= a >= 0, and a in the other lanes. */
LANES_INLINE floats floats_raise_where(lanes_mask m, floats a, floats b)
{
#if defined(__AVX512F__)
    return (floats)_mm512_mask_mov_ps((__m512)a, m, (__m512)b);
#elif defined(__AVX2__)
    return (floats)_mm256_blendv_ps((__m256)a, (__m256)b, (__m256)m);
#elif defined(__SSE2__)
    return (floats)_mm_max_ps((__m128)a, (__m128)((ints)b & m));
#else
    return floats_select(m, b, a);
#endif
}

LANES_INLINE lanes_mask lanes_either(lanes_mask a, lanes_mask b)
{
#if defined(__AVX512F__)
    return _kor_mask16(a, b);
#else
    return a | b;
#endif
}

/* Returns the lanes of a that are not lanes of b. */
LANES_INLINE lanes_mask lanes_but(lanes_mask a, lanes_mask b)
{
#if defined(__AVX512F__)
    return _kandn_mask16(b, a);
#else
    return a & ~b;
#endif
}

#define LANES_ALL ((1u << LANES) - 1)

/* Returns the chosen lanes as bits; the lowest bit is the first lane. */
LANES_INLINE uint32_t lanes_bits(lanes_mask m)
{
#if defined(__AVX512F__)
    return m;
#elif defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)m);
#else
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(m[i] != 0) << i;
    return bits;
#endif
}

/* Returns a + b in the chosen lanes, and b in the other lanes, where b is not -0. */
LANES_INLINE floats floats_add_where(lanes_mask m, floats a, floats b)
{
#if defined(__AVX512F__)
    return (floats)_mm512_mask_add_ps((__m512)b, m, (__m512)a, (__m512)b);
#else
    return (floats)((ints)a & m) + b;
#endif
}

/* Returns a*b + c in the chosen lanes, and c in the other lanes, where c is not -0. */
LANES_INLINE floats floats_fused_where(lanes_mask m, floats a, floats b, floats c)
{
#if defined(__AVX512F__)
    return (floats)_mm512_mask3_fmadd_ps((__m512)a, (__m512)b, (__m512)c, m);
#else
    return floats_fused((floats)((ints)a & m), b, c);
#endif
}

/* Returns the sum of the first `count` lanes, 1 to LANES. */
LANES_INLINE float floats_sum_first(floats v, uint32_t count)
{
#if defined(__AVX512F__)
    return _mm512_mask_reduce_add_ps((__mmask16)(LANES_ALL >> (LANES - count)), (__m512)v);
#elif defined(__AVX2__)
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane);
    const __m256 chosen = _mm256_and_ps((__m256)v, (__m256)first);
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(chosen), _mm256_extractf128_ps(chosen, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1)));
#else
    float sum = 0.0f;
    for (uint32_t i = 0; i < count; i++)
        sum += v[i];
    return sum;
#endif
}

/* Returns a in the chosen lanes, and b in the other lanes. */
LANES_INLINE words words_where(lanes_mask m, words a, words b)
{
#if defined(__AVX512F__)
    return (words)_mm512_mask_mov_epi32((__m512i)b, m, (__m512i)a);
#else
    return (words)floats_select(m, (floats)a, (floats)b);
#endif
}

/* Puts the lanes of these bits side by side at *to, which has room for LANES items. */
LANES_INLINE void words_pack(uint32_t *to, uint32_t bits, words v)
{
#if defined(__AVX512F__)
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, (__m512i)v));
#else
    for (; bits; bits &= bits - 1)
        *to++ = v[__builtin_ctz(bits)];
#endif
}

#endif
