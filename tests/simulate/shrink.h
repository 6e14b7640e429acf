/* The least of a plan that fails as well. */
#ifndef BRAGG_SIMULATE_SHRINK_H
#define BRAGG_SIMULATE_SHRINK_H

#include "world.h"

/* Of a plan that has just failed (world.wrong): with fewer faults, processes and frames, as far as
 * one step after the other leads to a plan that fails likewise. */
struct plan shrink(struct plan plan);

#endif
