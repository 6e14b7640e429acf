/* The I/O thread: one loop over sockets, signals, pipes and timers. */
#ifndef BRAGG_STAGE_LOOP_H
#define BRAGG_STAGE_LOOP_H

#include "stage/runtime.h"

/* Runs until the run ends, and disconnects; for pthread_create. */
void *loop_run(void *runtime);

#endif
