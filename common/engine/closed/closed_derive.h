/*
 * Derivatives of images in closed form (closed.h), by differences: four images for each parameter,
 * one and two steps to either side, of which the error is of the fourth order.  A step is
 * CLOSED_STEP of the rms width that the narrowest spot has in the parameter.  Planes are within
 * 2e-5 of their root mean square of those of the reference engine, where that has them.
 */
#ifndef BRAGG_ENGINE_CLOSED_DERIVE_H
#define BRAGG_ENGINE_CLOSED_DERIVE_H

#include "engine/closed/closed.h"
#include "engine/derivatives/derive.h"

#define CLOSED_STEP 0.06

/* As derive of struct engine, for an experiment whose panels stand where the recipe has them.
 * STATUS_INPUT for parameters of which no steps are taken (parameter_step.h). */
enum status closed_derive(const struct closed_kernels *kernels, const struct experiment *x,
                          struct footprint *f, int threads, const struct recipe *r,
                          const struct derive_request *request, struct error *e);

#endif
