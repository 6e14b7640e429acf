/*
 * The shadow of a beam stop, or of anything else: what share of the light on its way from the
 * sample passes it.  The stop is a thin plate across the beam, at some distance behind the sample;
 * a disc or rectangle may have an arm that holds it and reaches beyond the detector.  Light in air
 * behind the stop, and what its edges scatter, are left out.
 */
#ifndef BRAGG_PHYSICS_SHADOW_H
#define BRAGG_PHYSICS_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

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

/* Multiplies passes[], of all pixels of the frame, by the share of the light that passes: 1 beside
 * the shadow, the mean of SHADOW_EDGE x SHADOW_EDGE points of a pixel on its edge. */
enum { SHADOW_EDGE = 8 };
void shadow_cast(const struct stop *stop, const struct experiment *x, float *passes);

#endif
