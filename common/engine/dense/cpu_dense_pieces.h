/*
 * What blocks of pixels begin and end with, where the dense loop keeps the photons of reflections:
 * a part of cpu_dense_loop.c.  At the end of a block neighbours with the same item become pieces,
 * see shares.h.  What bounds it: a branch that cannot be foreseen for each piece.
 */
#ifndef BRAGG_ENGINE_CPU_DENSE_PIECES_H
#define BRAGG_ENGINE_CPU_DENSE_PIECES_H

#include "engine/dense/cpu_dense_keys.h"

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
    s->fresh = !s->at->begun;
    s->at->begun = true;
    for (int step = 0; step < t->nsteps && s->turns; step++)
        t->phi_rad[step] = (float)from->phi_rad[(first + (size_t)step) / from->ndomains];
    for (int i = 0; i < n; i++)
        s->weight[i] = (float)(factor ? factor[i] * scale : scale);
}

static void dense_shares_clear(struct dense_shares *s, size_t nlattices, int n)
{
    s->begin = s->pack.npieces;
    s->ending = nlattices * DENSE_KEYS * (size_t)n + LANES;
    s->full = s->full || !share_pack_reserve(&s->pack, s->ending);
    for (size_t l = 0; l < nlattices; l++) {
        struct dense_held *held = &s->held[l];
        held->begun = false;
        memset(held->next, 0, (size_t)n);
        memset(held->known, 0, sizeof held->known);
        for (int i = 0; i < s->nkeys && !s->boxed; i++)
            memset(held->key[i], 0xff, (size_t)n * sizeof held->key[i][0]);
    }
}

/* Shares of a block under one key number. */
struct dense_row_shares {
    const uint32_t *key;
    alignas(MEM_ALIGNMENT) float photons[DENSE_BLOCK + LANES], turn[DENSE_BLOCK + LANES];
    uint32_t lit[DENSE_BLOCK / LANES];   // bits of LANES pixels each that have any
    uint32_t same[DENSE_BLOCK / LANES];  // and of those that have the key of the pixel before
};

/* Shares of n pixels under key number `key`, times what is taken once. */
static void dense_row_shares(const struct dense_shares *s, const struct dense_held *held, int key,
                             int n, struct dense_row_shares *r)
{
    r->key = held->key[key];
    for (int i = 0; i < n; i += LANES) {
        const int at = i / LANES, count = held->known[at] ? held->known[at] : s->nkeys;
        r->lit[at] = r->same[at] = 0;
        if (key >= count)
            continue;
        const floats once = floats_load(s->weight + i);
        const floats photons = once * floats_load(held->photons[key] + i);
        r->lit[at] = lanes_below(floats_of((float)CPU_SHARES_LEAST_PHOTONS), photons);
        floats_store(r->photons + i, photons);
        if (s->turns)
            floats_store(r->turn + i, once * floats_load(held->turn[key] + i));
        for (int lane = 1; lane < LANES && !i; lane++)
            r->same[0] |= (uint32_t)(r->key[lane] == r->key[lane - 1]) << lane;
        if (i)
            r->same[at] =
                lanes_bits(lanes_equal(words_load(r->key + i), words_load(r->key + i - 1)));
    }
}

/* Appends the shares.  `pixel` is the number of the block's first pixel in the frame. */
static void dense_row_pieces(struct dense_shares *s, const struct dense_row_shares *r, int n,
                             uint32_t pixel)
{
    struct share_pack *p = &s->pack;
    uint32_t before = 0;  // whether the last pixel is lit
    for (int i = 0; i < n; i += LANES) {
        uint32_t lit = r->lit[i / LANES];
        const uint32_t joined = lit & r->same[i / LANES] & (lit << 1 | before);
        before = lit >> (LANES - 1);
        while (lit) {
            const int lane = __builtin_ctz(lit), at = i + lane;
            const uint32_t count = 1u + (uint32_t)__builtin_ctz(~(joined >> lane >> 1));
            const floats photons = floats_load(r->photons + at);
            const float sum = floats_sum_first(photons, count);
            if (joined >> lane & 1) {
                p->pieces[p->npieces - 1].count += count;
                p->pieces[p->npieces - 1].photons += sum;
            } else {
                p->pieces[p->npieces++] =
                    (struct share_piece){r->key[at] + s->box, pixel + (uint32_t)at, count, sum};
            }
            floats_store(p->photons + p->count, photons);
            if (s->turns)
                floats_store(p->turn + p->count, floats_load(r->turn + at));
            p->count += count;
            lit &= (uint32_t)(UINT64_MAX << (lane + (int)count));
        }
    }
}

/* Ends a block: `once` multiplies all that its pixels got. */
static void dense_shares_end(struct dense_shares *s, const struct cpu_job *job,
                             const struct cpu_where *w, int n, const float *once)
{
    const int64_t at = w->slow * w->panel->fast_pixels + w->fast;
    const uint32_t pixel = (uint32_t)(w->panel->first_pixel + at);
    struct dense_row_shares r;
    memcpy(s->weight, once, (size_t)w->count * sizeof *once);
    memset(s->weight + w->count, 0, (size_t)(n - w->count) * sizeof *once);
    for (int i = 0; w->panel->mask && i < w->count; i++)
        s->weight[i] = w->panel->mask[at + i] ? s->weight[i] : 0.0f;
    if (s->full)
        return;
    dense_shares_weigh(s, pixel);
    for (size_t l = 0; l < job->ndense; l++) {
        s->box = job->dense[l].box;
        s->turns = lattice_turns(job->recipe, l);
        for (int key = 0; key < s->nkeys; key++) {
            dense_row_shares(s, &s->held[l], key, n, &r);
            dense_row_pieces(s, &r, n, pixel);
        }
    }
}

#endif
