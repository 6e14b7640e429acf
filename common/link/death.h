/* Neighbours that die, and how a link to them ends. */
#ifndef BRAGG_LINK_DEATH_H
#define BRAGG_LINK_DEATH_H

#include "link/links.h"

/* Who vanished without a bye. */
void death_check(struct links *ls, uint64_t now_ns);

/* A process is out: ends all links to it, for ever. */
void death_bury(struct links *ls, const char *uuid);
bool death_is_known(const struct links *ls, const char *uuid);

/* True when the other end is to give the experiment, and has not. */
bool death_lacks_experiment(const struct links *ls, const struct link *l);

/* Ends a link and frees it; what was sent there is lost, with the process when that died. */
void link_drop(struct links *ls, struct link *l, bool died);

#endif
