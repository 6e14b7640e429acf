/* What comes through a link. */
#ifndef BRAGG_LINK_RECEIVE_H
#define BRAGG_LINK_RECEIVE_H

#include "link/links.h"

/* Takes some messages that have come to a port; false when there were none. */
bool receive_from(struct links *ls, struct port *port);

enum seen_result { SEEN_NEW, SEEN_SAME, SEEN_DIFFERENT };

/* Notes a frame.  One that is so old that its sum is gone is SEEN_SAME. */
enum seen_result seen_add(struct seen *s, uint64_t id, uint32_t sum);

#endif
