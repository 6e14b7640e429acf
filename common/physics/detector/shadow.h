/*
 * The shadow of a beam stop, or of anything else: the fraction of the light from the sample that
 * passes it.  The stop is a thin plate across the beam, at some distance behind the sample.  A disc
 * or rectangle may have an arm that holds it and reaches beyond the detector.  Light scattered by
 * air behind the stop, or by the edges of the stop, is not included.
 */
#ifndef BRAGG_PHYSICS_SHADOW_H
#define BRAGG_PHYSICS_SHADOW_H

#include "model/experiment.h"

enum stop_shape { STOP_DISC, STOP_RECTANGLE, STOP_POLYGON };

/* Across the beam: x along the fast axis of the first panel, as far as that is across the beam, y
 * across x, on the side of its slow axis. */
struct stop {
    enum stop_shape shape;   // STOP_DISC: an ellipse with these axes
    double size_m[2];        // full, along x and y; > 0, but of a polygon
    double (*corners_m)[2];  // of a polygon, about its middle, in turn; it may cross itself:
    size_t ncorners;         // a point is inside if a ray from it crosses an odd number of edges
    double offset_m[2];      // of its middle from the beam
    double distance_m;       // from the sample, along the beam; 0: that of the first panel
    double arm_m;            // width of the arm, from the middle outwards; 0: none
    double arm_rad;          // its direction, from x towards y
    double transmission;     // 0 to 1
};

/* Multiplies passes[], which has an item for each pixel of the frame, by the fraction of the light
 * that passes the stop.  The fraction is 1 outside the shadow.  For a pixel on the edge of the
 * shadow it is the mean of SHADOW_EDGE x SHADOW_EDGE points. */
enum { SHADOW_EDGE = 8 };
void shadow_cast(const struct stop *stop, const struct experiment *x, float *passes);

#endif
