/*
 * The loops of the noise, compiled once per instruction set (ISA = baseline, avx2, avx512):
 * random numbers, counts of large means, counts of small means, and the operations on chunks of
 * pixels. No multiplication is fused with an addition, and every operation is rounded as IEEE
 * 754 says, so that all instruction sets give the same bytes. The compiler must vectorise the
 * loops marked "vectorised"; scripts/check-vectorised reads its report. The multiplications of
 * Philox and of the search for a count limit the speed; memory does not.
 */
#define FASTMATH_UNFUSED
#include "engine/detector/noise_loop.h"

#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "engine/cpu/lanes.h"
#include "engine/detector/noise_pixel.h"
#include "physics/noise/poisson.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* ---- Philox4x32-10 (base/rng.h) in vectors --------------------------------------------------
 *
 * One block of four words in each 64-bit lane.  Written with vector types because compilers do not
 * see on their own that a product of two 32-bit halves is one instruction; the words are those of
 * philox4x32. */

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

/* Stores uniform numbers in (0, 1), as rng_uniform_of. Each is made of two words, which are in
 * the low halves of the lanes. */
static inline __attribute__((always_inline)) void
philox_store_uniforms(philox_lanes high, philox_lanes low, double *to)
{
    const philox_lanes bits = (high << 32 | (low & 0xffffffffu)) >> 12 | 0x3ff0000000000000u;
    philox_doubles x;
    memcpy(&x, &bits, sizeof x);
    x = x - (1.0 - 0x1p-53);
    memcpy(to, &x, sizeof x);
}

/* Number of blocks that are computed side by side, so that the CPU always has independent
 * operations. */
enum { PHILOX_SIDE = 2, PHILOX_BLOCKS = PHILOX_SIDE * PHILOX_LANES };

/* Computes words 0 to 3 of PHILOX_BLOCKS blocks, in the low halves of lanes. Word 0 of the
 * counters is passed in word[][0], words 1 to 3 in rest[]. The high halves are undefined,
 * because the products ignore them. */
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

/* Stores words as pairs (even word, odd word), one pair per lane. */
static inline __attribute__((always_inline)) void philox_store_pairs(philox_lanes even,
                                                                     philox_lanes odd, void *to)
{
    const philox_lanes bits = (even & 0xffffffffu) | odd << 32;
    memcpy(to, &bits, sizeof bits);
}

/* ---- counts of large means: lists of pixels that try until all are accepted ----------------- */

enum { VECTOR = 16 };  // doubles of two of the widest vectors

/* Words 1 to 3 of the counters of a key. */
struct rest {
    uint32_t word[3];
};

INLINE struct rest rest_of(const struct noise_key *key, uint32_t block)
{
    return (struct rest){
        {(uint32_t)key->purpose << 24 | block, (uint32_t)key->frame, (uint32_t)(key->frame >> 32)}};
}

/* Number of pixels that are tried together. Their data fit into the first-level cache. */
enum { TRIES = 256 };

struct tries {
    double u[TRIES], v[TRIES];
    double count[TRIES];      // -1: refused
    uint32_t refused[TRIES];  // their places
};

/* Pixels of a chunk that still need a count. For pixels that only the complete test can decide,
 * u[] and v[] are the numbers that were tried. */
struct pending {
    int n;
    int64_t pixel[NOISE_CHUNK];  // within the chunk
    double mean[NOISE_CHUNK], u[NOISE_CHUNK], v[NOISE_CHUNK];
};

/* Lists the large means among the 32 pixels from `first`: the pixels whose bits are set in
 * `large`. */
INLINE void pending_add(struct pending *p, int64_t first, uint32_t large, const double *mean)
{
    if (large == UINT32_MAX) {
        for (int i = 0; i < 32; i++)
            p->pixel[p->n + i] = first + i;
        memcpy(p->mean + p->n, mean, 32 * sizeof *mean);
        p->n += 32;
        return;
    }
    for (; large; large &= large - 1) {
        const int i = __builtin_ctz(large);
        p->pixel[p->n] = first + i;
        p->mean[p->n++] = mean[i];
    }
}

