/* Processes that are taken out of the run, also because they break its rules. */
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

/* Takes out who breaks the rules, with the reason, what it did, and names it; *p may be gone then.
 */
void outlaw(struct stream *s, struct peer *p, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* Says at the end how many there were. */
void outlaw_count(const struct stream *s);

/* One that is out; NULL when that was long ago or never. */
const struct fenced *fence_find(const struct stream *s, const char *uuid);

#endif
