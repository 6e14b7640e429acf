/* The stage bragg-noise: for its own program, and for one that does its work, too. */
#ifndef BRAGG_STAGES_NOISE_H
#define BRAGG_STAGES_NOISE_H

#include "engine/detector/noise.h"
#include "stage/stage.h"

extern const struct stage stage_noise;

/* Before begin: that leaves the work of the frames to another, or to a later call of
 * noise_start. */
void noise_defer(void *state);
enum status noise_start(void *state, struct error *e);

/* After begin: what noise it is, NULL when it is noisify's; the type of its pixels, and the
 * seed for a frame. */
const struct noise *noise_asked(const void *state, enum pixel_type *type);
uint64_t noise_seed(const void *state, const struct recipe *recipe);

#endif
