/* The true state of all frames: the disks of the sinks, and the rules that must hold at all times.
 */
#ifndef BRAGG_SIMULATE_TRUTH_H
#define BRAGG_SIMULATE_TRUTH_H

#include "world.h"

/* Begins a run. */
void truth_begin(void);

/* Returns the content that the source or a worker makes for a frame, borrowed. */
struct part truth_part(enum job job, uint64_t id);

/* The steps of a frame: the source sends it, a sink receives it, and the sink stores it.
 * truth_store returns false if the disk is full.  truth_have adds all frames on the disk of a sink
 * to *ids. */
void truth_issued(const struct process *p, struct ticket t);
void truth_takes(struct process *p, uint64_t id);
bool truth_store(const struct process *p, uint64_t id);
void truth_have(const struct process *p, struct id_set *ids);

/* A process dies, and the frames in its memory are lost. */
void truth_dies(const struct process *p);

/* Checks the rules after each turn of a process. */
void truth_check(struct process *p);

/* A process has ended by itself.  Returns false if another process must replace it. */
bool truth_ended(const struct process *p);

/* Returns true if a process has ended with success.  A process that starts later finds no run. */
bool truth_is_done(void);

/* Checks the rules at the end of the run. */
void truth_judge(void);

/* Returns the number of frames that are durable or were durable once. */
uint64_t truth_count(void);

#endif
