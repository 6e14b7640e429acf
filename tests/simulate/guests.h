/* Processes outside the pipeline that send messages to it: an unauthorised process that sends
 * random messages, and an observer that asks for the status of the run. */
#ifndef BRAGG_SIMULATE_GUESTS_H
#define BRAGG_SIMULATE_GUESTS_H

#include "world.h"

/* Starts these processes, if the plan has them. */
void guests_begin(void);

/* Executes a turn of one of them. */
void guests_go(unsigned which);

/* Returns true if the stage name is that of the unauthorised process. */
bool guests_is_stranger(const char *stage);

#endif
