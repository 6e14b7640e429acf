/* What is true of the frames: the disks of the last stages, and what must hold at every moment. */
#ifndef BRAGG_SIMULATE_TRUTH_H
#define BRAGG_SIMULATE_TRUTH_H

#include "world.h"

/* Before the story. */
void truth_begin(void);

/* What source or worker make of a frame, borrowed. */
struct part truth_part(enum job job, uint64_t id);

/* The source issues a frame; a last stage is handed one, and has made it durable; adds all that its
 * disk has; false when that is full. */
void truth_issued(const struct process *p, struct ticket t);
void truth_takes(struct process *p, uint64_t id);
bool truth_store(const struct process *p, uint64_t id);
void truth_have(const struct process *p, struct id_set *ids);

/* A process dies: what it had in memory is gone. */
void truth_dies(const struct process *p);

/* After each turn of a process. */
void truth_check(struct process *p);

/* A process has ended by itself; false when another is to take its place. */
bool truth_ended(const struct process *p);

/* True when a process has ended well: who is started from then on finds nobody. */
bool truth_is_done(void);

/* At the end of the story. */
void truth_judge(void);

/* How many frames are durable, or were. */
uint64_t truth_count(void);

#endif