/* Returns the number of vectors for n items. The loops process whole vectors, so that the items
 * behind the end must be valid numbers. */
INLINE int whole_vectors(int n)
{
    return (n + VECTOR - 1) / VECTOR;
}

/* Draws the uniform numbers of `n` pixels for one attempt. */
static void tries_draw(const struct noise_key *key, int64_t first, uint32_t attempt,
                       const int64_t *pixel, int n, struct tries *t)
{
    const struct rest rest = rest_of(key, 1 + attempt);
    for (int i = 0; i < n; i += PHILOX_BLOCKS) {
        philox_lanes w[PHILOX_SIDE][4];
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++) {
            memcpy(&w[s][0], &pixel[i + s * PHILOX_LANES], sizeof w[s][0]);
            w[s][0] += (uint64_t)first;
        }
        philox_words(w, rest.word, key->seed);
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++) {
            philox_store_uniforms(w[s][0], w[s][1], &t->u[i + s * PHILOX_LANES]);
            philox_store_uniforms(w[s][2], w[s][3], &t->v[i + s * PHILOX_LANES]);
        }
    }
}

static void tries_squeeze(const double *restrict mean, int n, struct tries *restrict t)
{
    const int end = VECTOR * whole_vectors(n);
    for (int i = 0; i < end; i++) {  // vectorised
        const struct poisson_try try = poisson_attempt(mean[i], t->u[i], t->v[i]);
        t->count[i] = try.sure ? try.k : -1.0;
    }
}

static void tries_test(const double *restrict mean, const double *restrict u,
                       const double *restrict v, int n, struct tries *restrict t)
{
    const int end = VECTOR * whole_vectors(n);
    for (int i = 0; i < end; i++) {  // vectorised
        const struct poisson_try try = poisson_attempt(mean[i], u[i], v[i]);
        t->count[i] = poisson_accepts(&try, mean[i]) ? try.k : -1.0;
    }
}

/* Replaces the counts of means above POISSON_LARGE_MEAN. They are rare, so this loop is simple. */
static void tries_normal(const double *restrict mean, int n, struct tries *restrict t)
{
    int exceptional = 0;
    for (int i = 0; i < n; i++)  // vectorised
        exceptional |= mean[i] > POISSON_LARGE_MEAN ? 1 : 0;
    for (int i = 0; exceptional && i < n; i++)
        if (mean[i] > POISSON_LARGE_MEAN) {
            double z, other;
            normal_pair(t->u[i], t->v[i], &z, &other);
            t->count[i] = poisson_normal(mean[i], z);
        }
}

/* Stores the counts at their pixels. If the pixels follow each other, a whole vector is stored
 * at a time. */
static void tries_store(const struct tries *t, const int64_t *pixel, int n, double *restrict value)
{
    int i = 0;
    for (; i + VECTOR <= n; i += VECTOR)
        if (pixel[i + VECTOR - 1] - pixel[i] == VECTOR - 1)
            memcpy(value + pixel[i], t->count + i, VECTOR * sizeof *value);
        else
            for (int k = i; k < i + VECTOR; k++)
                value[pixel[k]] = t->count[k];
    for (; i < n; i++)
        value[pixel[i]] = t->count[i];
}

/* Lists the pixels whose attempt was refused, and returns their number. */
static int tries_refused(struct tries *t, int n)
{
    int left = 0, i = 0;
    words place;
    for (int k = 0; k < LANES; k++)
        place[k] = (uint32_t)k;
    /* If words_pack is a loop, the loop below, which takes single pixels, is faster. */
    for (; LANES == 16 && i + LANES <= n; i += LANES) {
        const uint32_t refused = doubles_negative(t->count + i);
        words_pack(t->refused + left, refused, place + (uint32_t)i);
        left += __builtin_popcount(refused);
    }
    for (; i < n; i++) {
        t->refused[left] = (uint32_t)i;
        left += t->count[i] < 0.0;
    }
    return left;
}

