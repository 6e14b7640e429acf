/* Whether frames can reach the last stages, and when they begin to flow: once a complete path to
 * a durable sink is there. */
#ifndef BRAGG_CONTROL_BARRIER_H
#define BRAGG_CONTROL_BARRIER_H

#include "control/stream.h"

/* Bits of the durable groups that frames can reach now. */
uint64_t barrier_reach(struct stream *s);

/* Sorts who is named in a hello, so that it is quickly found. */
void barrier_sort(struct hello *h);

/* Before frames flow: lets them, or ends the run when that takes too long. */
void barrier_try(struct stream *s, uint64_t now_ns);

#endif
