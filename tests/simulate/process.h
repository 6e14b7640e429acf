/* The processes of the simulation: their start, their turns and their end. */
#ifndef BRAGG_SIMULATE_PROCESS_H
#define BRAGG_SIMULATE_PROCESS_H

#include "world.h"

/* Numbers of ports: those of the source, and the first one of the sinks.  process_port returns the
 * number of the i-th port of all, and process_endpoint writes the endpoint of a number. */
enum { SOURCE_PORT = 1, CONTROL_PORT = 2, SINK_PORT = 10 };
unsigned process_port(unsigned i);
void process_endpoint(char endpoint[ENDPOINT_SIZE], unsigned number);

/* Starts another process in a slot. */
void process_start(struct process *p);

/* Schedules the next turn of its I/O thread soon, because there is something to do. */
void process_wake(struct process *p);

/* Executes a turn of its I/O thread. */
void process_turn(struct process *p);

/* Ends a process without a message. */
void process_kill(struct process *p);

/* Freezes a process until a time. */
void process_freeze(struct process *p, uint64_t until_ns);

/* Frees the memory of a process that still lives at the end of the run. */
void process_clear(struct process *p);

#endif
