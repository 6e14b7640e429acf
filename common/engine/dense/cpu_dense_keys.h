/*
 * What each reflection gives to the pixels of the dense loop: a part of cpu_dense_loop.c.  The loop
 * keeps its terms with the items of the padded table that their reflections have; here they are
 * summed by item.  A pixel has DENSE_KEYS sums.  Where cpu_dense_boxes.h knows its items before,
 * terms are compared with as many as the pixels at hand need, without a branch.  Else an item that
 * is not among those that were met takes a free sum, or that of another one, which is put away.
 * What bounds it: a comparison and an addition for each term and item, beside some 80 operations
 * that a term waits for.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_KEYS_H
#define BRAGG_ENGINE_CPU_DENSE_KEYS_H

#include "engine/cpu/cpu.h"
#include "engine/cpu/lanes.h"
#include "engine/dense/cpu_dense_shares.h"

/* A term of LANES pixels. */
struct dense_met {
    words slot;
    floats term;
};

/* Some of them, of one angle. */
struct dense_range {
    int begin, end;
    float phi_rad;
};

/* Adds a sum, times the weights of LANES pixels, to what these have under key number `key`;
 * replaces that, if terms are the first ones. */
LANES_INLINE void dense_keyed_add(struct dense_shares *s, int key, int first, floats sum,
                                  float phi_rad)
{
    float *photons = s->at->photons[key] + first, *turn = s->at->turn[key] + first;
    floats_store(photons, s->fresh ? sum : floats_load(photons) + sum);
    if (s->turns) {
        const floats turned = floats_of(phi_rad) * sum;
        floats_store(turn, s->fresh ? turned : floats_load(turn) + turned);
    }
}

/* ---- keys that are known ------------------------------------------------------------- */

/* `count`: keys, a constant where it is called. */
LANES_INLINE void dense_known_sum(struct dense_shares *s, int first, const struct dense_met *m,
                                  struct dense_range of, int count)
{
    words key[DENSE_KEYS];
    floats sum[DENSE_KEYS];
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
        key[i] = words_load(s->at->key[i] + first);
        sum[i] = (floats){0};
    }
    for (int t = of.begin; t < of.end; t++) {
        const words slot = m[t].slot;
        const floats term = m[t].term;
#pragma GCC unroll 8
        for (int i = 0; i < count; i++)
            sum[i] = floats_add_where(lanes_equal(slot, key[i]), term, sum[i]);
    }
    const floats weight = floats_load(s->weight + first);
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        dense_keyed_add(s, i, first, weight * sum[i], of.phi_rad);
}

/* ---- keys as they come --------------------------------------------------------------- */

/* Sums of LANES pixels while their terms come. */
struct dense_keyed {
    words key[DENSE_KEYS];
    floats sum[DENSE_KEYS];  // before weights
    struct dense_shares *s;
    int first;      // the first pixel's place in the block
    float phi_rad;  // of the terms
};

/* Puts away the oldest sum of each of these pixels, whose place the term takes. */
__attribute__((noinline, cold)) static void dense_keyed_change(struct dense_keyed *k, uint32_t bits,
                                                               words slot, floats term)
{
    struct dense_held *held = k->s->at;
    for (; bits; bits &= bits - 1) {
        const int lane = __builtin_ctz(bits), i = k->first + lane;
        const int old = held->next[i]++ % DENSE_KEYS;
        const float sum = k->s->weight[i] * k->sum[old][lane];
        dense_shares_put(k->s, i, k->key[old][lane], held->photons[old][i] + sum,
                         held->turn[old][i] + sum * k->phi_rad);
        held->photons[old][i] = held->turn[old][i] = 0.0f;
        k->key[old][lane] = slot[lane];
        k->sum[old][lane] = term[lane];
    }
}

/* Terms under no key: in free sums, while there are some. */
LANES_INLINE void dense_keyed_begin(struct dense_keyed *k, lanes_mask known, words slot,
                                    floats term)
{
    const words none = (words){0} + DENSE_FREE;
#pragma GCC unroll 8
    for (int i = 0; i < DENSE_KEYS; i++) {
        const lanes_mask here = lanes_but(lanes_equal(k->key[i], none), known);
        k->key[i] = words_where(here, slot, k->key[i]);
        k->sum[i] = floats_add_where(here, term, k->sum[i]);
        known = lanes_either(known, here);
    }
    const uint32_t left = lanes_bits(known) ^ LANES_ALL;
    if (left)
        dense_keyed_change(k, left, slot, term);
}

