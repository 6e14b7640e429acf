/* How finely bragg-orient samples: steps that are chosen, and warnings of those that are too few.
 */
#ifndef BRAGG_STAGES_ORIENT_SAMPLING_H
#define BRAGG_STAGES_ORIENT_SAMPLING_H

#include "base/error.h"
#include "model/experiment.h"
#include "orient_options.h"
#include "physics/beam/spectrum.h"

/* With --steps=auto sets the phi steps and domains that were not given in *o, and raises the
 * oversampling of *x to what spots need; STATUS_USAGE where that is more terms than anybody waits
 * for.  Sets the channels of *spectrum that were not given, and warns of whatever is still too
 * coarse.  Other failures are those of setup_lattice. */
enum status orient_sampling(struct orient_options *o, struct experiment *x,
                            struct spectrum *spectrum, struct error *e);

#endif
