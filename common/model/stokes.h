/* How the beam is polarized, as files and clients want to know it. */
#ifndef BRAGG_MODEL_STOKES_H
#define BRAGG_MODEL_STOKES_H

#include "model/experiment.h"

/* Stokes parameters I, Q, U, V of a beam of intensity 1 as seen from the axes `horizontal` and
 * `vertical`, unit vectors across the beam: Q is 1 for an E field along the first, U for one
 * between both.  Its length is Kahn's factor; nothing is circular. */
void beam_stokes(const struct beam *b, const double horizontal[3], const double vertical[3],
                 double stokes[4]);

/* Share of the photons whose E field swings along `horizontal`, (1 + Q)/2: 0.5 for an unpolarized
 * beam.  `horizontal` counts as far as it is across the beam, not all along it. */
double beam_fraction_along(const struct beam *b, const double horizontal[3]);

#endif