/* Makes one attempt for all pending pixels.  Pixels that only the complete test can decide move to
 * the front of *p. */
static void pending_try(const struct noise_key *key, int64_t first, uint32_t attempt,
                        struct pending *p, double *value)
{
    struct tries t;
    int left = 0;
    for (int at = 0; at < p->n; at += TRIES) {
        const int n = p->n - at < TRIES ? p->n - at : TRIES;
        const int64_t *pixel = p->pixel + at;
        const double *mean = p->mean + at;
        tries_draw(key, first, attempt, pixel, n, &t);
        tries_squeeze(mean, n, &t);
        tries_normal(mean, n, &t);
        tries_store(&t, pixel, n, value);
        const int refused = tries_refused(&t, n);
        for (int i = 0; i < refused; i++, left++) {
            const uint32_t from = t.refused[i];
            p->pixel[left] = pixel[from];
            p->mean[left] = mean[from];
            p->u[left] = t.u[from];
            p->v[left] = t.v[from];
        }
    }
    p->n = left;
}

/* Applies the complete test to the pixels that need it. Refused pixels stay in *p, at its front. */
static void pending_test(struct pending *p, double *value)
{
    struct tries t;
    int left = 0;
    for (int at = 0; at < p->n; at += TRIES) {
        const int n = p->n - at < TRIES ? p->n - at : TRIES;
        tries_test(p->mean + at, p->u + at, p->v + at, n, &t);
        tries_store(&t, p->pixel + at, n, value);
        const int refused = tries_refused(&t, n);
        for (int i = 0; i < refused; i++, left++) {
            p->pixel[left] = p->pixel[at + (int)t.refused[i]];
            p->mean[left] = p->mean[at + (int)t.refused[i]];
        }
    }
    p->n = left;
}

/* Fills the last vector with valid numbers. */
static void pending_pad(struct pending *p)
{
    for (int i = p->n; i < VECTOR * whole_vectors(p->n); i++) {
        p->pixel[i] = 0;
        p->mean[i] = POISSON_SMALL_MEAN;
        p->u[i] = p->v[i] = 0.5;
    }
}

static void poisson_large(const struct noise_key *key, struct noise_chunk *c, struct pending *p)
{
    for (uint32_t attempt = 0; p->n > 0; attempt++) {
        pending_pad(p);
        pending_try(key, c->first, attempt, p, c->value);
        pending_pad(p);
        pending_test(p, c->value);
    }
}

/* ---- counts of small means ------------------------------------------------------------------
 *
 * A search through the sums of their probabilities, and a table for what is whole of them.  A
 * uniform is drawn digit by digit: 16 bits decide in single precision, unless a sum of
 * probabilities is within SEARCH_DOUBT of what the uniform may be; then further digits and double
 * precision do. The counts are those of noise_count_small.  A group of pixels goes on until the
 * last one has its count. */

/* The search checks after SEARCH_STEPS steps whether all pixels have found their count.
 * GROUP_PIXELS are searched together. The bits of SEARCH_PIXELS are drawn together. */
enum {
    SEARCH_STEPS = 4,
    GROUP_PIXELS = 32,
    SEARCH_PIXELS = NOISE_BATCH,
    SIDE = GROUP_PIXELS / LANES
};

/* The state of a search for each pixel: the mean, its first probability, the row of the table,
 * and the count. */
struct search {
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS];
    uint32_t row[SEARCH_PIXELS];
    int32_t count[SEARCH_PIXELS];
};

/* Returns the parts of a mean. Both are 0 for a large mean. */
INLINE struct poisson_parts search_parts(double mean)
{
    const float all = (float)mean;
    return poisson_parts(all < (float)POISSON_SMALL_MEAN ? all : 0.0f);
}

