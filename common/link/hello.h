/* Hellos of neighbours, and how a link begins. */
#ifndef BRAGG_LINK_HELLO_H
#define BRAGG_LINK_HELLO_H

#include "link/links.h"

/* One has come. */
void hello_hear(struct links *ls, struct port *port, const struct address *from,
                const struct route *r, const struct message *m);

/* Says those that are due. */
void hello_say(struct links *ls, uint64_t now_ns);

#endif
