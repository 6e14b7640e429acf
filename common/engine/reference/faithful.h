/* Images of --physics=faithful that only the reference engine computes. */
#ifndef BRAGG_ENGINE_REFERENCE_FAITHFUL_H
#define BRAGG_ENGINE_REFERENCE_FAITHFUL_H

#include "base/error.h"
#include "model/experiment.h"
#include "model/recipe.h"

/* STATUS_USAGE, in one line, if a faithful image depends on a quirk of nanoBragg's loop and the
 * engine of this name does not repeat it: factors on the running sum, the capture of the last
 * layer, the cell kept at phi 0, interpolation that ends at the first miss, water counted twice.
 * Physical experiments and the engine "reference" always pass. */
enum status faithful_check(const struct experiment *x, const struct recipe *r, const char *engine,
                           struct error *e);

#endif