/* Loads the means. `far`: some of them have a whole part. */
INLINE void search_load(struct search *restrict s, const double *restrict mean, bool far)
{
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const struct poisson_parts parts = search_parts(mean[i]);
        const float all = (float)mean[i], near = all < (float)POISSON_NEAR_MEAN ? all : 0.0f;
        const float rest = far ? parts.rest : near;
        const float searched = rest > SEARCH_MIN_MEAN ? rest : SEARCH_MIN_MEAN;
        s->mean[i] = searched;
        s->p[i] = poisson_exp_f(searched);
        if (far)
            s->row[i] = poisson_row((uint32_t)parts.whole);
    }
}

/* Returns a bit for each pixel of a group whose mean is at least `limit`. */
INLINE uint32_t search_beyond(const double *value, float limit)
{
    const floats zero = {0}, limits = zero + limit;
    uint32_t below = 0;
#pragma GCC unroll 8
    for (int i = 0; i < GROUP_PIXELS; i += LANES)
        below |= lanes_below(floats_of_doubles(doubles_pair_load(value + i, false)), limits) << i;
    return ~below;
}

/* A vector of a search: both ends of the interval that contains the uniform number, the next
 * probability, the sum of the previous ones, the number of sums below the low end, and the first
 * sum that is not below it. */
struct walk {
    floats low, high, p, sum, first;
    ints count;
};

/* Advances by one count. The probability changes by `factor`. */
INLINE void walk_on(struct walk *w, floats factor)
{
    const lanes_mask below = lanes_less(w->sum, w->low);
    w->sum = w->sum + w->p;
    w->count = ints_count(w->count, below);
    w->first = floats_raise_where(below, w->first, w->sum);
    w->p = w->p * factor;
}

/* Starts at count 0 for the pixels from `at`. `bits` are the first bits of their uniform
 * numbers. */
INLINE void walk_start(struct walk *w, const struct search *s, int at, words bits, floats mean)
{
    const floats u = floats_of_ints(bits) * 0x1p-16f;
    w->low = u - SEARCH_DOUBT;
    w->high = u + (0x1p-16f + SEARCH_DOUBT);
    w->sum = w->first = floats_load(s->p + at);
    w->p = w->sum * mean;
    w->count = (ints){0};
}

/* Searches for the counts of the group from `at`. Its vectors are processed side by side.
 * Returns a bit for each pixel in doubt: its high end is above the first sum. */
INLINE uint32_t search_group(struct search *s, int at, const uint16_t *bits)
{
    struct walk w[SIDE];
    floats mean[SIDE];
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        const int from = at + v * LANES;
        mean[v] = floats_load(s->mean + from);
        walk_start(&w[v], s, from, words_of_shorts(bits + from), mean[v]);
    }
    uint32_t left = 1;
    for (int k = 1; left && k < POISSON_NEAR_END; k += SEARCH_STEPS) {
        left = 0;
#pragma GCC unroll 8
        for (int v = 0; v < SIDE; v++) {
#pragma GCC unroll 4
            for (int j = 1; j <= SEARCH_STEPS; j++)
                walk_on(&w[v], mean[v] * floats_of(count_inverse[k + j]));
            left |= lanes_below(w[v].sum, w[v].high);
        }
    }
    uint32_t doubts = 0;
#pragma GCC unroll 8
    for (int v = 0; v < SIDE; v++) {
        memcpy(s->count + at + v * LANES, &w[v].count, sizeof w[v].count);
        doubts |= lanes_below(w[v].first, w[v].high) << (v * LANES);
    }
    return doubts;
}

/* Draws the counts of the rests of the means, from pixel `first` of the image on. `far`: some
 * means have a whole part. */
INLINE void search_rests(struct search *s, const struct noise_key *key, int64_t first,
                         const uint16_t *bits, const double *mean, bool far)
{
    if (far)
        search_load(s, mean, true);
    else
        search_load(s, mean, false);
    for (int at = 0; at < SEARCH_PIXELS; at += GROUP_PIXELS)
        for (uint32_t doubts = search_group(s, at, bits); doubts; doubts &= doubts - 1) {
            const int i = at + __builtin_ctz(doubts);
            s->count[i] =
                noise_rest_exactly(key, (uint32_t)(first + i), bits[i], search_parts(mean[i]).rest);
        }
}

