/*
 * Counts of large means: lists of pixels that try until all are accepted.  A part of
 * noise_loop.c, compiled once per instruction set; loops marked "vectorised" must be.
 */
#ifndef BRAGG_ENGINE_NOISE_LARGE_H
#define BRAGG_ENGINE_NOISE_LARGE_H

#include "engine/noise_loop.h"
#include "engine/philox_lanes.h"
#include "physics/poisson.h"

#define INLINE static inline __attribute__((always_inline))

enum { VECTOR = 8 };  // doubles of the widest vector

/* Words 1 to 3 of the counters of a key. */
struct rest {
    uint32_t word[3];
};

INLINE struct rest rest_of(const struct noise_key *key, uint32_t block)
{
    return (struct rest){
        {(uint32_t)key->purpose << 24 | block, (uint32_t)key->frame, (uint32_t)(key->frame >> 32)}};
}

/* Pixels of a chunk that still need a count, and what they try. */
struct pending {
    int n;
    int64_t pixel[NOISE_CHUNK];  // within the chunk
    double mean[NOISE_CHUNK], u[NOISE_CHUNK], v[NOISE_CHUNK];
    double count[NOISE_CHUNK];  // -1: refused
    int refused[NOISE_CHUNK];   // their places
};

/* Lists the large means, whose bits are set, among 32 from `first`. */
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

/* The vector loops run over whole vectors: what is past the end is some number. */
INLINE int whole_vectors(int n)
{
    return (n + VECTOR - 1) / VECTOR;
}

static void pending_draw(const struct noise_key *key, int64_t first, uint32_t attempt,
                         struct pending *p)
{
    const struct rest rest = rest_of(key, 1 + attempt);
    for (int i = 0; i < p->n; i += PHILOX_LANES) {
        philox_lanes w[4];
        memcpy(&w[0], &p->pixel[i], sizeof w[0]);
        w[0] += (uint64_t)first;
        philox_words(w, rest.word, key->seed);
        philox_store_uniforms(w[0], w[1], &p->u[i]);
        philox_store_uniforms(w[2], w[3], &p->v[i]);
    }
}

static void pending_squeeze(struct pending *p)
{
    const int n = whole_vectors(p->n);
    for (int i = 0; i < VECTOR * n; i++) {  // vectorised
        const struct poisson_try t = poisson_attempt(p->mean[i], p->u[i], p->v[i]);
        p->count[i] = t.sure ? t.k : -1.0;
    }
}

static void pending_test(struct pending *p)
{
    const int n = whole_vectors(p->n);
    for (int i = 0; i < VECTOR * n; i++) {  // vectorised
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
        p->refused[left] = i;
        left += p->count[i] < 0.0;
    }
    for (int i = 0; i < left; i++) {
        const int from = p->refused[i];
        p->pixel[i] = p->pixel[from];
        p->mean[i] = p->mean[from];
        p->u[i] = p->u[from];
        p->v[i] = p->v[from];
    }
    p->n = left;
}

/* Above POISSON_LARGE_MEAN: rare, so plain. */
static void pending_normal(struct pending *p)
{
    for (int i = 0; i < p->n; i++) {
        double z, other;
        p->count[i] = -1.0;
        if (!(p->mean[i] > POISSON_LARGE_MEAN))
            continue;
        normal_pair(p->u[i], p->v[i], &z, &other);
        p->count[i] = poisson_normal(p->mean[i], z);
    }
}

static void poisson_large(const struct noise_key *key, struct noise_chunk *c, struct pending *p)
{
    for (int i = p->n; i < VECTOR * whole_vectors(p->n); i++) {
        p->pixel[i] = 0;
        p->mean[i] = POISSON_SMALL_MEAN;
    }
    int exceptional = 0;
    for (int i = 0; i < p->n; i++)  // vectorised
        exceptional |= p->mean[i] > POISSON_LARGE_MEAN ? 1 : 0;
    for (uint32_t attempt = 0; p->n > 0; attempt++) {
        pending_draw(key, c->first, attempt, p);
        if (attempt == 0 && exceptional) {
            pending_normal(p);
            pending_settle(p, c->value);
        }
        if (p->n > VECTOR) {  // else the whole test costs no more
            pending_squeeze(p);
            pending_settle(p, c->value);
        }
        pending_test(p);
        pending_settle(p, c->value);
    }
}

#endif
