/*
 * The reflections that gave the photons of each pixel.  A share is the photons that one reflection
 * gives to one pixel: the sum of all terms whose nearest index is that of the reflection.  Engines
 * list the shares of a frame, and shares_table makes the table of model/frame.h from them.
 */
#ifndef BRAGG_ENGINE_SHARES_H
#define BRAGG_ENGINE_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/reflections/footprint.h"
#include "model/frame.h"

/* --- photons as pieces ---------------------------------------------------------------------
 *
 * Pieces are plain data, which kernels of a GPU write, too.  A reflection is identified by a
 * number, the key; the code that made the pieces can name the reflection of a key.
 */

/* Pixels of one reflection that follow each other. */
struct share_piece {
    uint32_t key;
    uint32_t pixel;  // item of the image, the first one
    uint32_t count;  // of pixels
    float photons;   // sum over the pixels, rounded in any order
};

struct share_pack {
    struct share_piece *pieces;  // owned, as all arrays
    size_t npieces, pieces_capacity;
    float *photons;  // of the pixels of all pieces; above 0
    float *turn;     // photons times the angle in rad; not set if angles do not count
    size_t count, capacity;
};

/* Pieces of one part of the frame, which is a row or less.  Pixels ascend from part to part, but
 * not within a part.  A reflection may have a pixel in several pieces. */
struct share_run {
    const struct share_pack *pack;  // NULL: none
    size_t begin, end;              // pieces
    size_t first;                   // pixel of the first one
};

/* --- lists of shares, and the table that is made of them --------------------------------- */

struct reflections_wanted;

struct share {
    int32_t lattice;
    int32_t hkl[3];
    int64_t pixel;   // index in the image
    double photons;  // above 0
    double turn;     // sum of photons times rotation angle in rad
};

/* Shares of some rows of the frame, with ascending pixels.  Each (pixel, lattice, hkl) occurs at
 * most once. */
struct share_list {
    struct share *items;  // owned
    size_t count, capacity;
};

/* Appends a share. */
void share_add(struct share_list *list, const struct share *share);

/* Returns `count` empty lists.  shares_free accepts NULL. */
struct share_list *shares_open(size_t count);
void shares_free(struct share_list *lists, size_t count);

/* Makes room for `more` further pixels and as many pieces. */
void share_pack_reserve(struct share_pack *p, size_t more);
void share_pack_free(struct share_pack *p);

/* Memory that is kept from frame to frame, because allocating it takes as long as sorting the
 * shares. */
struct share_room {
    struct lit_pixel *pixels;  // owned
    size_t npixels;
};

void share_room_free(struct share_room *room);

/* Input of a table: lists or runs. */
struct shares {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct footprint *footprint;  // NULL, or the footprint that spreads the photons of this
                                        // recipe
    const float *pixels;                // photons of the frame
    const struct share_list *lists;     // in the order of the image, for any number of threads
    size_t nlists;
    const struct share_run *runs;  // in the order of the image, too
    size_t nruns;
    void (*name)(const void *context, uint32_t key, int32_t *lattice, int32_t hkl[3]);  // of runs
    const void *context;
    bool turns;               // of runs: `turn` is set
    int threads;              // number of threads that make the table, >= 1
    struct share_room *room;  // memory to use; NULL: none is kept
};

/* Fills in the empty *table.  The caller frees *table. */
void shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                  struct reflection_table *table);

#endif
