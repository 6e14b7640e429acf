/* How links begin and end well: hellos, what they tell of the run, byes. */
#ifndef BRAGG_LINK_HELLO_H
#define BRAGG_LINK_HELLO_H

#include "link/links.h"

/* One has come. */
void hello_hear(struct links *ls, struct port *port, const struct address *from,
                const struct route *r, const struct message *m);

/* Says those that are due. */
void hello_say(struct links *ls, uint64_t now_ns);

/* Takes over from the stage before, as told through a port, which run this is and where the source
 * listens; only the first time. */
void hello_learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via);

/* STATUS_USAGE when stages on other hosts, to which frames go, could not reach the source. */
enum status hello_check_control(const struct links *ls, struct error *e);

/* Says bye to all neighbours. */
void bye_say(struct links *ls, enum status status);

/* True in who gives an experiment and nothing else, once all have it who want it. */
bool bye_is_due(const struct links *ls);

/* Ends a worker that was told to leave while the run goes on, all well, once it has no frame, and
 * none comes: what it has credit for has come and was passed on. */
void bye_leave(struct links *ls);

#endif