/* Adds terms under the items slot, where these are among the keys `from` to `to` - 1; returns
 * where they are among the keys 0 to `to` - 1.  `known`: the same before, if `from` is not 0. */
LANES_INLINE lanes_mask dense_keyed_known(struct dense_keyed *k, lanes_mask known, int from, int to,
                                          words slot, floats term)
{
#pragma GCC unroll 8
    for (int i = from; i < to; i++) {
        const lanes_mask here = lanes_equal(slot, k->key[i]);
        k->sum[i] = floats_add_where(here, term, k->sum[i]);
        known = i ? lanes_either(known, here) : here;
    }
    return known;
}

/* Four keys are enough for three quarters of all terms: the others are not looked at then. */
LANES_INLINE void dense_keyed_term(struct dense_keyed *k, words slot, floats term)
{
    enum { FEW = DENSE_KEYS / 2 };
    lanes_mask known = dense_keyed_known(k, lanes_equal(slot, slot), 0, FEW, slot, term);
    if (lanes_bits(known) == LANES_ALL)
        return;
    known = dense_keyed_known(k, known, FEW, DENSE_KEYS, slot, term);
    if (__builtin_expect(lanes_bits(known) != LANES_ALL, 0))
        dense_keyed_begin(k, known, slot, term);
}

__attribute__((noinline)) static void
dense_keyed_sum(struct dense_shares *s, int first, const struct dense_met *m, struct dense_range of)
{
    struct dense_held *held = s->at;
    struct dense_keyed k = {.s = s, .first = first, .phi_rad = of.phi_rad};
    for (int i = 0; i < DENSE_KEYS; i++) {
        k.key[i] = words_load(held->key[i] + first);
        if (s->fresh) {
            floats_store(held->photons[i] + first, k.sum[i]);
            floats_store(held->turn[i] + first, k.sum[i]);
        }
    }
    s->fresh = false;
    for (int t = of.begin; t < of.end; t++)
        dense_keyed_term(&k, m[t].slot, m[t].term);
    for (int i = 0; i < DENSE_KEYS; i++) {
        memcpy(held->key[i] + first, &k.key[i], sizeof k.key[i]);
        dense_keyed_add(s, i, first, floats_load(s->weight + first) * k.sum[i], of.phi_rad);
    }
}

/* ---- terms --------------------------------------------------------------------------- */

/* A pixel has no other term than this. */
static void dense_keyed_only(struct dense_shares *s, int first, const struct dense_met *m,
                             float phi_rad)
{
    memcpy(s->at->key[0] + first, &m->slot, sizeof m->slot);
    dense_keyed_add(s, 0, first, floats_load(s->weight + first) * m->term, phi_rad);
}

static void dense_keyed_range(struct dense_shares *s, int first, const struct dense_met *m,
                              struct dense_range of)
{
    const int known = s->at->known[first / LANES];
    if (s->nkeys == 1)
        dense_keyed_only(s, first, m, of.phi_rad);
    else if (known == 2)
        dense_known_sum(s, first, m, of, 2);
    else if (known == 4)
        dense_known_sum(s, first, m, of, 4);
    else if (known == 8)
        dense_known_sum(s, first, m, of, 8);
    else
        dense_keyed_sum(s, first, m, of);
}

/* Sums the terms of LANES pixels by reflection. */
static void dense_keyed_take(struct dense_shares *s, const struct dense_terms *t, int first,
                             const struct dense_met *m)
{
    const bool fresh = s->fresh;
    for (int step = 0, end; step < t->nsteps; step = end) {
        for (end = step + 1; end < t->nsteps; end++)
            if (s->turns && t->phi_rad[end] != t->phi_rad[step])
                break;
        const float phi_rad = s->turns ? t->phi_rad[step] : 0.0f;
        dense_keyed_range(s, first, m,
                          (struct dense_range){step * t->nsources, end * t->nsources, phi_rad});
        s->fresh = false;
    }
    s->fresh = fresh;
}

#endif
