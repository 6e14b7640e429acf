/* What comes through a link. */
#ifndef BRAGG_LINK_RECEIVE_H
#define BRAGG_LINK_RECEIVE_H

#include "link/links.h"

/* Takes some messages that have come to a port; false when there were none. */
bool receive_from(struct links *ls, struct port *port);

#endif
