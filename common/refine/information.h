/*
 * The information that frames contain about parameters: Fisher matrices, and the Cramer-Rao bounds,
 * below which no unbiased estimate can fall.
 *
 * Parameters are local (each frame has its own) or shared by all frames.  The local block of every
 * frame is eliminated (Schur complement) to find the bounds of the shared ones.  A frame therefore
 * costs a small matrix, however many frames there are.
 */
#ifndef BRAGG_REFINE_INFORMATION_H
#define BRAGG_REFINE_INFORMATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Numbers of all and of local parameters, and their priors.  Local parameters come first, then
 * shared ones. */
struct information_layout {
    size_t count, local;
    const double *prior;  // [count]: 1/sigma^2 of previous knowledge; 0: none
};

/* The information that one frame contains about the parameters. */
struct information_frame {
    uint64_t id;
    size_t lattices;
    double photons;   // photons from the crystals of the frame
    double *fisher;   // [count x count], owned: Fisher matrix; NULL: the frame is blank
    double *error;    // [count], owned: error bars (information_solve); NULL: the frame has no
                      // bounds
    double *weakest;  // [count], owned: only if there are no bounds: direction in the space of
                      // parameters about which the frame contains no information; else NULL
};

struct information {
    struct information_frame *frames;  // owned
    size_t count, room;
};

/* Bounds that follow from all frames, and medians of the bounds of single frames. */
struct information_bounds {
    size_t good, blank, vague;  // number of frames with bounds, of frames without crystals, and
                                // of frames with degenerate parameters
    double photons;             // photons from the crystals, median over frames that are not
                                // blank
    double *one;                // [count]: error bars from a single frame, median over the frames
                                // that alone determine all parameters; infinite if there are none
    double *alone;              // [count]: like `one`, if all other parameters were known
    double *all;  // [count]: error bars from all frames.  Shared parameters: from the information
                  // of all frames together.  Local parameters: median over frames, with the
                  // shared parameters known as well as all frames determine them
    double *correlation;  // [count x count]: correlations in a single frame, median for each pair
                          // over the same frames as in `one`; NaN if there are none
};

/* Adds a frame with a copy of fisher[count x count].  `fisher` NULL: the frame is blank. */
void information_add(struct information *all, const struct information_layout *layout, uint64_t id,
                     size_t lattices, double photons, const double *fisher);

/* Computes the bounds.  Sorts the frames by number and sets the error bars of each frame:
 *
 *   local parameters   with the shared ones known as well as all frames determine them
 *   shared parameters  from this frame alone; infinite if the frame does not determine them
 *
 * Fills in *bounds; the caller must call information_bounds_free, also after an error.
 *
 *   STATUS_INPUT  all frames together do not determine the shared parameters: weakest[count]
 *                 is the direction that they leave free.  Or no frame has bounds: weakest[] is
 *                 that direction for one of the frames */
enum status information_solve(struct information *all, const struct information_layout *layout,
                              struct information_bounds *bounds, double *weakest, struct error *e);

void information_bounds_free(struct information_bounds *bounds);
void information_free(struct information *all);

#endif
