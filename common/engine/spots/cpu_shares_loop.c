/*
 * The shares of a block of pixels, see cpu_shares.h.  Compiled once per instruction set.  The speed
 * is limited by polynomials in double precision, and by steps whose nearest index differs from that
 * of the step before.
 */
#include <string.h>

#include "engine/cpu/cpu_block.h"
#include "engine/spots/cpu_shares.h"
#include "physics/crystal/shape_fast.h"

/* Computes the squared lattice factors of one step, the slots of the structure factors, and the
 * keys of the reflections. */
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
        s->key[i] = hkl_key(h, k, m);
        s->block.slot[i] = table_slot(&t, h, k, m);
    }
}

/* Computes the lattice factors of SQUARE in single precision, which is sufficient for few cells. */
static void square_terms(const struct cpu_lattice *lattice, const double *step, int n,
                         struct cpu_shares *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *lattice->table;
    const double c[9] = {step[0], step[1], step[2], step[3], step[4],
                         step[5], step[6], step[7], step[8]};
    for (int i = 0; i < CPU_LANES * n; i++) {  // vectorised
        const double qx = s->block.qx[i], qy = s->block.qy[i], qz = s->block.qz[i];
        const struct index_split h = index_split(index_along(c, qx, qy, qz));
        const struct index_split k = index_split(index_along(c + 3, qx, qy, qz));
        const struct index_split m = index_split(index_along(c + 6, qx, qy, qz));
        const int32_t nh = index_split_nearest(h), nk = index_split_nearest(k);
        const int32_t nm = index_split_nearest(m);
        s->term[i] = (double)square_at(&l, false, h, k, m);
        s->key[i] = hkl_key(nh, nk, nm);
        s->block.slot[i] = table_slot(&t, nh, nk, nm);
    }
}

static bool are_few(const float cells[3])
{
    const float most = 20.0f;
    return cells[0] <= most && cells[1] <= most && cells[2] <= most;
}

INLINE void terms_of(const struct cpu_lattice *l, const double *step, enum crystal_shape shape,
                     int n, struct cpu_shares *s)
{
    if (shape_is_grating(shape) && are_few(l->N))
        square_terms(l, step, n, s);
    else
        offset_terms(l, step, shape, n, s);
}

/* Each line has a constant shape, so that each shape becomes a loop of its own. */
static void lattice_terms(const struct cpu_lattice *l, const double *step, int n,
                          struct cpu_shares *s)
{
#define TERMS_OF(shape)                 \
    case shape:                         \
        terms_of(l, step, shape, n, s); \
        break;
    switch (l->shape) {
        CRYSTAL_SHAPES(TERMS_OF)
    }
#undef TERMS_OF
}

/* Multiplies by squared tricubic structure factors. Where the table has too few neighbours, the
 * nearest structure factor is used. */
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

/* This is a separate loop for the same reason as add_gathered of cpu_lattice.h. */
static void multiply_gathered(const float *restrict F_sqr, const int32_t *restrict slot, int n,
                              double *restrict term)
{
    for (int i = 0; i < CPU_LANES * n; i++)  // vectorised
        term[i] *= (double)F_sqr[slot[i]];
}

/* Adds to what was put away of a pixel, in photons before the factors of the pixel. */
static void put_away(struct cpu_shares *s, int i, int64_t key, double photons, double turn)
{
    if (!(photons > 0.0))
        return;
    for (int32_t at = s->first[i]; at; at = s->away[at - 1].next) {
        struct cpu_share *share = &s->away[at - 1];
        if (share->key != key || share->lattice != s->lattice)
            continue;
        share->photons += photons;
        share->turn += turn;
        return;
    }
    s->away = mem_grow(s->away, s->naway, 1, sizeof *s->away, &s->capacity);
    s->away[s->naway++] = (struct cpu_share){key, s->lattice, s->first[i], photons, turn};
    s->first[i] = (int32_t)s->naway;
}

/* Puts the sums of a pixel away that run under one of its two keys. */
static void put_running(struct cpu_shares *s, struct cpu_running *r, int i, double scale)
{
    put_away(s, i, r->key[i], r->sum[i] * scale, r->turn[i] * scale);
    r->sum[i] = r->turn[i] = 0.0;
}

/* Adds to the sums under this key; a tiny term that is under no key is lost. */
INLINE int64_t add_running(const struct cpu_shares *s, struct cpu_running *r, int i, bool turns,
                           double phi_rad)
{
    const int64_t same = s->key[i] == r->key[i];
    const double term = same ? s->term[i] : 0.0;
    r->sum[i] += term;
    if (turns)
        r->turn[i] += term * phi_rad;
    return same;
}

/* Adds CPU_LANES terms; whether one is above what may be lost, and under no key.  `turns`: angles
 * count, a constant where it is called. */
