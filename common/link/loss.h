/*
 * Whether what was sent has arrived.  A message that vanishes on a living link leaves no trace:
 * its sender takes it for under way, so that nobody misses it.  Hence the upper end of a link asks
 * now and then, and the lower one answers in turn, how many experiments and frames have come;
 * links keep the order, so that the difference is lost.
 */
#ifndef BRAGG_LINK_LOSS_H
#define BRAGG_LINK_LOSS_H

#include "link/links.h"

/* Asks, and answers, what is due. */
void loss_pump(struct links *ls, uint64_t now_ns);

/* The lower end has answered. */
void loss_answered(struct links *ls, struct link *l, const struct notice *n);

#endif