/* Adds the counts of the whole parts of a group, as poisson_decide. Returns a bit for each pixel
 * whose bits do not decide. */
INLINE uint32_t search_decide(int32_t *counts, const uint32_t *entries, const uint16_t *bits)
{
    uint32_t ties = 0;
#pragma GCC unroll 8
    for (int i = 0; i < GROUP_PIXELS; i += LANES) {
        words entry, count;
        memcpy(&entry, entries + i, sizeof entry);
        memcpy(&count, counts + i, sizeof count);
        const words digits = words_of_shorts(bits + i) & (POISSON_DIGITS - 1);
        const words first = entry & 1023, own = entry >> 10 & 255, other = entry >> 18;
        count += other ^ ((own ^ other) & (words)(digits < first));
        memcpy(counts + i, &count, sizeof count);
        ties |= lanes_bits(lanes_equal(digits, first)) << i;
    }
    return ties;
}

/* Adds the counts of the whole parts of all pixels. */
INLINE void search_wholes(struct search *s, const struct noise_key *key, int64_t first,
                          const uint16_t *restrict bits, const struct poisson_table *table)
{
    uint32_t at[SEARCH_PIXELS], entry[SEARCH_PIXELS];
    volatile uint32_t *const one_by_one = entry;  // faster than what gathers
    const uint32_t *entries = &table->entry[0][0];
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        at[i] = poisson_entry(s->row[i], bits[i]);
#pragma GCC unroll 8
    for (int i = 0; i < SEARCH_PIXELS; i++)
        one_by_one[i] = entries[at[i]];
    for (int from = 0; from < SEARCH_PIXELS; from += GROUP_PIXELS)
        for (uint32_t ties = search_decide(s->count + from, entry + from, bits + from); ties;
             ties &= ties - 1) {
            const int i = from + __builtin_ctz(ties);
            s->count[i] += noise_whole_exactly(key, (uint32_t)(first + i), bits[i], table, at[i]) -
                           (int32_t)poisson_decide(entry[i], bits[i]);
        }
}

/* ---- operations on chunks of pixels --------------------------------------------------------- */

/* Returns the lanes first, first + 1, ... */
INLINE philox_lanes count_up(int64_t first)
{
    philox_lanes lanes = {0};
    for (int i = 0; i < PHILOX_LANES; i++)
        lanes[i] = (uint64_t)(first + i);
    return lanes;
}

/* Draws uniform numbers of 52 bits for NOISE_BLOCK pixels from `first` on, from the blocks of
 * their pairs. */
INLINE void block_uniforms(const struct noise_key *key, int64_t first, double *restrict u)
{
    const struct rest rest = rest_of(key, 0);
    philox_lanes pair = count_up(first / 2);
    for (int i = 0; i < NOISE_PAIRS; i += PHILOX_BLOCKS, pair += PHILOX_BLOCKS) {
        philox_lanes w[PHILOX_SIDE][4] = {{pair}, {pair + PHILOX_LANES}};
        philox_words(w, rest.word, key->seed);
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++) {
            double *to = u + i + s * PHILOX_LANES;
            philox_store_uniforms(w[s][0], w[s][1], to);
            philox_store_uniforms(w[s][2], w[s][3], to + NOISE_PAIRS);
        }
    }
}

/* Draws 16 bits for each of SEARCH_PIXELS pixels from `first` on, from the blocks of their
 * octets. */
