/*
 * The bit transpose, compiled once per instruction set (ISA = baseline, avx2, avx512).  The bytes
 * of all items are sorted into planes.  Then the bits of each plane are extracted, the top bit of
 * 16 to 64 bytes at a time.
 *
 * The speed is limited by reading the items from memory and, without AVX-512, by the execution
 * port that moves masks, of which each vector needs 8.  With AVX-512, LZ4 takes two thirds of the
 * time of bitshuffle and LZ4 together.
 */
#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "codec/bslz4.h"

#include "base/isa.h"

#define INLINE static inline __attribute__((always_inline))

/* Sorts the bytes of the items: planes[b * count + i] is byte b of item i. */
INLINE void split_u16(const uint16_t *restrict items, size_t count, uint8_t *restrict planes)
{
    for (size_t i = 0; i < count; i++) {  // vectorised
        planes[i] = (uint8_t)items[i];
        planes[count + i] = (uint8_t)(items[i] >> 8);
    }
}

INLINE void split_u32(const uint32_t *restrict items, size_t count, uint8_t *restrict planes)
{
    for (size_t i = 0; i < count; i++) {  // vectorised
        planes[i] = (uint8_t)items[i];
        planes[count + i] = (uint8_t)(items[i] >> 8);
        planes[2 * count + i] = (uint8_t)(items[i] >> 16);
        planes[3 * count + i] = (uint8_t)(items[i] >> 24);
    }
}

/* Writes the bits of 8 bytes into 8 rows that are `stride` bytes apart: bit j of all bytes into
 * row j. */
INLINE void put_group(const uint8_t *from, uint8_t *out, size_t stride)
{
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    bits = bitshuffle_group(bits);
    for (int j = 0; j < 8; j++)
        out[(size_t)j * stride] = (uint8_t)(bits >> (8 * j));
}

/* Vector operations for put_vector, which does the same for 8 * sizeof(bits) bytes.  LOAD reads a
 * vector of bytes.  TOP gets the top bit of each byte.  DOUBLE shifts each byte left by one bit. */
#if defined __AVX512BW__
typedef uint64_t bits;
typedef __m512i bytes;
#define LOAD(from) _mm512_loadu_si512(from)
#define TOP(v) _mm512_movepi8_mask(v)
#define DOUBLE(v) _mm512_add_epi8(v, v)
#elif defined __AVX2__
typedef uint32_t bits;
typedef __m256i bytes;
#define LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define TOP(v) _mm256_movemask_epi8(v)
#define DOUBLE(v) _mm256_add_epi8(v, v)
#elif defined __SSE2__
typedef uint16_t bits;
typedef __m128i bytes;
#define LOAD(from) _mm_loadu_si128((const __m128i *)(from))
#define TOP(v) _mm_movemask_epi8(v)
#define DOUBLE(v) _mm_add_epi8(v, v)
#endif

#ifdef TOP
INLINE void put_vector(const uint8_t *from, uint8_t *out, size_t stride)
{
    bytes v = LOAD(from);
    for (size_t j = 8; j-- > 0; v = DOUBLE(v)) {
        const bits top = (bits)TOP(v);
        memcpy(out + j * stride, &top, sizeof top);
    }
}
#else
typedef uint8_t bits;
#define put_vector put_group
#endif

/* Returns true if all bytes of a plane are zero, as in most planes of images with small counts. */
INLINE bool is_zero(const uint8_t *plane, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)  // vectorised
        any |= plane[i];
    return any == 0;
}

/* Writes the bits of one plane: 8 rows of count / 8 bytes. */
INLINE void put_plane(const uint8_t *restrict plane, size_t count, uint8_t *restrict out)
{
    const size_t stride = count / 8;
    size_t i = 0;
    if (is_zero(plane, count)) {
        memset(out, 0, count);
        return;
    }
    for (; i + 8 * sizeof(bits) <= count; i += 8 * sizeof(bits))
        put_vector(plane + i, out + i / 8, stride);
    for (; i < count; i += 8)
        put_group(plane + i, out + i / 8, stride);
}

void NAME(bitshuffle_, ISA)(const void *items, size_t count, size_t size, uint8_t *scratch,
                            uint8_t *out)
{
    const uint8_t *planes = size == 1 ? items : scratch;
    if (size == 2)
        split_u16(items, count, scratch);
    else if (size == 4)
        split_u32(items, count, scratch);
    for (size_t b = 0; b < size; b++)
        put_plane(planes + b * count, count, out + b * count);
}

/* --- back ---------------------------------------------------------------- */

/* Restores the `count` bytes of one plane from 8 rows of count / 8 bytes. */
INLINE void get_plane(const uint8_t *restrict rows, size_t count, uint8_t *restrict plane)
{
    const size_t stride = count / 8;
    if (is_zero(rows, count)) {
        memset(plane, 0, count);
        return;
    }
    for (size_t m = 0; m < stride; m++) {  // vectorised
        uint64_t word = 0;
        for (size_t j = 0; j < 8; j++)
            word |= (uint64_t)rows[j * stride + m] << (8 * j);
        word = bitshuffle_group(word);
        memcpy(plane + 8 * m, &word, sizeof word);
    }
}

INLINE void merge_u16(const uint8_t *restrict planes, size_t count, uint16_t *restrict items)
{
    for (size_t i = 0; i < count; i++)  // vectorised
        items[i] = (uint16_t)(planes[i] | planes[count + i] << 8);
}

INLINE void merge_u32(const uint8_t *restrict planes, size_t count, uint32_t *restrict items)
{
    for (size_t i = 0; i < count; i++)  // vectorised
        items[i] = planes[i] | (uint32_t)planes[count + i] << 8 |
                   (uint32_t)planes[2 * count + i] << 16 | (uint32_t)planes[3 * count + i] << 24;
}

void NAME(bitunshuffle_, ISA)(const uint8_t *rows, size_t count, size_t size, uint8_t *scratch,
                              void *items)
{
    uint8_t *planes = size == 1 ? items : scratch;
    for (size_t b = 0; b < size; b++)
        get_plane(rows + b * count, count, planes + b * count);
    if (size == 2)
        merge_u16(planes, count, items);
    else if (size == 4)
        merge_u32(planes, count, items);
}
