/* The stage bragg-noise.  Two programs run it: bragg-noise, and bragg-intensity with --fuse. */
#ifndef BRAGG_STAGES_NOISE_H
#define BRAGG_STAGES_NOISE_H

#include "engine/detector/noise.h"
#include "stage/stage.h"

extern const struct stage stage_noise;

/* Call before `begin`: `begin` then does not prepare for frames.  Either an engine does the work of
 * the frames, or the caller calls noise_start later. */
void noise_defer(void *state);

/* Prepares for frames.  STATUS_FAILED: out of memory. */
enum status noise_start(void *state, struct error *e);

/* Returns, after `begin`, the requested noise, and in *type the type of the pixels.
 * NULL: the noise is that of noisify (--generator=nanobragg). */
const struct noise *noise_asked(const void *state, enum pixel_type *type);

/* Returns the plan whose noise_part does the work of a frame that has neither derivatives nor
 * reflections, after `begin` without noise_defer.  NULL: only the stage itself can do it. */
struct noise_plan *noise_by_parts(void *state, const struct recipe *recipe);

/* Returns the seed of a frame: --seed, or else that of its recipe. */
uint64_t noise_seed(const void *state, const struct recipe *recipe);

#endif
