/*
 * Which links hold frames up until they take them.  A last stage in a group that nobody asked for
 * gets what its credit allows, and no more.  One that only watches is waited for as long as it
 * takes frames at all.
 */
#ifndef BRAGG_LINK_WAITED_H
#define BRAGG_LINK_WAITED_H

#include "link/links.h"

/* The groups that the source waits for; none: nothing new. */
void waited_learn(struct links *ls, const struct group_name *groups, size_t ngroups);

/* A hello has come through a link: whether its group is one of them. */
void waited_mark(struct links *ls, struct link *l);

/* True while frames wait for a link that has no credit. */
bool waited_is(const struct links *ls, struct link *l);

/* True for a last stage that nobody needs. */
bool waited_may_leave(const struct link *l);

#endif
