/* The stage bragg-background: for its own program, and for one that does its work, too. */
#ifndef BRAGG_STAGES_BACKGROUND_H
#define BRAGG_STAGES_BACKGROUND_H

#include "stage/stage.h"

extern const struct stage stage_background;

#endif
