#include "base/crc32c.h"

#include <string.h>

/* Returns the checksum register after four more bits.  A table of 16 entries is slower than a
 * larger one, but small, and almost never used. */
static uint32_t nibble(uint32_t crc)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    return (crc >> 4) ^ table[crc & 15];
}

static uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = nibble(nibble(crc ^ bytes[i]));
    return ~crc;
}

/* Returns the product of two polynomials over GF(2), modulo the polynomial of Castagnoli.  A
 * checksum is such a polynomial with reversed bits: its highest bit is the coefficient of 1. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = (b >> 1) ^ (b & 1 ? 0x82f63b78 : 0);
    }
    return product;
}

/* The polynomials x^8 and x^-8.  The product of a checksum and x^8 is the checksum of the data
 * with a zero byte appended; x^-8 removes that byte. */
static const uint32_t BYTE_MORE = 0x00800000, BYTE_LESS = 0xfde39562;

static uint32_t power(uint32_t square, size_t exponent)
{
    uint32_t result = UINT32_C(1) << 31;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(result, square);
        square = multiply(square, square);
    }
    return result;
}

uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count)
{
    uint32_t sum = 0, factor = 0;
    for (size_t i = 0; i < count; i++) {
        if (!factor || pieces[i].bytes != pieces[i - 1].bytes)
            factor = power(BYTE_MORE, pieces[i].bytes);
        sum = multiply(factor, sum) ^ pieces[i].sum;
    }
    return sum;
}

uint32_t crc32c_before(uint32_t whole, struct crc32c_piece last)
{
    return multiply(power(BYTE_LESS, last.bytes), whole ^ last.sum);
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("sse4.2"))) static uint64_t add_word(uint64_t sum, const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return _mm_crc32_u64(sum, word);
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *data,
                                                               size_t size)
{
    const uint8_t *bytes = data;
    uint64_t sum = (uint32_t)~crc;
    for (; size >= 8; bytes += 8, size -= 8)
        sum = add_word(sum, bytes);
    if (size & 4) {
        uint32_t half;
        memcpy(&half, bytes, sizeof half);
        sum = _mm_crc32_u32((uint32_t)sum, half);
        bytes += sizeof half;
    }
    for (size &= 3; size; bytes++, size--)
        sum = _mm_crc32_u8((uint32_t)sum, *bytes);
    return ~(uint32_t)sum;
}

enum { STREAM = 1024 };  // bytes of each of the three pieces that are processed in parallel

/* Returns the register `sum` after n zero bytes.  `power` is x^(8 n - 33) modulo the polynomial,
 * with reversed bits.  The exponent has -33 because the instruction multiplies by x^32, and because
 * the product of reversed operands has one factor x less. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t shifted(uint64_t sum, uint32_t power)
{
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)sum), _mm_cvtsi32_si128((int)power), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Computes the checksum of three pieces in parallel.  The instruction takes three cycles, and
 * the CPU can run three of them at the same time. */
__attribute__((target("sse4.2,pclmul"))) static uint32_t
crc32c_streams(uint32_t crc, const void *data, size_t size)
{
    const uint32_t one_piece = 0x170076fa, two_pieces = 0xa51b6135;  // n = STREAM, 2 * STREAM
    const uint8_t *bytes = data;
    uint64_t sum = (uint32_t)~crc;
    for (; size >= 3 * STREAM; bytes += 3 * STREAM, size -= 3 * STREAM) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < STREAM; i += 8) {
            sum = add_word(sum, bytes + i);
            second = add_word(second, bytes + STREAM + i);
            third = add_word(third, bytes + 2 * STREAM + i);
        }
        sum = third ^ _mm_crc32_u64(0, shifted(sum, two_pieces) ^ shifted(second, one_piece));
    }
    return crc32c_sse42(~(uint32_t)sum, bytes, size);
}

/* Folding replaces a lane of 128 bits by a lane that is `bits` further on in the data and leaves
 * the same remainder.  Both halves of the lane are multiplied by powers of x, as in "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Gopal et al., Intel 2009).
 * As in shifted() the factor is x^(bits + 31) for the half that comes first, and x^(bits - 33)
 * for the other half. */
#define FOLDS __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

FOLDS static __m512i factors(uint64_t first, uint64_t second)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x((int64_t)second, (int64_t)first));
}

FOLDS static __m512i fold(__m512i lanes, __m512i by, __m512i onto)
{
    enum { XOR3 = 0x96 };
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(lanes, by, 0x00),
                                     _mm512_clmulepi64_epi128(lanes, by, 0x11), onto, XOR3);
}

FOLDS static __m128i fold_lane(__m128i lane, __m128i onto)
{
    const __m128i by = _mm_set_epi64x(0x493c7d27, 0xf20c0dfe);  // 128 bits
    return _mm_xor_si128(onto, _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00),
                                             _mm_clmulepi64_si128(lane, by, 0x11)));
}

enum { ROUND = 4 * sizeof(__m512i) };  // least number of bytes that can be folded

FOLDS static uint32_t crc32c_folded(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (size < ROUND)
        return crc32c_sse42(crc, data, size);
    __m512i lanes[4];
    for (int i = 0; i < 4; i++)
        lanes[i] = _mm512_loadu_si512(bytes + 64 * i);
    lanes[0] = _mm512_xor_si512(lanes[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
    const __m512i far = factors(0xdcb17aa4, 0xb9e02b86),  // 2048 bits
        near = factors(0x740eef02, 0x9e4addf8);           // 512 bits
    for (bytes += ROUND, size -= ROUND; size >= ROUND; bytes += ROUND, size -= ROUND)
        for (int i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], far, _mm512_loadu_si512(bytes + 64 * i));
    for (int i = 1; i < 4; i++)
        lanes[i] = fold(lanes[i - 1], near, lanes[i]);
    __m128i lane = _mm512_extracti32x4_epi32(lanes[3], 0);
    lane = fold_lane(lane, _mm512_extracti32x4_epi32(lanes[3], 1));
    lane = fold_lane(lane, _mm512_extracti32x4_epi32(lanes[3], 2));
    lane = fold_lane(lane, _mm512_extracti32x4_epi32(lanes[3], 3));
    const uint64_t sum = _mm_crc32_u64(_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(lane)),
                                       (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(lane, lane)));
    return crc32c_sse42(~(uint32_t)sum, bytes, size);
}

bool crc32c_has(enum crc32c_way way)
{
    const bool sse42 = __builtin_cpu_supports("sse4.2"),
               streams = sse42 && __builtin_cpu_supports("pclmul");
    switch (way) {
    case CRC32C_PORTABLE:
        return true;
    case CRC32C_SSE42:
        return sse42;
    case CRC32C_STREAMS:
        return streams;
    default:
        return streams && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
    }
}

uint32_t crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t size)
{
    static uint32_t (*const ways[])(uint32_t, const void *, size_t) = {
        crc32c_portable, crc32c_sse42, crc32c_streams, crc32c_folded};
    return ways[way](crc, data, size);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    enum crc32c_way way = CRC32C_FASTEST;
    if (size < STREAM && crc32c_has(CRC32C_SSE42))  // other ways are not faster for few bytes
        return crc32c_sse42(crc, data, size);
    while (!crc32c_has(way))
        way--;
    return crc32c_by(way, crc, data, size);
}

#else

bool crc32c_has(enum crc32c_way way)
{
    return way == CRC32C_PORTABLE;
}

uint32_t crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t size)
{
    (void)way;
    return crc32c_portable(crc, data, size);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return crc32c_portable(crc, data, size);
}

#endif
