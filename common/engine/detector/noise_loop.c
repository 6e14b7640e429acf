/*
 * The loops of the noise, compiled once per instruction set (ISA = baseline, avx2,
 * avx512).  Nothing is fused and every operation is rounded as IEEE 754 says, so all
 * three give the same bytes.  Loops marked "vectorised" must be; they are checked by
 * scripts/check-vectorised.  What bounds them: the multiplications of Philox and of the
 * search for a count, never memory.
 */
#define FASTMATH_UNFUSED
#include "engine/detector/noise_loop.h"

#include "base/isa.h"
#include "engine/detector/noise_large.h"
#include "engine/detector/noise_search.h"

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

/* 16 bits for each of SEARCH_PIXELS pixels from `first`: of their octets. */
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

/* Which means among SEARCH_PIXELS there are. */
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

static void read_out(struct noise_chunk *c, double gain, double offset, double readout,
                     double largest, int count, struct noise_cut *cut)
{
    const int n = c->blocks * NOISE_BLOCK;
    int64_t saturated = 0, below = 0;
    for (int i = 0; i < n; i++)  // vectorised
        c->value[i] = c->value[i] * gain + offset;
    if (readout > 0.0)
        for (int i = 0; i < n; i++)  // vectorised
            c->value[i] = c->value[i] + readout * c->deviate[i];
    for (int i = 0; i < count; i++) {  // vectorised
        saturated += noise_saturates(c->value[i], largest) ? 1 : 0;
        below += noise_is_below(c->value[i]) ? 1 : 0;
    }
    cut->saturated += saturated;
    cut->below += below;
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
    .load = load,
    .normals = normals,
    .uniforms = uniforms,
    .vary = vary,
    .scale = scale,
    .poisson = poisson,
    .read_out = read_out,
    .store_f32 = store_f32,
    .store_u16 = store_u16,
    .store_u32 = store_u32,
};
