/* The main thread of a process: in place of the stage's callbacks computing is a delay, and a frame
 * a pattern of bytes. */
#ifndef BRAGG_SIMULATE_WORK_H
#define BRAGG_SIMULATE_WORK_H

#include "world.h"

/* It begins with the process. */
void work_begin(struct process *p);

/* Its time has come. */
void work_go(struct process *p);

/* The I/O thread had its turn: there may be something to do. */
void work_look(struct process *p);

/* The frame at hand, or the next one, takes so much longer. */
void work_hang(struct process *p, uint64_t lasts_ns);

/* Its process stands still until thaw_ns. */
void work_freeze(struct process *p);

#endif
