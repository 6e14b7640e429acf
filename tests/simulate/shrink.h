/* Reduction of a plan that fails. */
#ifndef BRAGG_SIMULATE_SHRINK_H
#define BRAGG_SIMULATE_SHRINK_H

#include "world.h"

/* Returns a smaller plan that fails in the same way as `plan`, which has just failed (world.wrong).
 * Removes faults, processes and frames one by one for as long as the failure stays the same. */
struct plan shrink(struct plan plan);

#endif
