/*
 * The photons that each reflection gives to each pixel of a smeared sensor.  The shares of the
 * subpixels of the thin image are computed first.  Then each reflection is
 * smeared alone, with the weights of the frame (smear/smear_bands.h).
 */
#ifndef BRAGG_ENGINE_SMEAR_SHARES_H
#define BRAGG_ENGINE_SMEAR_SHARES_H

#include "base/error.h"
#include "engine/spots/shares.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* Appends the shares of thin images to lists[experiment_rows(thin)], as of point-like crystals.
 * `thin`: see smear_thin in smear/smear_frame.h. */
typedef enum status smear_thin_shares(void *engine, const struct experiment *thin,
                                      const struct recipe *r, struct share_list *lists,
                                      struct error *e);

/* See `reflections` of struct engine.  `f` may be NULL.  Errors are those of `compute`, to which
 * `engine` is passed. */
enum status smear_reflections(const struct experiment *x, const struct footprint *f, int threads,
                              const struct recipe *recipe, smear_thin_shares *compute, void *engine,
                              const float *pixels, const struct reflections_wanted *wanted,
                              struct reflection_table *table, struct error *e);

#endif
