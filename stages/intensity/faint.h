/* Frames that expect less than one photon, or none. */
#ifndef BRAGG_STAGES_FAINT_H
#define BRAGG_STAGES_FAINT_H

#include "model/frame.h"

/* Warns when the crystals of a frame, which has some, scatter less than one photon into all of
 * its pixels, float32 photons.  It stops reading at the first photon. */
void faint_warn(const struct frame *frame);

#endif