INLINE bool add_terms(struct cpu_shares *s, int first, bool turns, double phi_rad)
{
    int64_t left = 0;
    for (int i = first; i < first + CPU_LANES; i++) {  // vectorised
        const int64_t there = add_running(s, &s->running[0], i, turns, phi_rad) |
                              add_running(s, &s->running[1], i, turns, phi_rad);
        left |= !there & (s->term[i] > s->least[i]);
    }
    return left;
}

/* The terms of these pixels whose reflection has no sum replace the smaller sum of the pixel. */
static void change_keys(struct cpu_shares *s, int first, double phi_rad, const double *factor,
                        double scale)
{
    for (int i = first; i < first + CPU_LANES; i++) {
        if (s->key[i] == s->running[0].key[i] || s->key[i] == s->running[1].key[i] ||
            !(s->term[i] > s->least[i]))
            continue;
        struct cpu_running *r = &s->running[s->running[0].sum[i] > s->running[1].sum[i]];
        put_running(s, r, i, factor[i] * scale);
        r->key[i] = s->key[i];
        r->sum[i] = s->term[i];
        r->turn[i] = s->term[i] * phi_rad;
    }
}

/* All terms of a pixel that may be lost have together at most CPU_SHARES_LEAST_PHOTONS. */
static void set_least(const struct cpu_job *job, const struct cpu_lattice *l, int n,
                      struct cpu_shares *s)
{
    const struct sampling *each = &job->x->sampling;
    const double samples = (double)each->oversample * each->oversample;
    const double terms = samples * (double)job->nsources * (double)l->nsteps * l->scale;
    for (int i = 0; i < CPU_LANES * n; i++) {
        const double factor = s->block.factor[i] *
                              (each->each_polarization ? 1.0 : s->block.polarization[i]) *
                              (each->each_solid_angle ? 1.0 : s->block.solid_angle[i]);
        s->least[i] = CPU_SHARES_LEAST_PHOTONS / (terms * factor);
    }
}

static void add_lattice(const struct cpu_job *job, size_t index, int n, struct cpu_scratch *scratch)
{
    struct cpu_shares *s = (struct cpu_shares *)(void *)scratch;  // its first member
    const struct cpu_lattice *l = &job->lattices[index];
    const struct lattice *from = &job->recipe->lattices[index];
    const bool turns = from->nphi > 1 || job->recipe->osc_rad != 0.0;
    s->lattice = (int32_t)index;
    set_least(job, l, n, s);
    for (size_t step = 0; step < l->nsteps; step++) {
        const double *cell = l->cells + 9 * step;
        const double phi_rad = turns ? from->phi_rad[step / from->ndomains] : 0.0;
        lattice_terms(l, cell, n, s);
        if (l->table->F)
            multiply_cubic(l->table, cell, n, s);
        else
            multiply_gathered(l->table->F_sqr, scratch->slot, n, s->term);
        for (int first = 0; first < CPU_LANES * n; first += CPU_LANES)
            if (turns ? add_terms(s, first, true, phi_rad) : add_terms(s, first, false, 0.0))
                change_keys(s, first, phi_rad, scratch->factor, l->scale);
    }
    for (int i = 0; i < CPU_LANES * n; i++)
        for (int k = 0; k < 2; k++)
            put_running(s, &s->running[k], i, scratch->factor[i] * l->scale);
}

/* See cpu_shares.h. */
void NAME(cpu_shares_, ISA)(const struct cpu_job *job, const struct cpu_where *w,
                            struct cpu_shares *s, struct share_list *list)
{
    const struct sampling *each = &job->x->sampling;
    float out[CPU_BLOCK];
    memset(s->first, 0, sizeof s->first);
    s->naway = 0;
    for (int k = 0; k < 2; k++) {
        memset(s->running[k].sum, 0, sizeof s->running[k].sum);
        memset(s->running[k].turn, 0, sizeof s->running[k].turn);
        memset(s->running[k].key, 0x7f, sizeof s->running[k].key);  // no index
    }
    block(job, w, &s->block, out);
    for (int i = 0; i < w->count; i++) {
        if (!pixel_is_computed(w->panel, w->fast + i, w->slow))
            continue;
        const double factor = (each->each_polarization ? 1.0 : s->block.polarization[i]) *
                              (each->each_solid_angle ? 1.0 : s->block.solid_angle[i]);
        struct share share = {.pixel = w->panel->first_pixel + w->slow * w->panel->fast_pixels +
                                       w->fast + i};
        for (int32_t at = s->first[i]; at; at = s->away[at - 1].next) {
            const struct cpu_share *away = &s->away[at - 1];
            share.lattice = away->lattice;
            hkl_of_key(away->key, share.hkl);
            share.photons = away->photons * factor;
            share.turn = away->turn * factor;
            if (share.photons > 0.0)
                share_add(list, &share);
        }
    }
}
