/* A worker that is to leave while the run goes on: it takes what was promised, and no more. */
#ifndef BRAGG_LINK_LEAVE_H
#define BRAGG_LINK_LEAVE_H

#include <signal.h>

#include "link/links.h"

enum { LEAVE_SIGNAL = SIGUSR1 };  // tells a process so

/* Ends the process, all well, once it is told to leave and has no frame, and none comes: what it
 * has credit for has come and was passed on.  For who takes frames and gives some. */
void leave_check(struct links *ls);

#endif
