/*
 * The loops of the noise, compiled once per instruction set (ISA = baseline, avx2,
 * avx512).  Nothing is fused and every operation is rounded as IEEE 754 says, so all
 * three give the same bytes.  Loops marked "vectorised" must be; they are checked by
 * scripts/check-vectorised.  What bounds them: the multiplications of Philox and of the
 * search for a count, never memory.
 */
#define FASTMATH_UNFUSED
#include "engine/noise_loop.h"

#include "physics/poisson.h"

#define PASTE(a, b) a##b
#define NAME(stem, isa) PASTE(stem, isa)
#define TEXT(isa) #isa
#define TEXT_OF(isa) TEXT(isa)
#define INLINE static inline __attribute__((always_inline))

/* Steps of the search between two looks whether all have found their count, and where it
 * ends: beyond 80, for a mean below 12, no probability is left in 53 bits. */
enum { SEARCH_STEPS = 8, SEARCH_END = 80 };

static const double inverse[SEARCH_END + 1] = {
#define I(k) 1.0 / (k)
#define I8(k) I(k), I(k + 1), I(k + 2), I(k + 3), I(k + 4), I(k + 5), I(k + 6), I(k + 7)
    0.0,    I8(1),  I8(9),  I8(17), I8(25), I8(33), I8(41), I8(49), I8(57), I8(65), I8(73)
#undef I8
#undef I
};

/* Two uniforms of pair number `pair` of the image. */
INLINE void pair_uniforms(const struct noise_key *key, uint32_t block, uint32_t pair, double *u,
                          double *v)
{
    const uint32_t counter[4] = {pair, (uint32_t)key->purpose << 24 | block, (uint32_t)key->frame,
                                 (uint32_t)(key->frame >> 32)};
    const uint32_t k[2] = {(uint32_t)key->seed, (uint32_t)(key->seed >> 32)};
    uint32_t word[4];
    philox4x32(counter, k, word);
    *u = rng_uniform_of(word[0], word[1]);
    *v = rng_uniform_of(word[2], word[3]);
}

