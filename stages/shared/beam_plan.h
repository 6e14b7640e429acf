/* An engine's plans for an experiment: of the beam, and of its third harmonic where it has one.
 * Images and derivatives are of both. */
#ifndef BRAGG_STAGES_BEAM_PLAN_H
#define BRAGG_STAGES_BEAM_PLAN_H

#include "engine/derivatives/derive.h"
#include "engine/engine.h"

struct beam_plan;

/* As engine->create; *p is NULL after an error. */
enum status beam_plan_create(struct beam_plan **p, const struct engine *engine,
                             const struct experiment *x, const struct engine_options *how,
                             struct error *e);

/* The class of the engine's images. */
const char *beam_plan_identity(const struct beam_plan *p);

/* As engine->run, without the count of rows, and engine->derive. */
enum status beam_plan_run(struct beam_plan *p, const struct recipe *r, float *pixels,
                          struct error *e);
enum status beam_plan_derive(struct beam_plan *p, const struct recipe *r,
                             const struct derive_request *request, struct error *e);

/* Frees the plans and sets the pointer to NULL; fine with NULL there. */
void beam_plan_destroy(struct beam_plan **p);

#endif
