/* A warning about frames with less than one photon. */
#ifndef BRAGG_STAGES_FAINT_H
#define BRAGG_STAGES_FAINT_H

#include "model/frame.h"

/* Warns if the crystals of the frame scatter less than one photon in total.  The frame must have
 * crystals, and pixels of float32 photons.  The function stops reading when the sum reaches one
 * photon. */
void faint_warn(const struct frame *frame);

#endif
