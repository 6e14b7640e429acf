/* Fluence, wavelength, direction and spectrum from pulse to pulse: the sources of one frame. */
#ifndef BRAGG_PHYSICS_PULSE_H
#define BRAGG_PHYSICS_PULSE_H

#include <stdbool.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/beam/spectrum.h"

/* Sources of a frame, at most. */
enum { PULSE_SOURCES_MAX = 100000 };

/* Options; 0 leaves every frame as the beam is. */
struct pulse {
    double fluence_jitter;        // rms; log-normal, the mean is the beam's
    double wavelength_jitter;     // rms; normal, one factor for all sources
    double direction_jitter_rad;  // rms about each axis across the beam; normal
    double fluence,
        wavelength;  // factors of a run on the values of the beam; 0: the value of the beam
    struct spectrum spectrum;
};

bool pulse_varies(const struct pulse *p);

/* Whether a beam can have the spectrum: STATUS_USAGE when its sources differ in wavelength or
 * are too many, and as spectrum_check. */
enum status pulse_check(const struct pulse *p, const struct beam *beam, struct error *e);

/* Gives *r sources of its own, where pulses vary: those of the beam with the fluence,
 * wavelength and direction of frame r->id, a pure function of (r->seed, r->id).  With a spectrum
 * there are its channels for each of them. */
enum status pulse_make(const struct pulse *p, const struct beam *beam, struct recipe *r,
                       struct error *e);

#endif
