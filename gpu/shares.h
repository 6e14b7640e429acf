/*
 * What one thread of the GPU computes for reflections: the shares of one pixel, that is, the
 * photons that each reflection adds to it.  The same text is compiled as a kernel
 * (gpu/shares_kernel.cu) and as a loop for the CPU (tests/hostgpu/host_loop.c).
 *
 * As in engine/spots/cpu_shares.h, two running sums are kept in registers, each for one reflection.
 * If a term of a third reflection arrives, the smaller sum is moved to memory.
 */
#ifndef BRAGG_GPU_SHARES_H
#define BRAGG_GPU_SHARES_H

#include "engine/cpu/cpu_point.h"
#include "gpu/frame.h"
#include "gpu/pixel.h"

/*
 * What one thread of the GPU does with the shares of GPU_SHARES_RUN pixels: it joins them into a
 * run of pieces, see engine/spots/shares.h.  Shares that are too small are left out.
 *
 * The thread passes over the shares twice.  The first pass counts the pieces and reserves memory
 * for them after the pieces of other threads; the second pass writes them.
 */

/* Adds to a counter of all threads and returns its previous value. */
INLINE uint64_t gpu_take(uint64_t *count, uint64_t more)
{
#ifdef __CUDA_ARCH__
    return atomicAdd((unsigned long long *)count, (unsigned long long)more);
#else
    return __atomic_fetch_add(count, more, __ATOMIC_RELAXED);
#endif
}

/* Returns the share of reflection `key` in pixel i of the batch; NULL if it is missing or too
 * small. */
INLINE const struct gpu_share *
gpu_share_of(const struct gpu_shares *f, const struct gpu_shares_batch *b, size_t i, uint32_t key)
{
    const int32_t count = b->found[i] < GPU_SHARES ? b->found[i] : GPU_SHARES;
    for (int32_t k = 0; k < count; k++) {
        const struct gpu_share *share = &b->shares[(size_t)k * b->count + i];
        if (share->key == key)
            return (double)share->photons > f->least_photons ? share : NULL;
    }
    return NULL;
}

/* Returns true if the number of pixel i of the batch is the number of pixel i - 1 plus 1. Pixel
 * i is not the first one of its run. */
INLINE bool gpu_follows(const struct gpu_shares_batch *b, size_t i)
{
    return b->numbers[i] == b->numbers[i - 1] + 1;
}

/* Returns the piece that begins with this share of pixel i, in a run that ends before pixel `end`.
 * If `wanted`, stores its photons and angles in the arrays of *p, from item `at` on. */
INLINE struct share_piece gpu_piece(const struct gpu_shares *f, const struct gpu_shares_batch *b,
                                    size_t i, size_t end, const struct gpu_share *share,
                                    const struct gpu_pieces *p, uint64_t at, bool wanted)
{
    struct share_piece piece = {share->key, b->numbers[i], 0, 0.0f};
    while (share) {
        if (wanted)
            p->photons[at + piece.count] = share->photons;
        if (wanted && p->turn)
            p->turn[at + piece.count] = share->turn;
        piece.count++;
        piece.photons += share->photons;
        i++;
        share = i < end && gpu_follows(b, i) ? gpu_share_of(f, b, i, piece.key) : NULL;
    }
    return piece;
}

/* Counts all pieces of pixels begin to end - 1, starting from the counts `at`, and returns the new
 * counts.  If `wanted`, stores the pieces in *p. */
INLINE struct gpu_pieces_used gpu_pieces_of(const struct gpu_shares *f,
                                            const struct gpu_shares_batch *b, size_t begin,
                                            size_t end, const struct gpu_pieces *p,
                                            struct gpu_pieces_used at, bool wanted)
{
    for (size_t i = begin; i < end; i++) {
        const int32_t count = b->found[i] < GPU_SHARES ? b->found[i] : GPU_SHARES;
        at.beyond += b->found[i] > GPU_SHARES;
        for (int32_t k = 0; k < count; k++) {
            const struct gpu_share *share = &b->shares[(size_t)k * b->count + i];
            if (!((double)share->photons > f->least_photons) ||
                (i > begin && gpu_follows(b, i) && gpu_share_of(f, b, i - 1, share->key)))
                continue;
            const struct share_piece piece = gpu_piece(f, b, i, end, share, p, at.photons, wanted);
            if (wanted)
                p->pieces[at.pieces] = piece;
            at.pieces++;
            at.photons += piece.count;
        }
    }
    return at;
}

