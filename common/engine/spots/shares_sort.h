/*
 * Inside: the shares of a frame sorted by reflection, for shares_table.
 */
#ifndef BRAGG_ENGINE_SHARES_SORT_H
#define BRAGG_ENGINE_SHARES_SORT_H

#include "engine/spots/shares.h"

/* A reflection that has shares. */
struct lit_reflection {
    int32_t lattice, hkl[3];
    uint32_t key;          // of runs; of lists a number that others may have, too
    double photons, turn;  // sums of struct share
    size_t count;          // shares
    size_t first;          // place of the first of them; SIZE_MAX: not wanted
};

enum { SORTING_LAST = 4096 };  // rows that follow each other meet mostly the same ones

/* Some reflections, which one thread takes out of all shares: each has its shares in the order of
 * the image, whatever the number of threads. */
struct sorting_part {
    bool keyed;  // keys tell reflections apart
    size_t nfound, capacity;
    struct lit_reflection *found;  // owned
    size_t nslots;                 // a power of 2, 0 at first
    uint32_t *slots;               // owned: numbers in found, from 1; 0: free
    uint32_t last[SORTING_LAST];   // numbers in found of keys of runs that were met last, by key
                                   // modulo that number
};

/* Set .s and .room, the others to 0. */
struct sorting {
    const struct shares *s;
    size_t nparts;               // one for each thread
    struct sorting_part *parts;  // owned
    struct share_room *room;
    size_t nfound;  // of all parts
    size_t nwanted;
    struct lit_reflection **wanted;  // owned: in the order of rows
    struct lit_pixel *pixels;        // those of wanted reflections, one after the other
};

/* Sorts the shares of t->s in t->room: t->wanted and t->pixels.  False when memory is out. */
bool shares_sort(struct sorting *t, double least_photons);

/* What it holds but for the room. */
void shares_sort_free(struct sorting *t);

#endif
