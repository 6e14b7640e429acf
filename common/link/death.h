/*
 * Neighbours that die, how a link to them ends, and what is lost on one that lives.
 *
 * A message that vanishes on a living link leaves no trace: its sender takes it for under way, so
 * that nobody misses it.  Hence the upper end of a link asks now and then, and the lower one
 * answers in turn, how many experiments and frames have come; links keep the order, so that the
 * difference is lost.
 */
#ifndef BRAGG_LINK_DEATH_H
#define BRAGG_LINK_DEATH_H

#include "link/links.h"

/* Who vanished without a bye. */
void death_check(struct links *ls, uint64_t now_ns);

/* A process is out: ends all links to it, for ever. */
void death_bury(struct links *ls, const char *uuid);
bool death_is_known(struct links *ls, const char *uuid);

/* Ends a link and frees it; what was sent there is lost, with the process when that died. */
void link_drop(struct links *ls, struct link *l, bool died);

/* Asks, and answers, what is due; the lower end has answered. */
void loss_pump(struct links *ls, uint64_t now_ns);
void loss_answered(struct links *ls, struct link *l, const struct notice *n);

#endif
