/* The stage bragg-background: for its own program, and for one that does its work, too. */
#ifndef BRAGG_STAGES_BACKGROUND_H
#define BRAGG_STAGES_BACKGROUND_H

#include "physics/background/background_pixel.h"
#include "stage/stage.h"

extern const struct stage stage_background;

/* Before begin: that leaves the work of the frames to another, or to a later call of
 * background_start. */
void background_defer(void *state);
enum status background_start(void *state, struct error *e);

/* Whether it differs between frames of the same sources: then only the stage itself can add it. */
bool background_varies(const void *state);

/* After begin: what scatters; returns how many.  They stay the stage's. */
size_t background_materials(const void *state, const struct background_material **materials);

#endif
