/*
 * Is the sampling fine enough?  A crystal of N cells of length a along an axis gives spots
 * 1/N wide in the index along it: lambda/(N a) in rad on the detector, d/(N a) in the rotation
 * of a reflection of spacing d.  What is sampled by discrete points (phi steps, mosaic domains,
 * subpixels) needs a point per so much of a width, by the shape of the spot, or single points
 * stand out instead of a smooth profile: SQUARE 0.7 (no ripple along the axes and a face
 * diagonal), ROUND 0.9 (none), TOPHAT 0.35 (5 %), GAUSS by the ripple that is allowed: points D
 * apart give a sum that is wrong by 2 exp(-2 pi^2 w^2 / D^2) at worst, the spot being Gaussian of
 * rms w = 0.397/N; 0.77 for 1 %.  Layers of a sensor are each sampled by all subpixels: slanted
 * rays smear a spot over as many places as there are layers, which must not be farther apart than a
 * pixel, or so much of the spot.
 */
#ifndef BRAGG_PHYSICS_SAMPLING_H
#define BRAGG_PHYSICS_SAMPLING_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/recipe.h"

struct sampling_report {
    double spot_rad;     // narrowest width of a spot on the detector
    double rocking_rad;  // narrowest width in the rotation, at the smallest spacing in view
    double spot_share_rad, rocking_share_rad;  // largest distance of points, in these units
    double phi_step_rad;                       // between neighbouring phi steps; 0 for a still
    double domain_rad;    // mean distance of neighbouring domains; 0 for one domain
    double subpixel_rad;  // a subpixel where the panel is closest, seen from the sample
    double layer_px;      // between photons of neighbouring layers of the sensor, most slanted rays
    bool phi_coarse, domains_coarse, pixels_coarse, layers_coarse;  // farther apart
    /* The smallest numbers that would do. */
    double phi_steps, domains, oversample, layers;
};

/* Compares the sampling of crystal l->crystal with the width of its spots, which for GAUSS and
 * TOPHAT is that of shape_offset_sqr, in faithful mode that of shape_distance_sqr.
 * `osc_rad` is the rotation of the frame, `spread_rad` the mosaic half-width, `ripple` the
 * relative error that GAUSS may have, below 2. */
struct sampling_report sampling_check(const struct experiment *x, const struct lattice *l,
                                      double osc_rad, double spread_rad, double ripple);

#endif
