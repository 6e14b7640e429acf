/*
 * What frames tell about parameters: their Fisher matrices, and the Cramer-Rao bounds, which no
 * unbiased estimate beats.  Parameters are local, each frame having its own, or shared by all.
 * Shared ones follow by eliminating the local block of every frame (Schur complement), so that a
 * frame costs a small matrix however many there are.
 */
#ifndef BRAGG_REFINE_INFORMATION_H
#define BRAGG_REFINE_INFORMATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Local parameters come first. */
struct information_layout {
    size_t count, local;
    const double *prior;  // [count]: 1/sigma^2 of what is known before, 0: nothing
};

/* One frame. */
struct information_frame {
    uint64_t id;
    size_t lattices;
    double photons;   // of its crystals
    double *fisher;   // [count x count], owned; NULL: a blank
    double *error;    // [count], owned: see information_solve; NULL: no bounds
    double *weakest;  // [count]: of a frame without bounds, what it cannot tell apart; else NULL
};

struct information {
    struct information_frame *frames;  // owned
    size_t count, room;
};

/* What all frames together tell. */
struct information_bounds {
    size_t good, blank, vague;  // frames that have bounds, no crystal, or cannot tell all apart
    double photons;             // of the crystals of a frame that is no blank, median
    double *one;                // [count]: error bars by a single frame, median over the good ones
    double *alone;              // [count]: the same if all others were known
    double *all;  // [count]: of shared parameters by all frames; of local ones as `one`, but
                  // with the shared ones as all frames tell them
    double *correlation;  // [count x count]: of one frame, median of each pair
};

/* Adds a frame, whose fisher[count x count] is copied; NULL: a blank. */
enum status information_add(struct information *all, const struct information_layout *layout,
                            uint64_t id, size_t lattices, double photons, const double *fisher,
                            struct error *e);

/* Orders frames by number, fills in the errors of each (of local parameters, with the shared ones
 * as all frames tell them; of shared ones by this frame alone, infinite if it cannot tell), and
 * makes *bounds, which is freed by information_bounds_free.  STATUS_INPUT when shared parameters
 * are not told apart by all frames together: weakest[count] says which; or when no frame has
 * bounds: weakest[] is of one of them. */
enum status information_solve(struct information *all, const struct information_layout *layout,
                              struct information_bounds *bounds, double *weakest, struct error *e);

void information_bounds_free(struct information_bounds *bounds);
void information_free(struct information *all);

#endif
