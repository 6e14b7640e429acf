/* Frames that are lost on their way: issued again, or given up. */
#ifndef BRAGG_CONTROL_LOST_H
#define BRAGG_CONTROL_LOST_H

#include "control/stream.h"

/* Frames, in the order in which they were sent, were at a process `uuid` and got lost: with that,
 * at work on the first of them when it died, or with a connection. */
void lost_hear(struct stream *s, const char *uuid, bool died, const struct id_range *ids,
               size_t nids);

/* Takes over the facts that the source's own links have left: what has passed, what is lost. */
void lost_collect(struct stream *s);

/* Issues again what nobody lists. */
void lost_unlisted(struct stream *s, uint64_t now_ns);

#endif
