/* The stage bragg-background.  Two programs run it: bragg-background, and bragg-intensity with
 * --fuse. */
#ifndef BRAGG_STAGES_BACKGROUND_H
#define BRAGG_STAGES_BACKGROUND_H

#include "physics/background/background_pixel.h"
#include "stage/stage.h"

extern const struct stage stage_background;

/* Call before `begin`: `begin` then does not prepare for frames.  Either an engine does the work of
 * the frames, or the caller calls background_start later. */
void background_defer(void *state);

/* Computes the background of the experiment.  STATUS_FAILED: out of memory. */
enum status background_start(void *state, struct error *e);

/* Sets *photons to the background of a frame, which the stage owns until the next frame.  Call
 * after `begin` without background_defer. */
enum status background_of(void *state, const struct recipe *recipe, const float **photons,
                          struct error *e);

/* Returns true if the background differs between frames with equal sources, or is flat.  Only the
 * stage itself can add such a background. */
bool background_varies(const void *state);

/* Returns, after `begin`, the number of materials that scatter, and the materials in *materials.
 * The stage owns them. */
size_t background_materials(const void *state, const struct background_material **materials);

#endif
