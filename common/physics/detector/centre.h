/* Beam centre and nearest point of a panel, from what the user gave [1.4]. */
#ifndef BRAGG_PHYSICS_CENTRE_H
#define BRAGG_PHYSICS_CENTRE_H

#include "base/error.h"
#include "physics/request.h"

/* Where the beam hits and where the sample is nearest, in m from the outer corner
 * of pixel (0,0). */
struct centre {
    double beam_x, beam_y;  // Xbeam, Ybeam by the convention
    double beam_fast, beam_slow;
    double close_fast, close_slow;
};

/* Fills *c for a detector of size_m (fast, slow).  Faithful: only CUSTOM takes the
 * nearest point from the beam centre, nothing else stands in.  Physical: whichever
 * of the two was given stands in for the other, axis by axis.  STATUS_INPUT for
 * centres that are not finite or farther than 1 km away. */
enum status centre_find(const struct detector_request *d, bool faithful, const double size_m[2],
                        struct centre *c, struct error *e);

#endif
