#include "base/hash.h"

#include <endian.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/program.h"

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

/* Does what multiply_portable does, five times as fast.  Each of the two products has 33 factors x
 * more than it should, which x^-66 removes. */
__attribute__((target("sse4.2,pclmul"))) static uint32_t multiply_fast(uint32_t a, uint32_t b)
{
    const uint32_t less = 0x97c7a287;  // x^-66
    const uint64_t more = _mm_crc32_u64(0, shifted(a, b));
    return (uint32_t)_mm_crc32_u64(0, shifted(more, less));
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

static uint32_t multiply(enum crc32c_way way, uint32_t a, uint32_t b)
{
    return way >= CRC32C_STREAMS ? multiply_fast(a, b) : crc32c_product(a, b);
}

static uint32_t sum_piece(uint32_t crc, const void *data, size_t size)
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

static uint32_t multiply(enum crc32c_way way, uint32_t a, uint32_t b)
{
    (void)way;
    return crc32c_product(a, b);
}

static uint32_t sum_piece(uint32_t crc, const void *data, size_t size)
{
    return crc32c_portable(crc, data, size);
}

#endif

/* The polynomial x^-8.  The product of a checksum and x^-8 is the checksum without the zero byte at
 * the end of the data. */
static const uint32_t BYTE_LESS = 0xfde39562;

static uint32_t power(enum crc32c_way way, uint32_t square, size_t exponent)
{
    uint32_t result = UINT32_C(1) << 31;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(way, result, square);
        square = multiply(way, square, square);
    }
    return result;
}

uint32_t crc32c_join_by(enum crc32c_way way, const struct crc32c_piece *pieces, size_t count)
{
    uint32_t sum = 0, factor = 0;
    for (size_t i = 0; i < count; i++) {
        if (!factor || pieces[i].bytes != pieces[i - 1].bytes)
            factor = power(way, CRC32C_BYTE_MORE, pieces[i].bytes);
        sum = multiply(way, factor, sum) ^ pieces[i].sum;
    }
    return sum;
}

/* Returns the fastest way to multiply. */
static enum crc32c_way fastest(void)
{
    return crc32c_has(CRC32C_STREAMS) ? CRC32C_STREAMS : CRC32C_PORTABLE;
}

uint32_t crc32c_join(const struct crc32c_piece *pieces, size_t count)
{
    return crc32c_join_by(fastest(), pieces, count);
}

uint32_t crc32c_before(uint32_t whole, struct crc32c_piece last)
{
    const enum crc32c_way way = fastest();
    return multiply(way, power(way, BYTE_LESS, last.bytes), whole ^ last.sum);
}

enum {
    PIECES_MAX = 64,
    PIECE_BYTES_MIN = 1 << 19,
    COPY_BYTES = 24 << 10,  // bytes that are copied at a time: they are still in the caches
};

/* Continues the checksum over the bytes, and copies them if `to` is not NULL. */
static uint32_t copy_piece(uint32_t crc, uint8_t *to, const uint8_t *from, size_t size)
{
    if (!to)
        return sum_piece(crc, from, size);
    for (size_t done = 0; done < size;) {
        const size_t n = size - done < COPY_BYTES ? size - done : COPY_BYTES;
        memcpy(to + done, from + done, n);
        crc = sum_piece(crc, to + done, n);
        done += n;
    }
    return crc;
}

/* Does what copy_piece does, in the threads of program_threads. */
static uint32_t copy_pieces(uint32_t crc, uint8_t *to, const uint8_t *from, size_t size)
{
    struct crc32c_piece pieces[1 + PIECES_MAX] = {{.sum = crc}};
    const int threads = program_threads();
    size_t count = size / PIECE_BYTES_MIN;
    if (threads == 1 || count < 2)
        return copy_piece(crc, to, from, size);
    count = count < PIECES_MAX ? count : PIECES_MAX;
#pragma omp parallel for num_threads(threads) schedule(runtime)
    for (size_t i = 0; i < count; i++) {
        const size_t first = size / count * i, end = i + 1 == count ? size : first + size / count;
        pieces[1 + i].bytes = end - first;
        pieces[1 + i].sum = copy_piece(0, to ? to + first : NULL, from + first, end - first);
    }
    return crc32c_join(pieces, 1 + count);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    return copy_pieces(crc, NULL, data, size);
}

uint32_t crc32c_copy(void *to, const void *from, size_t size)
{
    return copy_pieces(0, to, from, size);
}

enum { MD5_BLOCK = 64, MD5_WORDS = 16 };

/* floor(2^32 |sin(i + 1)|) */
static const uint32_t SINES[MD5_BLOCK] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

/* Does one step of a round [RFC 1321, 3.4], and rotates the names of the four words. */
static inline __attribute__((always_inline)) void step(uint32_t w[4], uint32_t mixed, uint32_t word,
                                                       uint32_t sine, int turn)
{
    const uint32_t sum = w[0] + mixed + word + sine;
    w[0] = w[3];
    w[3] = w[2];
    w[2] = w[1];
    w[1] += sum << turn | sum >> (32 - turn);
}

static void add_block(uint32_t state[4], const uint8_t *block)
{
    static const int turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t x[MD5_WORDS], w[4];
    memcpy(x, block, sizeof x);
    memcpy(w, state, sizeof w);
    for (int i = 0; i < MD5_WORDS; i++)
        x[i] = le32toh(x[i]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        step(w, (w[1] & w[2]) | (~w[1] & w[3]), x[i], SINES[i], turns[0][i % 4]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        step(w, (w[3] & w[1]) | (~w[3] & w[2]), x[(5 * i + 1) % 16], SINES[16 + i],
             turns[1][i % 4]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        step(w, w[1] ^ w[2] ^ w[3], x[(3 * i + 5) % 16], SINES[32 + i], turns[2][i % 4]);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        step(w, w[2] ^ (w[1] | ~w[3]), x[7 * i % 16], SINES[48 + i], turns[3][i % 4]);
    for (int i = 0; i < 4; i++)
        state[i] += w[i];
}

void md5_compute(const void *data, size_t size, uint8_t sum[MD5_BYTES])
{
    const uint8_t *bytes = data;
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t last[2 * MD5_BLOCK] = {0};
    const size_t whole = size / MD5_BLOCK * MD5_BLOCK, rest = size - whole;
    const size_t end = rest < MD5_BLOCK - 8 ? MD5_BLOCK : 2 * MD5_BLOCK;
    const uint64_t bits = htole64(8 * (uint64_t)size);
    for (size_t i = 0; i < whole; i += MD5_BLOCK)
        add_block(state, bytes + i);
    if (rest)
        memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    memcpy(last + end - sizeof bits, &bits, sizeof bits);
    for (size_t i = 0; i < end; i += MD5_BLOCK)
        add_block(state, last + i);
    for (int i = 0; i < MD5_BYTES; i++)
        sum[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}
