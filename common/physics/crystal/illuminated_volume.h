/* The part of a crystal that the beam lights: only that scatters [3.10]. */
#ifndef BRAGG_PHYSICS_ILLUMINATED_VOLUME_H
#define BRAGG_PHYSICS_ILLUMINATED_VOLUME_H

#include "model/experiment.h"

/* Rows h, v and beam: unit vectors in the lab along which the beam is size_m wide,
 * beam_height_m() high, and goes.  E lies along h. */
void lit_frame(const struct beam *b, double frame[9]);

/* Share of its volume, from 0 to 1, of a box whose edges are the rows of `edges` in m and whose
 * middle is in the middle of the uniform beam; exactly 1 where all of it, or where the beam has no
 * size. */
double lit_share(const struct beam *b, const double edges[9]);

/* Second moments in m^2, row-major in the lab, of the part of that box that is lit, about its
 * middle; false, and nothing in moments, where the beam does not cut the box. */
bool lit_moments(const struct beam *b, const double edges[9], double moments[9]);

/* How many blocks of the crystal are lit when its cell lies as the rows a, b, c of `cell`, of any
 * length; 1 for a crystal that is one block, as it was made. */
double lit_blocks(const struct crystal *c, const struct beam *b, const double cell[9]);

#endif
