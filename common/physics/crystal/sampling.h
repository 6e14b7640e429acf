/*
 * Checks whether the sampling is fine enough.
 *
 * A crystal of N cells of length a along an axis gives spots that are 1/N wide in the index along
 * it.  This is lambda/(N a) in rad on the detector, and d/(N a) in the rotation of a reflection of
 * spacing d.  Phi steps, mosaic domains and subpixels are discrete points.  If they are too far
 * apart, single points appear instead of a smooth profile.  The largest distance of points,
 * relative to the width of a spot, depends on the shape of the spot:
 *
 *   SQUARE  0.7, no ripple along the axes and a face diagonal
 *   ROUND   0.9, no ripple
 *   TOPHAT  0.35, ripple of 5 %
 *   GAUSS   from the ripple that is allowed; 0.77 for 1 %.  Points D apart give a sum with an error
 *           of at most 2 exp(-2 pi^2 w^2 / D^2) for a Gaussian spot of rms w = 0.397/N
 *
 * A crystal in closed form (physics/crystal/ensemble.h) is a Gaussian in the rotation as well.  Its
 * variance is that of a block plus the square of its smallest mosaic rms, so that few phi steps are
 * fine enough.
 *
 * Each layer of a sensor is sampled by all subpixels.  Slanted rays smear a spot over as many
 * places as there are layers.  These places must not be farther apart than a pixel, or than that
 * fraction of the spot.
 */
#ifndef BRAGG_PHYSICS_SAMPLING_H
#define BRAGG_PHYSICS_SAMPLING_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/recipe.h"

struct sampling_report {
    double spot_rad;     // narrowest width of a spot on the detector
    double rocking_rad;  // narrowest width in the rotation, at the smallest spacing in view
    double widened_rad;  // the same with the mosaic spread of a crystal in closed form
    double spot_share_rad, rocking_share_rad;  // largest distance of points: of spot_rad, of
                                               // widened_rad
    double phi_step_rad;                       // between neighbouring phi steps; 0 for a still
    double domain_rad;    // mean distance of neighbouring domains; 0 for one domain
    double subpixel_rad;  // a subpixel where the panel is closest, seen from the sample
    double layer_px;      // between photons of neighbouring layers of the sensor, most slanted rays
    bool phi_coarse, domains_coarse, pixels_coarse, layers_coarse;  // farther apart
    /* The smallest numbers of points that are fine enough. */
    double phi_steps, domains, oversample, layers;
};

/* Compares the sampling of crystal l->crystal with the width of its spots, which for GAUSS and
 * TOPHAT is that of shape_offset_sqr, in faithful mode that of shape_distance_sqr.
 * `osc_rad` is the rotation of the frame, `spread_rad` the mosaic half-width, `ripple` the
 * relative error that GAUSS may have, below 2. */
struct sampling_report sampling_check(const struct experiment *x, const struct lattice *l,
                                      double osc_rad, double spread_rad, double ripple);

#endif
