/*
 * The streak of a liquid jet: its surface refracts and reflects the beam across the jet.  A model
 * by the looks of such frames, with as many photons as are asked for:
 *
 *     photons of a pixel = N omega exp(-|v|/w) / (2 pi w l (1 + (u/l)^2))
 *
 * where u and v are the tangents of the angles from the beam along the streak and across it.
 */
#ifndef BRAGG_PHYSICS_STREAK_H
#define BRAGG_PHYSICS_STREAK_H

#include <stdint.h>

#include "model/experiment.h"

struct streak {
    double photons;        // N of a mean frame of mean fluence
    double spread;         // log-normal from frame to frame, relative
    double length, width;  // l and w, rad; where w is less than a pixel, it is widened to one
    double angle_rad;      // from the first panel's fast axis towards its slow one
    double angle_rms_rad;  // from frame to frame
};

/* Adds the streak of a frame, whose fluence is `relative` to the mean one, to
 * photons[experiment_pixels()] where pixels are computed: a function of seed and frame. */
void streak_add(const struct streak *s, const struct experiment *x, double relative, uint64_t seed,
                uint64_t frame, int threads, float *photons);

#endif
