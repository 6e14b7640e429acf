/* Neighbours at the other ends of pipes, and who does not come. */
#ifndef BRAGG_LINK_PIPE_H
#define BRAGG_LINK_PIPE_H

#include "link/links.h"

/* stdin can be read. */
void pipe_listen(struct links *ls, uint64_t now_ns);

/* Tells the next stage where to connect, once that is known. */
void pipe_tell(struct links *ls);

/* Ends this process when a neighbour in a pipe has died, or none has come in time. */
void pipe_check(struct links *ls, uint64_t now_ns);

/* The endpoint to which this process connects, up or down, and nobody has bound; NULL for none. */
const char *pipe_unbound(const struct links *ls, bool up);

#endif