INLINE void batch_bits(const struct noise_key *key, int64_t first, enum noise_draw draw,
                       uint16_t *restrict bits)
{
    const struct rest rest = rest_of(key, 0);
    philox_lanes octet = count_up(first / 8);
    for (int i = 0; i < SEARCH_PIXELS / 8; i += PHILOX_BLOCKS, octet += PHILOX_BLOCKS) {
        const philox_lanes next = octet + PHILOX_LANES;
        philox_lanes w[PHILOX_SIDE][4] = {{2 * octet + (uint64_t)draw},
                                          {2 * next + (uint64_t)draw}};
        philox_words(w, rest.word, key->seed);
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++) {
            const int at = i + s * PHILOX_LANES;
            uint16_t *to = bits + at / NOISE_OCTETS * NOISE_BLOCK + at % NOISE_OCTETS * 4;
            philox_store_pairs(w[s][0], w[s][1], to);
            philox_store_pairs(w[s][2], w[s][3], to + NOISE_PAIRS);
        }
    }
}

static void normals(const struct noise_key *key, struct noise_chunk *c)
{
    for (int b = 0; b < c->blocks; b++) {
        double *restrict z = c->deviate + b * NOISE_BLOCK;
        double u[NOISE_BLOCK];
        block_uniforms(key, c->first + b * NOISE_BLOCK, u);
        for (int i = 0; i < NOISE_PAIRS; i++)  // vectorised
            normal_pair(u[i], u[NOISE_PAIRS + i], &z[i], &z[NOISE_PAIRS + i]);
    }
}

static void uniforms(const struct noise_key *key, struct noise_chunk *c)
{
    const struct rest rest = rest_of(key, 0);
    philox_lanes pixel = count_up(c->first);
    for (int i = 0; i < c->blocks * NOISE_BLOCK; i += PHILOX_BLOCKS, pixel += PHILOX_BLOCKS) {
        philox_lanes w[PHILOX_SIDE][4] = {{pixel}, {pixel + PHILOX_LANES}};
        philox_words(w, rest.word, key->seed);
#pragma GCC unroll 2
        for (int s = 0; s < PHILOX_SIDE; s++)
            philox_store_uniforms(w[s][2], w[s][3], c->deviate + i + s * PHILOX_LANES);
    }
}

/* The kinds of means that occur among SEARCH_PIXELS. */
struct kinds {
    bool small, far;  // any; with a whole part
};

/* Lists the large means among the SEARCH_PIXELS of a chunk from `first`. */
INLINE struct kinds poisson_list(int first, const double *value, struct pending *large)
{
    struct kinds any = {false, false};
    for (int at = 0; at < SEARCH_PIXELS; at += GROUP_PIXELS) {
        const uint32_t far = search_beyond(value + at, (float)POISSON_NEAR_MEAN);
        const uint32_t beyond = far ? search_beyond(value + at, (float)POISSON_SMALL_MEAN) : 0;
        pending_add(large, first + at, beyond, value + at);
        any.small = any.small || beyond != UINT32_MAX;
        any.far = any.far || far != beyond;
    }
    return any;
}

static void poisson(const struct noise_key *key, struct noise_chunk *c)
{
    const struct poisson_table *table = poisson_table();
    struct pending large;
    struct search s;
    uint16_t bits[SEARCH_PIXELS];
    large.n = 0;
    for (int at = 0; at < c->blocks * NOISE_BLOCK; at += SEARCH_PIXELS) {
        const int64_t first = c->first + at;
        double *restrict value = c->value + at;
        const struct kinds any = poisson_list(at, value, &large);
        if (!any.small)
            continue;
        batch_bits(key, first, NOISE_REST, bits);
        search_rests(&s, key, first, bits, value, any.far);
        if (any.far) {
            batch_bits(key, first, NOISE_WHOLE, bits);
            search_wholes(&s, key, first, bits, table);
        }
        for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
            value[i] = (double)s.count[i];
    }
    poisson_large(key, c, &large);
}

