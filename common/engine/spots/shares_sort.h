/*
 * Sorts the shares of a frame by reflection: which reflections there are, how many photons each
 * has, and the pixels of each.  Every thread selects some of the reflections from all shares.  The
 * shares of a reflection are in the order of the image, for any number of threads.
 */
#ifndef BRAGG_ENGINE_SHARES_SORT_H
#define BRAGG_ENGINE_SHARES_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "engine/spots/shares.h"
#include "engine/spots/wave.h"

/* A reflection that has shares. */
struct lit_reflection {
    int32_t lattice, hkl[3];
    uint32_t key;          // of runs: unique; of lists: a number that other reflections may have,
                           // too
    double photons, turn;  // sums of struct share
    size_t count;          // number of shares
    size_t first;          // index of its first pixel in sorting.pixels; SIZE_MAX: not wanted
};

struct sorting_part;

/* State of sorting.  The caller sets `s`, `room` and `band`, and the other members to 0. */
struct sorting {
    const struct shares *s;
    size_t nparts;               // one for each thread
    struct sorting_part *parts;  // owned
    struct share_room *room;
    struct wave_band band;  // for the rows of the table; sorting does not use it
    size_t nfound;          // number in all parts
    size_t nwanted;
    struct lit_reflection **wanted;  // owned: in the order of rows
    struct lit_pixel *pixels;        // pixels of the wanted reflections, one reflection after the
                                     // other
};

/* Sorts the shares of t->s in t->room.  Sets t->wanted to the reflections with more than
 * `least_photons` photons, with a small tolerance, in the order of lattice and hkl.  Sets t->pixels
 * to their pixels, in ascending order.  The caller calls shares_sort_free. */
void shares_sort(struct sorting *t, double least_photons);

/* Frees what *t owns, but not the room. */
void shares_sort_free(struct sorting *t);

#endif
