/*
 * Inside the CPU engine: the photons that each reflection gives to the pixels of a frame, kept
 * while the dense loop computes the frame.  The loop knows the item of the padded table for each of
 * its terms, and with it the reflection of the term.  dense_reflections_loop.c sums terms by item,
 * so that no second pass is needed.
 */
#ifndef BRAGG_ENGINE_DENSE_REFLECTIONS_H
#define BRAGG_ENGINE_DENSE_REFLECTIONS_H

#include "engine/dense/dense.h"
#include "engine/spots/shares.h"

/* What may be lost of a share: 1e-4 of 10 photons are a thousand times as much. */
#define CPU_SHARES_LEAST_PHOTONS 1e-6

enum { DENSE_KEYS = 8 };
#define DENSE_FREE UINT32_MAX  // the key of a sum that is of no reflection

/* Arrays of a pixel lie 4 KiB and a bit from each other, for caches that find 4 KiB alike. */
enum { DENSE_APART = DENSE_BLOCK + MEM_ALIGNMENT / 4 };

/* Sums of the pixels of a block for one lattice. */
struct dense_held {
    alignas(MEM_ALIGNMENT) uint32_t key[DENSE_KEYS][DENSE_APART];  // items of its table
    float photons[DENSE_KEYS][DENSE_APART];                        // before what is taken once
    float turn[DENSE_KEYS][DENSE_APART];                           // times the angle in rad
    uint8_t next[DENSE_BLOCK];                                     // number of sums put away so far
    uint8_t known[DENSE_BLOCK];  // for each LANES pixels: number of keys that were set before the
                                 // terms came; the terms have no other keys.  0: the terms bring
                                 // their keys
    bool begun;                  // photons and turn are of this block
};

/* The data of one thread. */
struct dense_shares {
    alignas(MEM_ALIGNMENT) float weight[DENSE_BLOCK];  // of the terms at hand, with scale
    struct dense_held *held;                           // owned: one for each lattice
    struct dense_held *at;                             // that of the current lattice
    uint32_t box;                                      // its box, see struct dense_lattice
    bool turns;                                        // `turn` is summed
    bool fresh;                                        // terms are the first ones of the block
    bool boxed;                                        // keys are set before the terms come, where
                                                       // possible
    int nkeys;                                         // number of keys of a pixel; at most its
                                                       // number of terms
    bool full;                                         // memory could not be allocated
    size_t begin;                                      // first piece of the block at hand
    size_t ending;  // number of pixels for which `pack` has room, in addition to the sums put away
    struct share_pack pack;
};

struct cpu_job;

/* Returns true if the rotation angles of a lattice are needed. */
bool lattice_turns(const struct recipe *r, size_t lattice);

/* Puts away a sum of pixel i of the block, before the factors that are applied once a pixel. */
void dense_shares_put(struct dense_shares *s, int i, uint32_t key, float photons, float turn);

/* Makes pieces of the sums that were put away for a block, which begins at that pixel of the frame.
 * s->weight has the factors that are applied once a pixel. */
void dense_shares_weigh(struct dense_shares *s, uint32_t pixel);

/* Shares of a frame, while it is computed and after; memory stays for the next one. */
struct dense_frame {
    int threads;
    struct dense_shares *room;  // owned: one for each thread
    size_t nrows;
    struct share_run *rows;  // owned: of the image
    struct share_room sorting;
    bool there;  // the shares of the last frame are in `rows`
};

/* Prepares *f for `rows` rows of the image and `threads` threads.  dense_frame_close frees it, also
 * after an error, and accepts NULL.  STATUS_FAILED: memory cannot be allocated. */
enum status dense_frame_open(struct dense_frame **f, size_t rows, int threads, struct error *e);
void dense_frame_close(struct dense_frame **f);

/* Begins a frame: sets job->shares, and `there`, if shares can be kept for this job. */
enum status dense_frame_begin(struct dense_frame *f, struct cpu_job *job, struct error *e);

/* Sets the lattice and the indices that a key of this job stands for. */
void dense_shares_name(const struct cpu_job *job, uint32_t key, int32_t *lattice, int32_t hkl[3]);

#endif
