/* Set-up of the detector: counts [1.2], conventions [1.3], beam centre [1.4],
 * pivot [1.5], rotations [1.6], origin [1.7], sensor layers [1.10]. */
#ifndef BRAGG_PHYSICS_DETECTOR_H
#define BRAGG_PHYSICS_DETECTOR_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/request.h"

/* The axes that a convention fixes [1.3]: unit vectors in its laboratory frame. */
struct frame_axes {
    double beam[3];  // propagation
    double fast[3], slow[3], normal[3];
    double twotheta[3];  // axis of the two-theta arm
    double polar[3];     // E field
    double spindle[3];
    enum pivot pivot;
};

/* Returns the row of table 1.3 for a convention.  For CUSTOM it has the axes to use if nothing else
 * is given. */
const struct frame_axes *convention_axes(enum convention convention);

/* Sets *axes to the row of the convention, in which vectors given for CUSTOM replace its own, and
 * normalises all vectors.  STATUS_INPUT: vectors that give no direction. */
enum status detector_axes(const struct request *r, struct frame_axes *axes, struct error *e);

/* Builds the one panel of *r from unit axes.  *p is cleared first.  The mask of the request is
 * moved, not copied. */
enum status detector_panel(const struct request *r, const struct frame_axes *axes, struct panel *p,
                           struct error *e);

/* Sets the distances and centres of *p that follow from its origin, axes and normal.  The distance
 * along the beam is the shortest distance divided by `ratio`. */
void detector_derive(struct panel *p, const double beam[3], double ratio);

/* Returns that ratio, the cosine of the angle between beam and normal; 1 for a panel parallel to
 * the beam, which has no distance along the beam. */
double detector_ratio(const struct panel *p, const double beam[3]);

#endif
