/*
 * What one thread of the GPU makes of the shares of GPU_SHARES_RUN pixels: a run of pieces, see
 * engine/spots/share_pieces.h, without shares that are too small to count.  It looks at them twice:
 * how many there are, then, behind those of others, what they are.
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

/* The share of pixel i of the batch that a reflection has; NULL if it is too small to count. */
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

/* Whether pixel i of the batch, behind the first of a run, is the neighbour of the one before. */
INLINE bool gpu_follows(const struct gpu_shares_batch *b, size_t i)
{
    return b->numbers[i] == b->numbers[i - 1] + 1;
}

/* The piece that begins with that share of pixel i, in a run that ends at `end`: its photons go to
 * number `at` of p, if they are wanted. */
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

/* All pieces of pixels i to end - 1, counted from *run on; written there if they are wanted. */
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

/* Run number `run` of a batch. */
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
