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

#include <stddef.h>
#include <stdint.h>

#include "model/experiment.h"

struct streak {
    double photons;        // N of a mean frame of mean fluence
    double spread;         // log-normal from frame to frame, relative
    double length, width;  // l and w, rad; where w is less than a pixel, it is widened to one
    double angle_rad;      // from the first panel's fast axis towards its slow one
    double angle_rms_rad;  // from frame to frame
};

/* The frame that a streak is drawn for; pointers are borrowed. */
struct streak_frame {
    double relative;               // fluence of the frame relative to the mean fluence
    uint64_t seed, id;             // the streak is a function of these
    const struct source *sources;  // [nsources], of the experiment or of the recipe
    size_t nsources;
    const double *absorb;  // [nsources], as struct background_scene has it; NULL: all are alike
};

/* Adds the streak of a frame to photons[experiment_pixels()] where pixels are computed.  A pixel
 * stands where background_point puts it, and the sensor absorbs the weighted mean of what it
 * absorbs of the sources. */
void streak_add(const struct streak *s, const struct experiment *x, const struct streak_frame *f,
                int threads, float *photons);

#endif
