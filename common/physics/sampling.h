/*
 * Is the sampling fine enough?  A crystal of N cells of length a along an axis
 * gives spots lambda/(N a) wide (rad); what is sampled by discrete points (phi
 * steps, mosaic domains, subpixels) must have at least one point per width, or
 * single points stand out instead of a smooth profile.
 */
#ifndef BRAGG_PHYSICS_SAMPLING_H
#define BRAGG_PHYSICS_SAMPLING_H

#include <stdbool.h>

#include "model/experiment.h"
#include "model/recipe.h"

struct sampling_report {
    double spot_rad;      // narrowest width of a spot, lambda/(N a)
    double phi_step_rad;  // between neighbouring phi steps; 0 for a still
    double domain_rad;    // mean distance of neighbouring domains; 0 for one domain
    double subpixel_rad;  // a subpixel where the panel is closest, seen from the sample
    bool phi_coarse, domains_coarse, pixels_coarse;  // wider than spot_rad
    /* The smallest numbers that would do. */
    double phi_steps, domains, oversample;
};

/* Mean distance in rad of `domains` orientations that fill a cap of half-width
 * `spread_rad`, as seen along a reflection (which two of the three rotations
 * move): each owns an area pi spread^2 / domains. */
double sampling_domain_spacing(double spread_rad, double domains);

/* Compares the sampling of crystal l->crystal with the width of its spots.
 * `osc_rad` is the rotation of the frame, `spread_rad` the mosaic half-width. */
struct sampling_report sampling_check(const struct experiment *x, const struct lattice *l,
                                      double osc_rad, double spread_rad);

#endif
