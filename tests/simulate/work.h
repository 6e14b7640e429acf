/* The main thread of a process.  Instead of the callbacks of a stage, computing is a delay, and a
 * frame is a pattern of bytes. */
#ifndef BRAGG_SIMULATE_WORK_H
#define BRAGG_SIMULATE_WORK_H

#include "world.h"

/* Begins the main thread of a process. */
void work_begin(struct process *p);

/* Executes its next step, which is due. */
void work_go(struct process *p);

/* Looks for work, after a turn of the I/O thread. */
void work_look(struct process *p);

/* Delays the current frame, or the next one, by this time. */
void work_hang(struct process *p, uint64_t lasts_ns);

/* Delays the main thread of a frozen process until thaw_ns. */
void work_freeze(struct process *p);

#endif
