/*
 * What one thread of the GPU does with the shares of GPU_SHARES_RUN pixels: it joins them into a
 * run of pieces, see engine/spots/share_pieces.h.  Shares that are too small are left out.
 *
 * The thread passes over the shares twice.  The first pass counts the pieces and reserves memory
 * for them after the pieces of other threads; the second pass writes them.
 */
#ifndef BRAGG_GPU_PIECES_H
#define BRAGG_GPU_PIECES_H

#include "engine/cpu/cpu_point.h"
#include "gpu/frame.h"

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

#endif
