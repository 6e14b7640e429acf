/*
 * The loops of the noise, compiled once per instruction set (ISA = baseline, avx2,
 * avx512).  Nothing is fused and every operation is rounded as IEEE 754 says, so all
 * three give the same bytes.  Loops marked "vectorised" must be; they are checked by
 * scripts/check-vectorised.  What bounds them: the multiplications of Philox and of the
 * search for a count, never memory.
 */
#define FASTMATH_UNFUSED
#include "engine/noise_loop.h"

#include "engine/noise_large.h"

#define PASTE(a, b) a##b
#define NAME(stem, isa) PASTE(stem, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)

/* Steps of the search between two looks whether all have found their count, and pixels
 * that are looked at together. */
enum { SEARCH_STEPS = 8, SEARCH_PIXELS = 32 };

/* More than a sum of probabilities in single precision can be off by, SEARCH_MIN_MEAN
 * included: two roundings a term, 7e-6 in the worst case up to a count of 30, 8e-7 found.
 * And the least mean that is searched for. */
#define SEARCH_DOUBT 0x1p-16f
#define SEARCH_MIN_MEAN 1e-6f
#define SEARCH_UNIT 0x1p100f  // of probabilities: 2^POISSON_SCALE

/* 1/k. */
static const float inverse[POISSON_SMALL_END + 1] = {
#define I(k) 1.0f / (k)
#define I8(k) I(k), I(k + 1), I(k + 2), I(k + 3), I(k + 4), I(k + 5), I(k + 6), I(k + 7)
    0.0f,   I8(1),  I8(9),  I8(17), I8(25), I8(33),
    I8(41), I8(49), I8(57), I8(65), I8(73)
#undef I8
#undef I
};

/* Of each pixel, for the set of those with large means. */
static const uint32_t bit[SEARCH_PIXELS] = {
#define B8(i) \
    1u << (i), 2u << (i), 4u << (i), 8u << (i), 16u << (i), 32u << (i), 64u << (i), 128u << (i)
    B8(0), B8(8), B8(16), B8(24)
#undef B8
};

/* first, first + 1, ... */
INLINE philox_lanes count_up(int64_t first)
{
    philox_lanes lanes = {0};
    for (int i = 0; i < PHILOX_LANES; i++)
        lanes[i] = (uint64_t)(first + i);
    return lanes;
}

/* Uniforms of 52 bits for NOISE_BLOCK pixels from `first`: of their pairs. */
INLINE void block_uniforms(const struct noise_key *key, int64_t first, double *restrict u)
{
    const struct rest rest = rest_of(key, 0);
    philox_lanes pair = count_up(first / 2);
    for (int i = 0; i < NOISE_PAIRS; i += PHILOX_LANES, pair += PHILOX_LANES) {
        philox_lanes w[4] = {pair};
        philox_words(w, rest.word, key->seed);
        philox_store_uniforms(w[0], w[1], &u[i]);
        philox_store_uniforms(w[2], w[3], &u[NOISE_PAIRS + i]);
    }
}

/* A word for each of NOISE_BLOCK pixels from `first`: of their quads. */
INLINE void block_words(const struct noise_key *key, int64_t first, uint32_t *restrict word)
{
    const struct rest rest = rest_of(key, 0);
    philox_lanes quad = count_up(first / 4);
    for (int i = 0; i < NOISE_QUADS; i += PHILOX_LANES, quad += PHILOX_LANES) {
        philox_lanes w[4] = {quad};
        philox_words(w, rest.word, key->seed);
        philox_store_pairs(w[0], w[1], &word[2 * i]);
        philox_store_pairs(w[2], w[3], &word[2 * (NOISE_QUADS + i)]);
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

/*
 * The search for small means.  A uniform is drawn digit by digit: a word decides in
 * single precision, unless the uniform is within SEARCH_DOUBT of a sum of probabilities;
 * then a second word and double precision do.  The counts are those of poisson_invert.
 */

/* Where SEARCH_PIXELS are: the probabilities of the count at hand and of all up to it,
 * and how many sums are below either end of what the uniform may be. */
struct search {
    float low[SEARCH_PIXELS], high[SEARCH_PIXELS];
    float mean[SEARCH_PIXELS], p[SEARCH_PIXELS], sum[SEARCH_PIXELS];
    int32_t count_low[SEARCH_PIXELS], count_high[SEARCH_PIXELS];
};

/* Bits of the pixels whose means are large. */
INLINE uint32_t search_start(struct search *restrict s, const uint32_t *restrict word,
                             const double *restrict value)
{
    uint32_t large = 0;
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        s->mean[i] = (float)value[i];
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        large |= s->mean[i] < (float)POISSON_SMALL_MEAN ? 0 : bit[i];
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float small = s->mean[i] < (float)POISSON_SMALL_MEAN ? s->mean[i] : 0.0f;
        s->mean[i] = small > SEARCH_MIN_MEAN ? small : SEARCH_MIN_MEAN;
    }
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float u = (float)(int32_t)(word[i] >> 8) * (0x1p-24f * SEARCH_UNIT);
        s->low[i] = u - SEARCH_DOUBT * SEARCH_UNIT;
        s->high[i] = u + SEARCH_DOUBT * SEARCH_UNIT;
    }
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        s->sum[i] = s->p[i] = poisson_exp_f(s->mean[i]);
        s->count_low[i] = s->count_high[i] = 0;
    }
    return large;
}

