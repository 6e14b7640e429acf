/* What a process sends that is no frame. */
#ifndef BRAGG_LINK_SEND_H
#define BRAGG_LINK_SEND_H

#include "link/links.h"

/* Seals part 0 of *m and sends it, unless `s` says that making it failed; frees it.  False when
 * nothing was sent. */
bool send_message(const struct run *run, struct port *port, const struct address *to,
                  enum message_type type, struct message *m, enum status s);

/* Likewise what has no payload: says who this process is, to the source with its neighbours; a
 * notice, which stays the caller's. */
bool send_hello(struct links *ls, struct port *port, const struct address *to);
bool send_notice(const struct run *run, struct port *port, const struct address *to,
                 enum message_type type, struct notice *n);

/* Makes *m a notice that port_send takes, for any number of peers; freed by message_free, also
 * after an error. */
bool send_make_notice(const struct run *run, enum message_type type, struct notice *n,
                      struct message *m);

#endif
