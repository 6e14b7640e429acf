/* Loop quirks of nanoBragg that only the reference engine repeats. */
#ifndef BRAGG_STAGES_NANOBRAGG_LOOP_H
#define BRAGG_STAGES_NANOBRAGG_LOOP_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"
#include "physics/request.h"

/* STATUS_USAGE, in one line, when a faithful image would depend on a loop quirk:
 * factors on the running sum, the last layer's capture, the cell kept at phi 0,
 * interpolation that ends at the first miss, water counted twice.  `engine`
 * names the engine that was asked for.  Physical experiments always pass. */
enum status nanobragg_loop_check(const struct experiment *x, const struct recipe *r,
                                 const char *engine, struct error *e);

/* Width of the rotation for headers, by the rules of the phi steps. */
double nanobragg_osc_rad(const struct orientation_request *o);

#endif
