/*
 * How the detector of an analysis lies against the true one: what the mean of distances hides, as
 * it points away from the beam centre or goes round it.
 */
#ifndef BRAGG_SCORE_ALIGNMENT_H
#define BRAGG_SCORE_ALIGNMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { ALIGNMENT_TERMS = 6 };

/* Sums over places; all zero at the beginning. */
struct alignment {
    size_t n;
    double products[ALIGNMENT_TERMS][ALIGNMENT_TERMS], measured[ALIGNMENT_TERMS];
    double distance_m, radius2;  // along the beam, and squares of tangents
    double pixel_m;              // of the place that was added last
};

/* A place as the truth has it and where the analysis has the same pixel, m, in the frame of the
 * beam.  Places that are not in front of the sample are left out. */
void alignment_add(struct alignment *a, const double truth_m[3], const double model_m[3],
                   double pixel_m);

/* What the model is off by; NaN where too few places tell. */
struct alignment_off {
    double distance_m;     // mean true distance along the beam
    double camera_length;  // model / truth - 1
    double turn_deg;       // about the beam, from x to y
    double tilt_deg[2];    // about x and y
    double radius_px;      // root of the mean square of distances from the beam centre
};
struct alignment_off alignment_solve(const struct alignment *a);

#endif
