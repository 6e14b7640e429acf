/* Takes down what the two threads share. */
#ifndef BRAGG_STAGE_CLOSE_H
#define BRAGG_STAGE_CLOSE_H

#include "stage/runtime.h"

/* The I/O thread: sockets, their files, the folder. */
void runtime_disconnect(struct runtime *rt);

/* The main thread, which is done: waits for the other one, and frees the rest. */
void runtime_close(struct runtime *rt);

#endif
