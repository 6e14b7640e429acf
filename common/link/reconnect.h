/*
 * A connection that is cut comes back, and what a damaged message was (a network's) nobody knows.
 * In both cases the link begins anew: who connects does so again and says hello; what was sent and
 * not confirmed is issued again.
 */
#ifndef BRAGG_LINK_RECONNECT_H
#define BRAGG_LINK_RECONNECT_H

#include "link/links.h"

/* Looks who was cut; connects anew. */
void reconnect_check(struct links *ls, uint64_t now_ns);

/* Connects a port; ends this process when that cannot be. */
void reconnect_open(struct links *ls, struct port *port, int64_t part_max, uint64_t now_ns);

/* Drops, as if they had never come, frames that the main thread found damaged. */
void reconnect_forget(struct links *ls);

/* True when the connection of a port was cut, as far as this round looks; ends this process when
 * there is no hope for another one. */
bool reconnect_is_cut(struct links *ls, struct port *port, uint64_t now_ns);

#endif
