/*
 * What each reflection gives to the pixels of the dense loop: a part of cpu_dense_loop.c.  A pixel
 * has DENSE_KEYS sums, each under the item of the padded table that its reflection has; an item
 * that is not among them takes a free sum, or that of another one, which is put away.  What bounds
 * it: a comparison and an addition for each term and key, four keys at a time, beside some 80
 * operations of the term; and the rare terms of a new item, some 30 cycles for LANES pixels.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_KEYS_H
#define BRAGG_ENGINE_CPU_DENSE_KEYS_H

#include "engine/cpu.h"
#include "engine/cpu_dense_shares.h"
#include "engine/lanes.h"

/* Sums of LANES pixels while their terms come. */
struct dense_keyed {
    words key[DENSE_KEYS];
    floats sum[DENSE_KEYS];  // since the last dense_keyed_settle, before weights
    struct dense_shares *s;
    int first;      // the first pixel's place in the block
    float phi_rad;  // of the terms
};

LANES_INLINE words words_load(const uint32_t *from)
{
    words v;
    memcpy(&v, from, sizeof v);
    return v;
}

LANES_INLINE void dense_keyed_open(struct dense_keyed *k, struct dense_shares *s, int first)
{
    k->s = s;
    k->first = first;
    k->phi_rad = 0.0f;
#pragma GCC unroll 8
    for (int i = 0; i < DENSE_KEYS; i++) {
        k->key[i] = words_load(s->at->key[i] + first);
        k->sum[i] = (floats){0};
    }
}

/* Adds what was summed to what the pixels have, and begins anew. */
LANES_INLINE void dense_keyed_settle(struct dense_keyed *k)
{
    struct dense_held *held = k->s->at;
    const floats weight = floats_load(k->s->weight + k->first);
#pragma GCC unroll 8
    for (int i = 0; i < DENSE_KEYS; i++) {
        float *photons = held->photons[i] + k->first, *turn = held->turn[i] + k->first;
        const floats sum = weight * k->sum[i];
        memcpy(held->key[i] + k->first, &k->key[i], sizeof k->key[i]);
        floats_store(photons, floats_load(photons) + sum);
        if (k->s->turns)
            floats_store(turn, floats_fused(sum, floats_of(k->phi_rad), floats_load(turn)));
        k->sum[i] = (floats){0};
    }
}

/* Terms that follow are of this angle. */
LANES_INLINE void dense_keyed_turn(struct dense_keyed *k, float phi_rad)
{
    if (!k->s->turns || phi_rad == k->phi_rad)
        return;
    dense_keyed_settle(k);
    k->phi_rad = phi_rad;
}

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
LANES_INLINE void dense_keyed_begin(struct dense_keyed *k, lanes_mask known, words slot, floats a,
                                    floats b)
{
    const words none = (words){0} + DENSE_FREE;
#pragma GCC unroll 8
    for (int i = 0; i < DENSE_KEYS; i++) {
        const lanes_mask here = lanes_but(lanes_equal(k->key[i], none), known);
        k->key[i] = words_where(here, slot, k->key[i]);
        k->sum[i] = floats_fused_where(here, a, b, k->sum[i]);
        known = lanes_either(known, here);
    }
    const uint32_t left = lanes_bits(known) ^ LANES_ALL;
    if (!left)
        return;
    struct dense_keyed copy = *k;  // so that *k can stay in registers
    dense_keyed_change(&copy, left, slot, a * b);
    *k = copy;
}

/* Adds a times b under the items slot, where these are among the keys `from` to `to` - 1; returns
 * where they are among the keys 0 to `to` - 1.  `known`: the same before, if `from` is not 0. */
LANES_INLINE lanes_mask dense_keyed_known(struct dense_keyed *k, lanes_mask known, int from, int to,
                                          words slot, floats a, floats b)
{
#pragma GCC unroll 8
    for (int i = from; i < to; i++) {
        const lanes_mask here = lanes_equal(slot, k->key[i]);
        k->sum[i] = floats_fused_where(here, a, b, k->sum[i]);
        known = i ? lanes_either(known, here) : here;
    }
    return known;
}

/* Adds a times b under the items slot.  Four keys are enough for three quarters of all terms: the
 * others are not looked at then. */
