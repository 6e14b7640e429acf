/* How a process learns which run it is in, and where the source listens. */
#ifndef BRAGG_LINK_LEARN_H
#define BRAGG_LINK_LEARN_H

#include "link/links.h"

/* Takes both over from the stage before, as told through a port; only the first time. */
void learn_run(struct links *ls, uint64_t id, const char *control, const struct port *via);

/* STATUS_USAGE when stages on other hosts, to which frames go, could not reach the source. */
enum status learn_check_control(const struct links *ls, struct error *e);

#endif
