/* What the I/O thread does between two waits, without waiting: it knows sockets, signals and pipes
 * only by what others say of them. */
#ifndef BRAGG_STAGE_TURN_H
#define BRAGG_STAGE_TURN_H

#include "stage/runtime.h"

/* Takes messages from the sockets that may have some (`stirred`); false when there were none:
 * only then do their descriptors tell of the next one. */
bool turn_receive(struct runtime *rt);

/* The turn of the links and of the source or the member at `now_ns` (of clock_ns), then of what
 * came meanwhile: true when something did.  May end the run, see run.stopping. */
bool turn_take(struct runtime *rt, uint64_t now_ns);

/* How long to wait for something to happen until the next turn, in ms: while a sink acknowledges
 * more may be due soon. */
int turn_wait_ms(const struct runtime *rt, uint64_t now_ns);

/* By the main thread, which has given something: while the I/O thread only waits it takes that
 * one's part, so that what it gave leaves at once and nobody is woken; false: that must be. */
bool turn_lend(void *runtime);

/* After the last turn: the last words to all who are to hear some. */
void turn_say_goodbye(struct runtime *rt);

#endif
