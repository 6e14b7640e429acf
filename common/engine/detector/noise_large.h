/*
 * Counts of large means: lists of pixels that try until all are accepted.  A part of
 * noise_loop.c, compiled once per instruction set; loops marked "vectorised" must be.
 */
#ifndef BRAGG_ENGINE_NOISE_LARGE_H
#define BRAGG_ENGINE_NOISE_LARGE_H

#include "engine/cpu/lanes.h"
#include "engine/detector/noise_loop.h"
#include "engine/detector/philox_lanes.h"
#include "physics/noise/poisson.h"

#define INLINE static inline __attribute__((always_inline))

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

/* Pixels that try together: what they need stays in the nearest cache. */
enum { TRIES = 256 };

struct tries {
    double u[TRIES], v[TRIES];
    double count[TRIES];      // -1: refused
    uint32_t refused[TRIES];  // their places
};

/* Pixels of a chunk that still need a count, and what those have tried that are in doubt. */
struct pending {
    int n;
    int64_t pixel[NOISE_CHUNK];  // within the chunk
    double mean[NOISE_CHUNK], u[NOISE_CHUNK], v[NOISE_CHUNK];
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

/* Uniforms of `n` pixels. */
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

/* Above POISSON_LARGE_MEAN: rare, so plain. */
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

/* Hands out the counts; those of pixels that follow one another a vector at a time. */
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

/* Lists the refused ones; returns how many there are. */
static int tries_refused(struct tries *t, int n)
{
    int left = 0, i = 0;
    words place;
    for (int k = 0; k < LANES; k++)
        place[k] = (uint32_t)k;
    /* one at a time is faster where words_pack is a loop */
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

/* One attempt of all; those that only the whole test can tell about move up. */
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

/* The whole test; those that are refused move up. */
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

/* Fills the last vector. */
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

#endif
