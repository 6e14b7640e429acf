/*
 * Which reflections gave the photons of a pixel.  A share is what one reflection gives to one
 * pixel: the sum of all terms whose nearest index is that of the reflection.  Engines list the
 * shares of a frame, and shares_table makes the table of model/frame.h from them.
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
    int64_t pixel;   // item of the image
    double photons;  // above 0
    double turn;     // the same times the rotation angle, in rad
};

/* Shares of some rows of the frame, ascending pixels; each (pixel, lattice, hkl) at most once. */
struct share_list {
    struct share *items;  // owned
    size_t count, capacity;
};

/* Appends; false when memory is out. */
bool share_add(struct share_list *list, const struct share *share);

/* `count` empty lists; NULL when memory is out.  shares_free takes NULL, too. */
struct share_list *shares_open(size_t count);
void shares_free(struct share_list *lists, size_t count);

/* Room for so many more pixels, and as many pieces; false when memory is out. */
bool share_pack_reserve(struct share_pack *p, size_t more);
void share_pack_free(struct share_pack *p);

/* Memory that stays from frame to frame: to have it anew costs as much as to sort the shares. */
struct share_room {
    struct lit_pixel *pixels;  // owned
    size_t npixels;
};

void share_room_free(struct share_room *room);

/* What a table is made from: lists or runs. */
struct shares {
    const struct experiment *x;
    const struct recipe *recipe;
    const struct footprint *footprint;  // NULL, or it spreads the photons of this recipe
    const float *pixels;                // of the frame
    const struct share_list *lists;     // in the order of the image, whoever made them
    size_t nlists;
    const struct share_run *runs;  // likewise
    size_t nruns;
    void (*name)(const void *context, uint32_t key, int32_t *lattice, int32_t hkl[3]);  // of runs
    const void *context;
    bool turns;               // of runs: angles count
    int threads;              // >= 1: that make the table
    struct share_room *room;  // NULL: none is kept
};

/* Fills in the empty *table; STATUS_FAILED when memory is out.  The caller frees *table, after an
 * error too. */
enum status shares_table(const struct shares *s, const struct reflections_wanted *wanted,
                         struct reflection_table *table, struct error *e);

#endif
