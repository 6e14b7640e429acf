/*
 * Byte-offset encoders, compiled once per instruction set (ISA = baseline, avx2, avx512).
 * The loop computes sixteen differences at once and narrows them to bytes.  If a difference does
 * not fit a byte, the differences before it are kept, this one is written alone, and the next
 * sixteen begin after it.
 *
 * The speed is limited by memory on empty frames, and by mispredicted branches on noisy frames: two
 * for each isolated bright pixel.
 */
#include "io/images/cbf.h"

#include "base/isa.h"

#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16, ALL_LANES = (1 << LANES) - 1 };

/* Writes the bytes of *value and returns the place after them.  The bytes have the order of the
 * machine, which is little-endian. */
INLINE uint8_t *put_value(uint8_t *out, const void *value, size_t size)
{
    memcpy(out, value, size);
    return out + size;
}

/* Writes one difference in as many bytes as it needs.  Returns the place after it. */
static uint8_t *put_difference(uint8_t *out, int32_t difference)
{
    const int16_t two = (int16_t)difference, no_two = INT16_MIN;
    const int32_t no_four = INT32_MIN;
    const int64_t eight = difference;
    *out = (uint8_t)difference;
    if (difference >= -INT8_MAX && difference <= INT8_MAX)
        return out + 1;
    *out++ = 0x80;
    if (difference >= -INT16_MAX && difference <= INT16_MAX)
        return put_value(out, &two, sizeof two);
    out = put_value(out, &no_two, sizeof no_two);
    out = put_value(out, &difference, sizeof difference);
    return difference == no_four ? put_value(out, &eight, sizeof eight) : out;
}

INLINE int32_t minus(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* put_bytes_TYPE computes the differences of at[0..15] from the previous pixels and writes the
 * low byte of each.  It returns a mask with a bit for each difference that does not fit a byte. */
#ifdef __AVX512BW__
INLINE unsigned put_low_bytes(__m512i difference, uint8_t *out)
{
    const __m512i shifted = _mm512_add_epi32(difference, _mm512_set1_epi32(INT8_MAX));
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(difference));
    return _mm512_cmpgt_epu32_mask(shifted, _mm512_set1_epi32(2 * INT8_MAX));
}

INLINE unsigned put_bytes_i32(const int32_t *at, uint8_t *out)
{
    return put_low_bytes(_mm512_sub_epi32(_mm512_loadu_si512(at), _mm512_loadu_si512(at - 1)), out);
}

INLINE __m512i widen(const uint16_t *at)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)at));
}

INLINE unsigned put_bytes_u16(const uint16_t *at, uint8_t *out)
{
    return put_low_bytes(_mm512_sub_epi32(widen(at), widen(at - 1)), out);
}
#elif defined __SSE2__
/* Writes the low bytes of sixteen differences and returns the mask of put_bytes_TYPE.  The
 * differences fit 16 bits or are clipped to 16 bits. */
INLINE unsigned put_low_bytes(__m128i first, __m128i last, uint8_t *out)
{
    const __m128i most = _mm_set1_epi16(INT8_MAX), least = _mm_set1_epi16(-INT8_MAX);
    _mm_storeu_si128((__m128i *)out, _mm_packs_epi16(first, last));
    first = _mm_or_si128(_mm_cmpgt_epi16(first, most), _mm_cmpgt_epi16(least, first));
    last = _mm_or_si128(_mm_cmpgt_epi16(last, most), _mm_cmpgt_epi16(least, last));
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(first, last));
}

INLINE __m128i four_i32(const int32_t *at)
{
    return _mm_sub_epi32(_mm_loadu_si128((const __m128i *)at),
                         _mm_loadu_si128((const __m128i *)(at - 1)));
}

INLINE unsigned put_bytes_i32(const int32_t *at, uint8_t *out)
{
    return put_low_bytes(_mm_packs_epi32(four_i32(at), four_i32(at + 4)),
                         _mm_packs_epi32(four_i32(at + 8), four_i32(at + 12)), out);
}

/* Returns the smaller of x and 255, which is larger than any difference that fits a byte. */
INLINE __m128i clip_u16(__m128i x)
{
    return _mm_sub_epi16(x, _mm_subs_epu16(x, _mm_set1_epi16(UINT8_MAX)));
}

/* Returns the differences of eight pixels from the previous ones.  Subtracts the clipped decrease
 * from the clipped increase; one of the two is 0. */
INLINE __m128i eight_u16(const uint16_t *at)
{
    const __m128i here = _mm_loadu_si128((const __m128i *)at);
    const __m128i before = _mm_loadu_si128((const __m128i *)(at - 1));
    return _mm_sub_epi16(clip_u16(_mm_subs_epu16(here, before)),
                         clip_u16(_mm_subs_epu16(before, here)));
}

INLINE unsigned put_bytes_u16(const uint16_t *at, uint8_t *out)
{
    return put_low_bytes(eight_u16(at), eight_u16(at + 8), out);
}
#else
/* Without vectors, the encoder writes each difference alone: no difference counts as fitting a
 * byte. */
INLINE unsigned put_bytes_i32(const int32_t *at, uint8_t *out)
{
    (void)at, (void)out;
    return ALL_LANES;
}

INLINE unsigned put_bytes_u16(const uint16_t *at, uint8_t *out)
{
    (void)at, (void)out;
    return ALL_LANES;
}
#endif

/* Defines the encoder for pixels of `type`, which uses the function `put_bytes`. */
#define ENCODER(name, type, put_bytes)                                                        \
    static size_t name(const type *pixels, size_t count, int32_t previous, uint8_t *out)      \
    {                                                                                         \
        uint8_t *const start = out;                                                           \
        size_t i = 0;                                                                         \
        if (count)                                                                            \
            out = put_difference(out, minus((int32_t)pixels[i++], previous));                 \
        while (i + LANES <= count) {                                                          \
            const unsigned wide = put_bytes(pixels + i, out);                                 \
            const unsigned good = wide ? (unsigned)__builtin_ctz(wide) : LANES;               \
            out += good;                                                                      \
            i += good;                                                                        \
            for (unsigned rest = wide >> good; rest & 1; rest >>= 1, i++)                     \
                out = put_difference(out, minus((int32_t)pixels[i], (int32_t)pixels[i - 1])); \
        }                                                                                     \
        for (; i < count; i++)                                                                \
            out = put_difference(out, minus((int32_t)pixels[i], (int32_t)pixels[i - 1]));     \
        return (size_t)(out - start);                                                         \
    }

ENCODER(encode_i32, int32_t, put_bytes_i32)
ENCODER(encode_u16, uint16_t, put_bytes_u16)

const struct byte_offset_kernels NAME(byte_offset_, ISA) = {encode_i32, encode_u16};
