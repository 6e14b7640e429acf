/* Internal: sorts the shares of a frame by reflection, for shares_table. */
#ifndef BRAGG_ENGINE_SHARES_SORT_H
#define BRAGG_ENGINE_SHARES_SORT_H

#include "engine/spots/shares.h"

/* A reflection that has shares. */
struct lit_reflection {
    int32_t lattice, hkl[3];
    uint32_t key;          // of runs: unique; of lists: a number that other reflections may have,
                           // too
    double photons, turn;  // sums of struct share
    size_t count;          // number of shares
    size_t first;          // index of its first pixel in sorting.pixels; SIZE_MAX: not wanted
};

enum { SORTING_LAST = 4096 };  // table size; rows that follow each other share reflections

/* Some of the reflections, which one thread selects from all shares.  The shares of each reflection
 * are in the order of the image, for any number of threads. */
struct sorting_part {
    bool keyed;  // a key identifies a reflection
    size_t nfound, capacity;
    struct lit_reflection *found;  // owned
    size_t nslots;                 // a power of 2, 0 at first
    uint32_t *slots;               // owned: numbers in found, from 1; 0: free
    uint32_t last[SORTING_LAST];   // for each key modulo SORTING_LAST: number in `found` of the
                                   // reflection that was met last
};

/* State of sorting.  The caller sets `s` and `room`, and the other members to 0. */
struct sorting {
    const struct shares *s;
    size_t nparts;               // one for each thread
    struct sorting_part *parts;  // owned
    struct share_room *room;
    size_t nfound;  // number in all parts
    size_t nwanted;
    struct lit_reflection **wanted;  // owned: in the order of rows
    struct lit_pixel *pixels;        // pixels of the wanted reflections, one reflection after the
                                     // other
};

/* Sorts the shares of t->s in t->room, and sets t->wanted and t->pixels.  Returns false if memory
 * cannot be allocated. */
bool shares_sort(struct sorting *t, double least_photons);

/* Frees what *t owns, but not the room. */
void shares_sort_free(struct sorting *t);

#endif
