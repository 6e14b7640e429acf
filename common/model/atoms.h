/* Atoms of a unit cell, and the symmetry that repeats them.  Plain data. */
#ifndef BRAGG_MODEL_ATOMS_H
#define BRAGG_MODEL_ATOMS_H

#include <stddef.h>

#include "base/alloc.h"

struct atom {
    int element;       // atomic number
    double x[3];       // fractional coordinates
    double occupancy;  // 1: the atom is in every cell
    double B_A2;
    double f[2];  // f', f'', electrons
};

struct atoms {
    size_t count, room;
    struct atom *list;  // owned
};

/* A symmetry operator x' = R x + t in fractional coordinates.  R is row-major. */
struct symmetry_operator {
    int R[9];
    double t[3];
};

/* Frees the list and clears *a. */
static inline void atoms_free(struct atoms *a)
{
    mem_free(a->list);
    *a = (struct atoms){0};
}

#endif