/* Uniforms of NOISE_BLOCK pixels from `first`. */
INLINE void block_uniforms(const struct noise_key *key, int64_t first, double *restrict u)
{
    const struct noise_key k = *key;
    const uint32_t pair = (uint32_t)(first / 2);
    for (int i = 0; i < NOISE_PAIRS; i++)  // vectorised
        pair_uniforms(&k, 0, pair + (uint32_t)i, &u[i], &u[NOISE_PAIRS + i]);
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

/* Where a block is in its search: the probability of `count` and all below summed up. */
struct search {
    double u[NOISE_BLOCK], mean[NOISE_BLOCK], p[NOISE_BLOCK], sum[NOISE_BLOCK], count[NOISE_BLOCK];
};

INLINE void search_start(struct search *restrict s, const double *restrict value)
{
    for (int i = 0; i < NOISE_BLOCK; i++) {  // vectorised
        const double mean = value[i] < POISSON_SMALL_MEAN ? value[i] : 0.0;
        const double p = exp_fast(-mean);
        s->mean[i] = mean;
        s->p[i] = p;
        s->sum[i] = p;
        s->count[i] = 0.0;
    }
}

/* SEARCH_STEPS counts more; whether any pixel has to go on. */
INLINE bool search_on(struct search *restrict s, int k)
{
    int64_t left = 0;
    double step[SEARCH_STEPS];
    for (int j = 0; j < SEARCH_STEPS; j++)
        step[j] = inverse[k + 1 + j];
    for (int i = 0; i < NOISE_BLOCK; i++) {  // vectorised
        const double u = s->u[i], mean = s->mean[i];
        double p = s->p[i], sum = s->sum[i], count = s->count[i];
#pragma GCC unroll 8
        for (int j = 0; j < SEARCH_STEPS; j++) {
            count = u > sum ? count + 1.0 : count;
            p = p * (mean * step[j]);
            sum = sum + p;
        }
        s->p[i] = p;
        s->sum[i] = sum;
        s->count[i] = count;
        left |= u > sum ? 1 : 0;
    }
    return left != 0;
}

/* Pixels of a chunk that still need a count, and what they try. */
struct pending {
    int n;
    int32_t pixel[NOISE_CHUNK];  // within the chunk
    double mean[NOISE_CHUNK], u[NOISE_CHUNK], v[NOISE_CHUNK];
    double count[NOISE_CHUNK];  // -1: refused
};

/* The vector loops run over whole vectors: what is past the end is some number. */
INLINE int whole_vectors(int n)
{
    return (n + 15) / 16;
}

static void pending_draw(const struct noise_key *key, uint32_t first, uint32_t attempt,
                         struct pending *p)
{
    const struct noise_key k = *key;
    const int n = whole_vectors(p->n);
    for (int i = 0; i < 16 * n; i++)  // vectorised
        pair_uniforms(&k, 1 + attempt, first + (uint32_t)p->pixel[i], &p->u[i], &p->v[i]);
}

static void pending_squeeze(struct pending *p)
{
    const int n = whole_vectors(p->n);
    for (int i = 0; i < 16 * n; i++) {  // vectorised
        const struct poisson_try t = poisson_attempt(p->mean[i], p->u[i], p->v[i]);
        p->count[i] = t.sure ? t.k : -1.0;
    }
}

static void pending_test(struct pending *p)
{
    const int n = whole_vectors(p->n);
    for (int i = 0; i < 16 * n; i++) {  // vectorised
        const struct poisson_try t = poisson_attempt(p->mean[i], p->u[i], p->v[i]);
        p->count[i] = poisson_accepts(&t, p->mean[i]) ? t.k : -1.0;
    }
}

/* Hands out the counts that were found; the others move up. */
static void pending_settle(struct pending *p, double *value)
{
    int left = 0;
    for (int i = 0; i < p->n; i++) {
        value[p->pixel[i]] = p->count[i];
        p->pixel[left] = p->pixel[i];
        p->mean[left] = p->mean[i];
        p->u[left] = p->u[i];
        p->v[left] = p->v[i];
        left += p->count[i] < 0.0;
    }
    p->n = left;
}

/* Above POISSON_LARGE_MEAN: rare, so plain. */
static void pending_normal(struct pending *p, double *value)
{
    int left = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->mean[i] > POISSON_LARGE_MEAN) {
            double z, other;
            normal_pair(p->u[i], p->v[i], &z, &other);
            value[p->pixel[i]] = poisson_normal(p->mean[i], z);
            continue;
        }
        p->pixel[left] = p->pixel[i];
        p->mean[left] = p->mean[i];
        p->u[left] = p->u[i];
        p->v[left] = p->v[i];
        left++;
    }
    p->n = left;
}

static void poisson_large(const struct noise_key *key, struct noise_chunk *c, struct pending *p)
{
    for (int i = p->n; i < 16 * whole_vectors(p->n); i++) {
        p->pixel[i] = 0;
        p->mean[i] = POISSON_SMALL_MEAN;
    }
    for (uint32_t attempt = 0; p->n > 0; attempt++) {
        pending_draw(key, (uint32_t)c->first, attempt, p);
        if (attempt == 0)
            pending_normal(p, c->value);
        pending_squeeze(p);
        pending_settle(p, c->value);
        pending_test(p);
        pending_settle(p, c->value);
    }
}

static void poisson(const struct noise_key *key, struct noise_chunk *c)
{
    struct search s;
    struct pending p;
    p.n = 0;
    for (int b = 0; b < c->blocks; b++) {
        double *value = c->value + b * NOISE_BLOCK;
        block_uniforms(key, c->first + b * NOISE_BLOCK, s.u);
        search_start(&s, value);
        for (int k = 0; search_on(&s, k) && k + SEARCH_STEPS < SEARCH_END;)
            k += SEARCH_STEPS;
        for (int i = 0; i < NOISE_BLOCK; i++) {
            p.pixel[p.n] = b * NOISE_BLOCK + i;
            p.mean[p.n] = value[i];
            p.n += value[i] >= POISSON_SMALL_MEAN;
        }
        for (int i = 0; i < NOISE_BLOCK; i++)
            value[i] = s.count[i];
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
