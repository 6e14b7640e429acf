/* Sets up what the two threads share. */
#ifndef BRAGG_STAGE_OPEN_H
#define BRAGG_STAGE_OPEN_H

#include "stage/runtime.h"

/* After everything else is checked and open: sockets, signals, the I/O thread.  Followed by
 * runtime_close also after an error. */
enum status runtime_open(struct runtime *rt, struct error *e);

#endif
