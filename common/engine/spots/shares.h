/*
 * The reflections that gave the photons of each pixel.  A share is the photons that one reflection
 * gives to one pixel: the sum of all terms whose nearest index is that of the reflection.  Engines
 * list the shares of a frame, and shares_table makes the table of model/frame.h from them.
 */
#ifndef BRAGG_ENGINE_SHARES_H
#define BRAGG_ENGINE_SHARES_H

#include "base/error.h"
#include "engine/engine.h"
#include "engine/reflections/footprint.h"
#include "engine/spots/share_pieces.h"

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

/* Appends a share.  Returns false if memory cannot be allocated. */
bool share_add(struct share_list *list, const struct share *share);

/* Returns `count` empty lists, or NULL if memory cannot be allocated.  shares_free accepts NULL. */
struct share_list *shares_open(size_t count);
void shares_free(struct share_list *lists, size_t count);

/* Makes room for `more` further pixels and as many pieces.  Returns false if memory cannot be
 * allocated. */
bool share_pack_reserve(struct share_pack *p, size_t more);
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

/* Fills in the empty *table.  The caller frees *table, also after an error.  STATUS_FAILED: memory
 * cannot be allocated. */
enum status shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                         struct reflection_table *table, struct error *e);

#endif
