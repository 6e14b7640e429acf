/* Predicted reflections: which lattice points the beam lights in a frame, and where they go. */
#ifndef BRAGG_PHYSICS_PREDICT_H
#define BRAGG_PHYSICS_PREDICT_H

#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

struct reflection {
    size_t lattice;  // index into the recipe's
    int hkl[3];
    double off;           // from the Ewald sphere, in halves of a spot's width; at most 1
    double direction[3];  // unit vector of the diffracted beam
};

struct reflections {
    size_t count;
    size_t capacity;
    struct reflection *all;  // owned
};

/* All reflections of the recipe up to resolution `dmin_m` whose lattice point is within half a
 * spot's width of the Ewald sphere of some source at some step of the rotation; each of a lattice
 * once, where it is nearest to a sphere.  The width is that of a lattice of so many cells, and the
 * spread of the mosaic domains.  Sorted by lattice, h, k, l.  *list is overwritten and freed by
 * predict_free, also after STATUS_FAILED for lack of memory. */
enum status predict(const struct experiment *x, const struct recipe *r, double dmin_m,
                    struct reflections *list, struct error *e);

void predict_free(struct reflections *list);

#endif