/* SEARCH_STEPS counts more; whether any pixel has to go on. */
INLINE bool search_on(struct search *restrict s, int k)
{
    int left = 0;
    float step[SEARCH_STEPS];
    for (int j = 0; j < SEARCH_STEPS; j++)
        step[j] = inverse[k + 1 + j];
    for (int i = 0; i < SEARCH_PIXELS; i++) {  // vectorised
        const float mean = s->mean[i], low = s->low[i], high = s->high[i];
        float p = s->p[i], sum = s->sum[i];
        int32_t count_low = s->count_low[i], count_high = s->count_high[i];
#pragma GCC unroll 8
        for (int j = 0; j < SEARCH_STEPS; j++) {
            count_low += low > sum;
            count_high += high > sum;
            p = p * (mean * step[j]);
            sum = sum + p;
        }
        s->p[i] = p;
        s->sum[i] = sum;
        s->count_low[i] = count_low;
        s->count_high[i] = count_high;
        left |= high > sum ? 1 : 0;
    }
    return left != 0;
}

/* Whether a count is in doubt. */
INLINE bool search_doubts(const struct search *s)
{
    int32_t doubts = 0;
    for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
        doubts |= s->count_low[i] - s->count_high[i];
    return doubts != 0;
}

/* Decides the doubtful among SEARCH_PIXELS from pixel `first` of the image. */
static void search_exactly(const struct noise_key *key, int64_t first, const uint32_t *word,
                           const double *mean, struct search *s)
{
    for (int i = 0; i < SEARCH_PIXELS; i++) {
        if (s->count_low[i] == s->count_high[i])
            continue;
        struct rng r = rng_stream(key->seed, key->purpose, key->frame, (uint32_t)(first + i));
        r.counter[1]++;
        const double k = poisson_invert(mean[i], rng_uniform_of(word[i], rng_word(&r)));
        s->count_low[i] = (int32_t)k;
    }
}

static void poisson(const struct noise_key *key, struct noise_chunk *c)
{
    struct pending p;
    p.n = 0;
    uint32_t word[NOISE_BLOCK];
    for (int first = 0; first < c->blocks * NOISE_BLOCK; first += SEARCH_PIXELS) {
        const int within = first % NOISE_BLOCK;
        double *value = c->value + first;
        struct search s;
        if (within == 0)
            block_words(key, c->first + first, word);
        const uint32_t large = search_start(&s, word + within, value);
        pending_add(&p, first, large, value);
        for (int k = 0; search_on(&s, k) && k + SEARCH_STEPS < POISSON_SMALL_END;)
            k += SEARCH_STEPS;
        if (search_doubts(&s))
            search_exactly(key, c->first + first, word + within, value, &s);
        for (int i = 0; i < SEARCH_PIXELS; i++)  // vectorised
            value[i] = (double)s.count_low[i];
    }
    poisson_large(key, c, &p);
}

static bool load(struct noise_chunk *c, const float *restrict photons, int count)
{
    int bad = 0;
    for (int i = 0; i < count; i++) {  // vectorised
        bad |= (photons[i] >= 0.0f ? 0 : 1) | (photons[i] <= 3.4e38f ? 0 : 1);
        c->value[i] = (double)photons[i];
    }
    c->blocks = (count + NOISE_BLOCK - 1) / NOISE_BLOCK;
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

static void read_out(struct noise_chunk *c, double gain, double offset, double readout,
                     double largest)
{
    const int n = c->blocks * NOISE_BLOCK;
    for (int i = 0; i < n; i++)  // vectorised
        c->value[i] = c->value[i] * gain + offset;
    if (readout > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            c->value[i] = c->value[i] + readout * c->deviate[i];
    for (int i = 0; i < n; i++) {  // vectorised
        const double bounded = c->value[i] < largest ? c->value[i] : largest;
        c->value[i] = poisson_floor((bounded > 0.0 ? bounded : 0.0) + 0.5);
    }
}

static void store_f32(const struct noise_chunk *c, float *restrict to, int count)
{
    for (int i = 0; i < count; i++)  // vectorised
        to[i] = (float)c->value[i];
}

/* The low bits of a whole double after adding 2^52. */
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

const struct noise_kernels NAME(noise_kernels_, ISA) = {
    .name = TEXT_OF(ISA),
    .load = load,
    .normals = normals,
    .vary = vary,
    .scale = scale,
    .poisson = poisson,
    .read_out = read_out,
    .store_f32 = store_f32,
    .store_u16 = store_u16,
    .store_u32 = store_u32,
};