/* Makes the pieces of run number `run` of a batch. */
INLINE void gpu_pieces_thread(const struct gpu_shares *f, const struct gpu_shares_batch *b,
                              const struct gpu_pieces *p, size_t run)
{
    const size_t begin = run * GPU_SHARES_RUN;
    const size_t end = begin + GPU_SHARES_RUN < b->count ? begin + GPU_SHARES_RUN : b->count;
    const struct gpu_pieces_used none = {0, 0, 0};
    const struct gpu_pieces_used count = gpu_pieces_of(f, b, begin, end, p, none, false);
    const struct gpu_pieces_used at = {gpu_take(&p->used->pieces, count.pieces),
                                       gpu_take(&p->used->photons, count.photons), 0};
    const struct share_run made = {p->pack, at.pieces, at.pieces + count.pieces, at.photons};
    if (count.beyond)
        (void)gpu_take(&p->used->beyond, count.beyond);
    if (made.end > p->most_pieces || at.photons + count.photons > p->most)
        return;
    p->runs[run] = made;
    (void)gpu_pieces_of(f, b, begin, end, p, at, true);
}

#define GPU_NO_KEY UINT32_MAX

/* The running sum of the photons of one reflection. */
struct gpu_running {
    uint32_t key;
    double sum, turn;
};

/* A pixel whose photons are being distributed among reflections. */
struct gpu_sharing {
    struct gpu_share *to;
    size_t stride;
    int32_t found;
    double scale;  // photons per unit of the current terms, without the factors of the pixel
    double least;  // terms up to this value may be dropped
    struct gpu_running one, two;
};

/* Moves a running sum from registers to the shares of the pixel in memory. */
INLINE void gpu_put_away(struct gpu_sharing *s, struct gpu_running r)
{
    const double photons = r.sum * s->scale, turn = r.turn * s->scale;
    if (!(photons > 0.0) || s->found > GPU_SHARES)
        return;
    for (int32_t i = 0; i < s->found; i++) {
        struct gpu_share *share = &s->to[(size_t)i * s->stride];
        if (share->key != r.key)
            continue;
        share->photons += (float)photons;
        share->turn += (float)turn;
        return;
    }
    if (s->found++ < GPU_SHARES) {
        const struct gpu_share share = {r.key, (float)photons, (float)turn};
        s->to[(size_t)(s->found - 1) * s->stride] = share;
    }
}

INLINE void gpu_share_term(struct gpu_sharing *s, uint32_t key, double term, double phi_rad)
{
    const struct gpu_running r = {key, term, term * phi_rad};
    if (key == s->one.key) {
        s->one.sum += r.sum;
        s->one.turn += r.turn;
    } else if (key == s->two.key) {
        s->two.sum += r.sum;
        s->two.turn += r.turn;
    } else if (term > s->least) {
        const bool larger = s->one.sum > s->two.sum;
        const struct gpu_running away = larger ? s->two : s->one;
        s->one = larger ? s->one : s->two;
        s->two = r;
        gpu_put_away(s, away);
    }
}

/* Returns the squared lattice factor of a step / shape_unit.  Sets hkl[] to the Miller indices. */
INLINE double gpu_share_shape(const struct cpu_lattice *l, enum crystal_shape shape, bool few,
                              struct gpu_indices at, int32_t hkl[3])
{
    if (few) {
        const struct index_split h = gpu_split(at.h), k = gpu_split(at.k), m = gpu_split(at.l);
        hkl[0] = index_split_nearest(h);
        hkl[1] = index_split_nearest(k);
        hkl[2] = index_split_nearest(m);
        return (double)square_at(l, false, h, k, m);
    }
    const double dh = gpu_offset(at.h, &hkl[0]), dk = gpu_offset(at.k, &hkl[1]);
    const double dl = gpu_offset(at.l, &hkl[2]);
    return shape_at_offset_double(l, shape, dh, dk, dl);
}

INLINE uint32_t gpu_key(const struct gpu_keys *k, const int32_t hkl[3])
{
    return k->zero - (uint32_t)hkl[0] * k->stride[0] - (uint32_t)hkl[1] * k->stride[1] -
           (uint32_t)hkl[2];
}

/* Adds the terms of all steps of a lattice, for one source and subpixel, to the shares. Single
 * precision is sufficient for SQUARE crystals with few cells. */