LANES_INLINE void dense_keyed_add(struct dense_keyed *k, words slot, floats a, floats b)
{
    enum { FEW = DENSE_KEYS / 2 };
    lanes_mask known = dense_keyed_known(k, lanes_equal(slot, slot), 0, FEW, slot, a, b);
    if (lanes_bits(known) == LANES_ALL)
        return;
    known = dense_keyed_known(k, known, FEW, DENSE_KEYS, slot, a, b);
    if (__builtin_expect(lanes_bits(known) != LANES_ALL, 0))
        dense_keyed_begin(k, known, slot, a, b);
}

/* ---- blocks -------------------------------------------------------------------------- */

/* Terms follow of steps first ... of this lattice, times `scale` and `factor` (NULL: 1) of each
 * pixel. */
static void dense_shares_begin(struct dense_shares *s, const struct cpu_job *job, size_t lattice,
                               size_t first, struct dense_terms *t, int n, double scale,
                               const double *factor)
{
    const struct lattice *from = &job->recipe->lattices[lattice];
    s->at = &s->held[lattice];
    s->box = job->dense[lattice].box;
    s->turns = lattice_turns(job->recipe, lattice);
    for (int step = 0; step < t->nsteps && s->turns; step++)
        t->phi_rad[step] = (float)from->phi_rad[(first + (size_t)step) / from->ndomains];
    for (int i = 0; i < n; i++)
        s->weight[i] = (float)(factor ? factor[i] * scale : scale);
}

static void dense_shares_clear(struct dense_shares *s, size_t nlattices, int n)
{
    s->begin = s->pack.count;
    s->ending = nlattices * DENSE_KEYS * (size_t)n + LANES;
    s->full = s->full || !share_pack_reserve(&s->pack, s->ending);
    for (size_t l = 0; l < nlattices; l++) {
        memset(s->held[l].next, 0, (size_t)n);
        for (int i = 0; i < s->nkeys; i++) {
            memset(s->held[l].key[i], 0xff, (size_t)n * sizeof(uint32_t));
            memset(s->held[l].photons[i], 0, (size_t)n * sizeof(float));
            memset(s->held[l].turn[i], 0, (size_t)n * sizeof(float));
        }
    }
}

/* Appends the shares of LANES pixels under key number `key`, times once[]. */
LANES_INLINE void dense_shares_pack(struct dense_shares *s, const struct dense_held *held, int key,
                                    int first, uint32_t pixel, floats once)
{
    static const uint32_t count[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct share_pack *p = &s->pack;
    const floats photons = once * floats_load(held->photons[key] + first);
    const uint32_t bits = lanes_below(floats_of((float)CPU_SHARES_LEAST_PHOTONS), photons);
    words_pack(p->key + p->count, bits, words_load(held->key[key] + first) + s->box);
    words_pack(p->pixel + p->count, bits, words_load(count) + pixel);
    words_pack((uint32_t *)(void *)(p->photons + p->count), bits, (words)photons);
    if (s->turns)
        words_pack((uint32_t *)(void *)(p->turn + p->count), bits,
                   (words)(once * floats_load(held->turn[key] + first)));
    p->count += (size_t)__builtin_popcount(bits);
}

/* The block is done: `once` multiplies all that its pixels got. */
static void dense_shares_end(struct dense_shares *s, const struct cpu_job *job,
                             const struct cpu_where *w, int n, const float *once)
{
    const int64_t at = w->slow * w->panel->fast_pixels + w->fast;
    const uint32_t pixel = (uint32_t)(w->panel->first_pixel + at);
    for (int i = 0; i < n; i++) {
        const bool lit = i < w->count && (!w->panel->mask || w->panel->mask[at + i]);
        s->weight[i] = lit ? once[i] : 0.0f;
    }
    if (s->full)
        return;
    dense_shares_weigh(s, pixel);
    for (size_t l = 0; l < job->ndense; l++) {
        s->box = job->dense[l].box;
        s->turns = lattice_turns(job->recipe, l);
        for (int i = 0; i < n; i += LANES)
            for (int key = 0; key < s->nkeys; key++)
                dense_shares_pack(s, &s->held[l], key, i, pixel + (uint32_t)i,
                                  floats_load(s->weight + i));
    }
}

#endif
