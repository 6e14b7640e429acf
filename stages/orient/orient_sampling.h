/* Sampling of the spots: chooses steps and channels, and warns if there are too few. */
#ifndef BRAGG_STAGES_ORIENT_SAMPLING_H
#define BRAGG_STAGES_ORIENT_SAMPLING_H

#include "base/error.h"
#include "model/experiment.h"
#include "orient_options.h"
#include "physics/beam/pulse.h"

/* With --steps=auto sets the phi steps and mosaic domains of *o that were not given, and raises the
 * oversampling of *x to what the spots need.  Sets the channels of *spectrum if they were not
 * given. Prints a warning for everything that is still too coarse. STATUS_USAGE: --steps=auto needs
 * more than a million terms per pixel.  Other errors are those of setup_lattice. */
enum status orient_sampling(struct orient_options *o, struct experiment *x,
                            struct spectrum *spectrum, struct error *e);

#endif