INLINE void gpu_share_lattice(const struct cpu_lattice *lattice, const struct gpu_keys *keys,
                              struct gpu_kind kind, struct point q, struct gpu_sharing *s)
{
    const struct cpu_lattice l = *lattice;
    const struct cpu_table t = *l.table;
    const float most = 20.0f;
    const enum crystal_shape shape = gpu_shape_of(&l, kind);
    const bool few = shape_is_grating(shape) && l.N[0] <= most && l.N[1] <= most && l.N[2] <= most;
    const struct gpu_running none = {GPU_NO_KEY, 0.0, 0.0};
    s->one = s->two = none;
    for (size_t i = 0; i < l.nsteps; i++) {
        int32_t hkl[3];
        const struct gpu_indices at = gpu_indices(l.cells + 9 * i, q);
        const double value = gpu_share_shape(&l, shape, few, at, hkl);
        const int32_t slot = table_slot(&t, hkl[0], hkl[1], hkl[2]);
        double F_sqr = t.F_sqr ? (double)t.F_sqr[slot] : t.F_sqr_double[slot];
        if (kind.cubic && t.F)
            F_sqr = gpu_tricubic_sqr(&t, at, F_sqr);
        gpu_share_term(s, gpu_key(keys, hkl), value * F_sqr,
                       keys->phi_rad ? keys->phi_rad[i / keys->ndomains] : 0.0);
    }
    gpu_put_away(s, s->one);
    gpu_put_away(s, s->two);
}

/* Returns the product of the factors of the pixel that the terms do not contain, with their
 * current values. */
INLINE double gpu_pixel_factor(const struct gpu_frame *f, const struct gpu_ray *ray)
{
    return (f->sampling.each_polarization ? 1.0 : ray->polarization) *
           (f->sampling.each_solid_angle ? 1.0 : ray->solid_angle);
}

INLINE void gpu_share_source(const struct gpu_shares *f, struct gpu_kind kind,
                             const struct panel *p, int layer, size_t index, struct gpu_ray *ray,
                             struct gpu_sharing *s)
{
    struct point q;
    double factor;
    if (!gpu_meet_source(&f->frame, p, layer, index, ray, &q, &factor))
        return;
    const int oversample = f->frame.sampling.oversample;
    const double samples = (double)oversample * oversample * (double)f->frame.nsources;
    for (size_t i = 0; i < f->frame.nlattices; i++) {
        const struct cpu_lattice *l = &f->frame.lattices[i];
        s->scale = factor * gpu_damping(l, q) * l->scale;
        s->least = f->least_photons /
                   (samples * (double)l->nsteps * s->scale * gpu_pixel_factor(&f->frame, ray));
        gpu_share_lattice(l, &f->keys[i], kind, q, s);
    }
}

/* Computes the shares of pixel `i` of a batch, which is in the ROI and not masked.  `kind` is a
 * constant at each call; kind.precise is not used. */
INLINE void gpu_shares_thread(const struct gpu_shares *f, struct gpu_kind kind,
                              const struct gpu_shares_batch *b, size_t i)
{
    const struct panel *p = &gpu_panel_holding(&f->frame, b->numbers[i])->panel;
    const int64_t at = b->numbers[i] - p->first_pixel;
    const int oversample = f->frame.sampling.oversample;
    const int64_t points = subpixels_of(p, oversample);
    struct gpu_ray ray = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    const struct gpu_running none = {GPU_NO_KEY, 0.0, 0.0};
    struct gpu_sharing s = {b->shares + i, b->count, 0, 0.0, 0.0, none, none};
    ray.polarization = f->frame.no_polarization ? 1.0 : 0.0;
    for (int64_t point = 0; point < points; point++) {
        gpu_meet_subpixel(&f->frame, kind.shape == GPU_ANY_SHAPE, p, at % p->fast_pixels,
                          at / p->fast_pixels, subpixel_at(point, oversample), &ray);
        for (size_t source = 0; source < f->frame.nsources; source++)
            gpu_share_source(f, kind, p, subpixel_at(point, oversample).layer, source, &ray, &s);
    }
    b->found[i] = s.found;
    for (int32_t k = 0; k < s.found && k < GPU_SHARES; k++) {
        struct gpu_share *share = &s.to[(size_t)k * s.stride];
        share->photons *= (float)gpu_pixel_factor(&f->frame, &ray);
        share->turn *= (float)gpu_pixel_factor(&f->frame, &ray);
    }
}

#endif
