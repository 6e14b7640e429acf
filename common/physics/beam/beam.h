/* Set-up of the beam: fluence [2.1], wavelengths [2.2], sources [2.4, 2.5]. */
#ifndef BRAGG_PHYSICS_BEAM_H
#define BRAGG_PHYSICS_BEAM_H

#include "base/error.h"
#include "model/experiment.h"
#include "physics/detector/detector.h"
#include "physics/request.h"

/* Fills *b, whose source list the caller frees with the experiment. */
enum status beam_setup(const struct beam_request *r, const struct frame_axes *axes, struct beam *b,
                       struct error *e);

#endif
