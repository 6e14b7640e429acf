/* Processes that are taken out of the run. */
#ifndef BRAGG_CONTROL_FENCE_H
#define BRAGG_CONTROL_FENCE_H

#include "control/stream.h"

/* `how` of one that stands still: the frame at hand is to blame. */
extern const char fence_still[];

/* Takes a process out: tells it, should it still live, and everybody else, why.  `how` ends a line
 * on it; *p is gone then. */
void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason);

/* Likewise one that others name as their neighbour, and that never spoke to the source. */
void fence_unheard(struct stream *s, const char *uuid);

/* One that was; NULL when that was long ago or never. */
const struct fenced *fence_find(const struct stream *s, const char *uuid);

#endif
