/* The stage bragg-noise: for its own program, and for one that does its work, too. */
#ifndef BRAGG_STAGES_NOISE_H
#define BRAGG_STAGES_NOISE_H

#include "stage/stage.h"

extern const struct stage stage_noise;

#endif
