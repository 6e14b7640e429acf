/* Fluence and wavelength from pulse to pulse: the sources of one frame. */
#ifndef BRAGG_PHYSICS_PULSE_H
#define BRAGG_PHYSICS_PULSE_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Options; 0 leaves every frame as the beam is. */
struct pulse {
    double fluence_jitter_percent;     // rms; log-normal, the mean is the beam's
    double wavelength_jitter_percent;  // rms; normal, one factor for all sources
};

bool pulse_varies(const struct pulse *p);

/* Gives *r sources of its own, where pulses vary: those of the beam with the fluence and
 * wavelength of frame r->id, a pure function of (r->seed, r->id). */
enum status pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r,
                       struct error *e);

#endif
