/* Processes: how they begin, live and end. */
#ifndef BRAGG_SIMULATE_PROCESS_H
#define BRAGG_SIMULATE_PROCESS_H

#include "world.h"

/* Ports have numbers: the source's, the last stages', the i-th of all; and endpoints. */
enum { SOURCE_PORT = 1, CONTROL_PORT = 2, SINK_PORT = 10 };
unsigned process_port(unsigned i);
void process_endpoint(char endpoint[ENDPOINT_SIZE], unsigned number);

/* Another process begins in a slot. */
void process_start(struct process *p);

/* Something came for its I/O thread: its next turn is soon. */
void process_wake(struct process *p);

/* Its I/O thread has its turn. */
void process_turn(struct process *p);

/* Ends without a word. */
void process_kill(struct process *p);

/* Stands still until then. */
void process_freeze(struct process *p, uint64_t until_ns);

/* Frees what a process has that still lives at the end of the story. */
void process_clear(struct process *p);

#endif
