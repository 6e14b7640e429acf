/* Where the detector stands from frame to frame: an offset of the camera length, and shifts across
 * the beam.  A jet that moves past a detector that stands is the same. */
#ifndef BRAGG_PHYSICS_SHIFT_H
#define BRAGG_PHYSICS_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Options.  If all are 0, the detector stands where the experiment has it.  Options that are given
 * add up. */
struct shift {
    double coffset_m;         // along the beam, away from the sample
    double coffset_jitter_m;  // rms along the beam, normal
    double jitter_m;          // rms along x and y of the frame of the beam, normal
    double (*listed_m)[3];    // owned by the caller: of frame 0, 1, ... in turn, in that frame
    size_t nlisted;
};

bool shift_moves(const struct shift *s);

/* Whether the detector may stand there, without jitter: STATUS_INPUT when a panel is curved or
 * would not be behind the sample. */
enum status shift_check(const struct shift *s, const struct experiment *x, struct error *e);

/* The shift of frame r->id of *x, a pure function of (r->seed, r->id); none where nothing moves. */
void shift_make(const struct shift *s, const struct experiment *x, struct recipe *r);

#endif
