/*
 * The shares of a block of pixels, see cpu_shares.h.  Compiled once per instruction set.  What
 * bounds it: polynomials in double precision, and steps whose nearest index is another one than
 * that of the step before.
 */
#include <string.h>

#include "engine/cpu_block.h"
#include "engine/cpu_cubic.h"
#include "engine/cpu_shares.h"
#include "physics/shape_fast.h"

/* Whole indices, |h| < INDEX_LIMIT, in one number. */
INLINE int64_t key_of(int32_t h, int32_t k, int32_t l)
{
    return ((int64_t)h << 32) + ((int64_t)k << 16) + (int64_t)l;
}

static void indices_of(int64_t key, int32_t hkl[3])
{
    hkl[2] = (int16_t)(key & 0xffff);
    key = (key - hkl[2]) >> 16;
    hkl[1] = (int16_t)(key & 0xffff);
    hkl[0] = (int32_t)((key - hkl[1]) >> 16);
}

/* Squared lattice factors of one step, slots and keys. */
INLINE void offset_terms(const struct cpu_lattice *lattice, const double *step,
                         enum crystal_shape shape, int n, struct cpu_shares *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->block.qx[i], qy = s->block.qy[i], qz = s->block.qz[i];
        int32_t h, k, m;
        const double dh = index_offset(index_along(c, qx, qy, qz), &h);
        const double dk = index_offset(index_along(c + 3, qx, qy, qz), &k);
        const double dl = index_offset(index_along(c + 6, qx, qy, qz), &m);
        s->term[i] = shape_at_offset_double(&l, shape, dh, dk, dl);
        s->key[i] = key_of(h, k, m);
        s->block.slot[i] = table_slot(&t, h, k, m);
    }
}

/* One constant per line, so that each becomes a loop of its own. */
static void lattice_terms(const struct cpu_lattice *l, const double *step, int n,
                          struct cpu_shares *s)
{
    switch (l->shape) {
    case SHAPE_SQUARE:
        offset_terms(l, step, SHAPE_SQUARE, n, s);
        break;
    case SHAPE_ROUND:
        offset_terms(l, step, SHAPE_ROUND, n, s);
        break;
    case SHAPE_GAUSS:
        offset_terms(l, step, SHAPE_GAUSS, n, s);
        break;
    case SHAPE_TOPHAT:
        offset_terms(l, step, SHAPE_TOPHAT, n, s);
        break;
    }
}

/* Squared tricubic structure factors, nearest where there is no room. */
static void multiply_cubic(const struct cpu_table *t, const double *step, int n,
                           struct cpu_shares *s)
{
    const double unit = 1.0 / t->F_max;
    struct cubic_lanes lanes;
    double F[CPU_LANES];
    for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
        cubic_factors(t, step, first, &s->block, &lanes, F);
        for (int i = 0; i < CPU_LANES; i++)
            s->term[first + i] *= lanes.base[i] < 0 ? (double)t->F_sqr[s->block.slot[first + i]]
                                                    : (unit * F[i]) * (unit * F[i]);
    }
}

/* A loop of its own, as add_gathered of cpu_lattice.h. */
static void multiply_gathered(const float *restrict F_sqr, const int32_t *restrict slot, int n,
                              double *restrict term)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        term[i] *= (double)F_sqr[slot[i]];
}

/* Puts the running sum of a pixel away, in photons before the factors of the pixel. */
static void put_away(struct cpu_shares *s, int i, int32_t lattice, double scale)
{
    const double photons = s->sum[i] * scale, turn = s->turn[i] * scale;
    s->sum[i] = s->turn[i] = 0.0;
    if (!(photons > 0.0))
        return;
    for (int32_t at = s->first[i]; at; at = s->away[at - 1].next) {
        struct cpu_share *share = &s->away[at - 1];
        if (share->key != s->running[i] || share->lattice != lattice)
            continue;
        share->photons += photons;
        share->turn += turn;
        return;
    }
    struct cpu_share *away = mem_grow(s->away, s->naway, 1, sizeof *away, &s->capacity);
    s->full = s->full || !away;
    if (!away)
        return;
    s->away = away;
    s->away[s->naway++] = (struct cpu_share){s->running[i], lattice, s->first[i], photons, turn};
    s->first[i] = (int32_t)s->naway;
}

/* Whether some of these pixels has another index than its running sum. */
static bool any_differs(const int64_t *restrict key, const int64_t *restrict running)
{
    int64_t differs = 0;
    for (int i = 0; i < CPU_LANES; i++)
        differs |= key[i] ^ running[i];
    return differs;
}

static void add_terms(struct cpu_shares *s, int n, double phi_rad)
{
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        s->sum[i] += s->term[i];
        s->turn[i] += s->term[i] * phi_rad;
    }
}

static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *scratch)
{
    struct cpu_shares *s = (struct cpu_shares *)(void *)scratch;  // its first member
    const struct cpu_lattice *l = &job->lattices[index];
    const struct lattice *from = &job->recipe->lattices[index];
    for (size_t step = 0; step < l->nsteps; step++) {
        const double *cell = l->cells + 9 * step;
        lattice_terms(l, cell, n, s);
        if (l->table->F)
            multiply_cubic(l->table, cell, n, s);
        else
            multiply_gathered(l->table->F_sqr, scratch->slot, n, s->term);
        for (int first = 0; first < CPU_LANES * n; first += CPU_LANES) {
            if (!any_differs(s->key + first, s->running + first))
                continue;
            for (int i = first; i < first + CPU_LANES; i++) {
                if (s->key[i] == s->running[i])
                    continue;
                put_away(s, i, (int32_t)index, scratch->factor[i] * l->scale);
                s->running[i] = s->key[i];
            }
        }
        add_terms(s, n, from->phi_rad[step / from->ndomains]);
    }
    for (int i = 0; i < CPU_LANES * n; i++)
        put_away(s, i, (int32_t)index, scratch->factor[i] * l->scale);
}

/* See cpu_shares.h. */
bool NAME(cpu_shares_, ISA)(const struct cpu_job *job, const struct cpu_where *w,
                            struct cpu_shares *s, struct share_list *list)
{
    const struct sampling *each = &job->x->sampling;
    float out[CPU_BLOCK];
    memset(s->first, 0, sizeof s->first);
    memset(s->sum, 0, sizeof s->sum);
    memset(s->turn, 0, sizeof s->turn);
    s->naway = 0;
    block(job, w, &s->block, out);
    for (int i = 0; i < w->count && !s->full; i++) {
        if (!pixel_is_computed(w->panel, w->fast + i, w->slow))
            continue;
        const double factor = (each->each_polarization ? 1.0 : s->block.polarization[i]) *
                              (each->each_solid_angle ? 1.0 : s->block.solid_angle[i]);
        struct share share = {.pixel = w->panel->first_pixel + w->slow * w->panel->fast_pixels +
                                       w->fast + i};
        for (int32_t at = s->first[i]; at && !s->full; at = s->away[at - 1].next) {
            const struct cpu_share *away = &s->away[at - 1];
            share.lattice = away->lattice;
            indices_of(away->key, share.hkl);
            share.photons = away->photons * factor;
            share.turn = away->turn * factor;
            s->full = share.photons > 0.0 && !share_add(list, &share);
        }
    }
    return !s->full;
}
