/*
 * Inside the CPU engine: the photons that each reflection adds to the pixels of a frame
 * ("shares"), which are summed while the dense loop computes the frame. The loop computes the
 * item of the padded table for each term, and the item identifies the reflection of the term.
 * dense_reflections_loop.c sums terms by item, so that no second pass is needed.
 */
#ifndef BRAGG_ENGINE_DENSE_REFLECTIONS_H
#define BRAGG_ENGINE_DENSE_REFLECTIONS_H

#include "engine/dense/dense.h"
#include "engine/spots/shares.h"

/* Shares of a pixel up to this number of photons are dropped. It is a thousandth of 1e-4 of a
 * reflection of 10 photons. */
#define CPU_SHARES_LEAST_PHOTONS 1e-6

enum { DENSE_KEYS = 8 };
#define DENSE_FREE UINT32_MAX  // key of a sum that belongs to no reflection

/* Number of items from one array of struct dense_held to the next. It is a little more than 4
 * KiB, because addresses that differ by 4 KiB compete for the same place in the cache. */
enum { DENSE_APART = DENSE_BLOCK + MEM_ALIGNMENT / 4 };

/* The sums of the pixels of a block for one lattice. Each pixel has DENSE_KEYS sums, one per
 * reflection. */
struct dense_held {
    alignas(MEM_ALIGNMENT) uint32_t key[DENSE_KEYS][DENSE_APART];  // items of the lattice's table
    float photons[DENSE_KEYS][DENSE_APART];  // without the factors of the pixel
    float turn[DENSE_KEYS][DENSE_APART];     // photons times angle in rad
    uint8_t next[DENSE_BLOCK];               // number of sums that were replaced
    uint8_t known[DENSE_BLOCK];  // for each LANES pixels: number of keys that were found before the
                                 // terms were computed; terms have no other keys.  0: keys are
                                 // found from the terms
    bool begun;                  // photons and turn have sums of the current block
};

/* The sums and the list of shares of one thread. */
struct dense_shares {
    alignas(MEM_ALIGNMENT) float weight[DENSE_BLOCK];  // factors of the current terms, with scale
    struct dense_held *held;                           // owned: one for each lattice
    struct dense_held *at;                             // sums of the current lattice
    uint32_t box;   // box of this lattice, see struct dense_lattice
    bool turns;     // `turn` is summed
    bool fresh;     // terms are the first ones of the block
    bool boxed;     // keys are found before the terms are
                    // computed, where possible
    int nkeys;      // number of keys of a pixel; at most its
                    // number of terms
    bool full;      // memory could not be allocated
    size_t begin;   // first piece of the current block
    size_t ending;  // number of pixels for which `pack` has room, in addition to the sums put away
    struct share_pack pack;
};

struct cpu_job;

/* Returns true if the rotation angles of a lattice are needed. */
bool lattice_turns(const struct recipe *r, size_t lattice);

/* Appends a sum of pixel i of the block to the list of shares. The factors that are applied once
 * per pixel are not yet included. */
void dense_shares_put(struct dense_shares *s, int i, uint32_t key, float photons, float turn);

/* Makes pieces of the sums that dense_shares_put appended for a block, which begins at pixel
 * `pixel` of the frame. s->weight has the factors that are applied once per pixel. */
void dense_shares_weigh(struct dense_shares *s, uint32_t pixel);

/* The shares of a frame, while the frame is computed and afterwards. The memory is reused for
 * the next frame. */
struct dense_frame {
    int threads;
    struct dense_shares *room;  // owned: one for each thread
    size_t nrows;
    struct share_run *rows;  // owned: [nrows], one per row of the image
    struct share_room sorting;
    bool there;  // the shares of the last frame are in `rows`
};

/* Prepares *f for `rows` rows of the image and `threads` threads.  dense_frame_close frees it, also
 * after an error, and accepts NULL.  STATUS_FAILED: memory cannot be allocated. */
enum status dense_frame_open(struct dense_frame **f, size_t rows, int threads, struct error *e);
void dense_frame_close(struct dense_frame **f);

/* Begins a frame: sets job->shares and f->there, if the dense loop can compute the shares of
 * this job. */
enum status dense_frame_begin(struct dense_frame *f, struct cpu_job *job, struct error *e);

/* Sets *lattice and hkl[] to the lattice and the indices of a key of this job. */
void dense_shares_name(const struct cpu_job *job, uint32_t key, int32_t *lattice, int32_t hkl[3]);

#endif