static bool load(struct noise_chunk *c, const float *restrict photons, int count)
{
    int bad = 0;
    for (int i = 0; i < count; i++) {  // vectorised
        bad |= (photons[i] >= 0.0f ? 0 : 1) | (photons[i] <= 3.4e38f ? 0 : 1);
        c->value[i] = (double)photons[i];
    }
    c->blocks = (count + NOISE_BATCH - 1) / NOISE_BATCH * (NOISE_BATCH / NOISE_BLOCK);
    for (int i = count; i < c->blocks * NOISE_BLOCK; i++)
        c->value[i] = 0.0;
    return !bad;
}

static void vary(struct noise_chunk *c, double sigma)
{
    for (int i = 0; i < c->blocks * NOISE_BLOCK; i++) {  // vectorised
        const double factor = 1.0 + sigma * c->deviate[i];
        c->value[i] = c->value[i] * (factor > 0.0 ? factor : 0.0);
    }
}

static void scale(struct noise_chunk *c, const float *restrict factor, int count)
{
    for (int i = 0; i < count; i++)  // vectorised
        c->value[i] = c->value[i] * (double)factor[i];
}

static void store_f32(const struct noise_chunk *c, float *restrict to, int count)
{
    for (int i = 0; i < count; i++)  // vectorised
        to[i] = (float)c->value[i];
}

/* Returns a double that is a whole number as an integer: the low bits after 2^52 was added. */
INLINE uint64_t whole_bits(double x)
{
    const double shifted = x + 0x1p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits;
}

static void store_u16(const struct noise_chunk *c, uint16_t *restrict to, int count)
{
    for (int i = 0; i < count; i++)  // vectorised
        to[i] = (uint16_t)whole_bits(c->value[i]);
}

static void store_u32(const struct noise_chunk *c, uint32_t *restrict to, int count)
{
    for (int i = 0; i < count; i++)  // vectorised
        to[i] = (uint32_t)whole_bits(c->value[i]);
}

/* Reads out into pixels of 2 bytes, or of 4 bytes if `wide`. `noisy`: readout noise is added.
 * One pass over the values is faster than one for each operation. */
INLINE void read_out(const struct noise_chunk *restrict c, const struct readout_scale *scale,
                     bool noisy, bool wide, void *restrict to, int count, struct noise_cut *cut)
{
    const struct readout_scale s = *scale;
    uint16_t *const narrow_to = to;
    uint32_t *const wide_to = to;
    int64_t saturated = 0, below = 0;
    for (int i = 0; i < count; i++) {  // vectorised
        const double scaled = c->value[i] * s.gain + s.offset;
        const double adu = noisy ? scaled + s.readout * c->deviate[i] : scaled;
        const double bounded = adu < s.largest ? adu : s.largest;
        const uint64_t bits = whole_bits(poisson_floor((bounded > 0.0 ? bounded : 0.0) + 0.5));
        saturated += noise_saturates(adu, s.largest) ? 1 : 0;
        below += noise_is_below(adu) ? 1 : 0;
        if (wide)
            wide_to[i] = (uint32_t)bits;
        else
            narrow_to[i] = (uint16_t)bits;
    }
    cut->saturated += saturated;
    cut->below += below;
}

static void read_out_u16(const struct noise_chunk *c, const struct readout_scale *scale,
                         uint16_t *to, int count, struct noise_cut *cut)
{
    if (scale->readout > 0.0)
        read_out(c, scale, true, false, to, count, cut);
    else
        read_out(c, scale, false, false, to, count, cut);
}

static void read_out_u32(const struct noise_chunk *c, const struct readout_scale *scale,
                         uint32_t *to, int count, struct noise_cut *cut)
{
    if (scale->readout > 0.0)
        read_out(c, scale, true, true, to, count, cut);
    else
        read_out(c, scale, false, true, to, count, cut);
}

const struct noise_kernels NAME(noise_kernels_, ISA) = {
    .load = load,
    .normals = normals,
    .uniforms = uniforms,
    .vary = vary,
    .scale = scale,
    .poisson = poisson,
    .read_out_u16 = read_out_u16,
    .read_out_u32 = read_out_u32,
    .store_f32 = store_f32,
    .store_u16 = store_u16,
    .store_u32 = store_u32,
};
