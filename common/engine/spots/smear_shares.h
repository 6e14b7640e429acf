/*
 * The photons that each reflection gives to each pixel of a smeared sensor.  The shares of the
 * subpixels of the thin image are computed first, see cpu_shares.h.  Then each reflection is
 * smeared alone, with the weights of the frame (reflections/smear_bands.h).
 */
#ifndef BRAGG_ENGINE_SMEAR_SHARES_H
#define BRAGG_ENGINE_SMEAR_SHARES_H

#include "engine/cpu/cpu.h"
#include "engine/reflections/smear_frame.h"
#include "engine/spots/shares.h"

/* See `reflections` of struct engine.  tables[] has one item per crystal.  `f` may be NULL.
 * `thin` computes the thin images, as in smear_frame_run.  STATUS_INPUT: what `thin` refuses. */
enum status smear_reflections(const struct experiment *x, const struct cpu_table *tables,
                              const struct footprint *f, const char *isa, int threads,
                              const struct recipe *recipe, smear_thin *thin, void *engine,
                              const float *pixels, const struct reflections_wanted *wanted,
                              struct reflection_table *table, struct error *e);

#endif
