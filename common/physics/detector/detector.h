/* Set-up of the detector: counts [1.2], conventions [1.3], beam centre [1.4],
 * pivot [1.5], rotations [1.6], origin [1.7], sensor layers [1.10]. */
#ifndef BRAGG_PHYSICS_DETECTOR_H
#define BRAGG_PHYSICS_DETECTOR_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/request.h"

/* What a convention fixes [1.3]; all unit vectors in its lab frame. */
struct frame_axes {
    double beam[3];  // propagation
    double fast[3], slow[3], normal[3];
    double twotheta[3];  // axis of the two-theta arm
    double polar[3];     // E field
    double spindle[3];
    enum pivot pivot;
};

/* The row of table 1.3 for a convention (CUSTOM: where nothing else is given). */
const struct frame_axes *convention_axes(enum convention convention);

/* The axes to work with: the row, with the vectors given for CUSTOM in their
 * place, unitized.  STATUS_INPUT for vectors that give no direction. */
enum status detector_axes(const struct request *r, struct frame_axes *axes, struct error *e);

/* Builds the one panel of *r from unitized axes.  *p is cleared first.  The mask is
 * taken over from the request's pointer, not copied. */
enum status detector_panel(const struct request *r, const struct frame_axes *axes, struct panel *p,
                           struct error *e);

/* Sets distances and centres of *p that follow from its origin, axes and normal.  `ratio`:
 * by which the shortest distance is divided to get that along the beam. */
void detector_derive(struct panel *p, const double beam[3], double ratio);

/* That ratio, the cosine between beam and normal; 1 for a panel along the beam, which has
 * no distance. */
double detector_ratio(const struct panel *p, const double beam[3]);

#endif
