/*
 * Derivatives of the image of a smeared sensor.  The smear is linear: each derivative image of the
 * thin image is smeared like the image itself (engine/smear/smear_frame.h).  Parameters of
 * the detector also change the weights of the smear: the thin image is smeared with the change of
 * the weights, and added.
 */
#ifndef BRAGG_ENGINE_SMEAR_DERIVE_H
#define BRAGG_ENGINE_SMEAR_DERIVE_H

#include "engine/derivatives/derive.h"

/* Computes photons and derivative images of a thin image, as of point-like crystals.  `thin`: see
 * smear_thin in engine/smear/smear_frame.h. */
typedef enum status smear_derive_thin(void *engine, const struct experiment *thin,
                                      const struct recipe *r, const struct derive_request *request,
                                      struct error *e);

/* Serves a request of an experiment whose sensor is smeared.  The whole frame is computed, even if
 * the request lists pixels.  `f` may be NULL.  STATUS_INPUT: derive_check refuses the request, or
 * an error of `compute`, to which `engine` is passed. */
enum status smear_derive(const struct experiment *x, struct footprint *f, int threads,
                         const struct recipe *r, smear_derive_thin *compute, void *engine,
                         const struct derive_request *request, struct error *e);

#endif
