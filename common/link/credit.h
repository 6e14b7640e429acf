/*
 * The sticky experiment and frames down, as credit allows; credit up.
 *
 * A last stage in a group that nobody asked for gets what its credit allows, and nobody waits for
 * it.  One that only watches is waited for as long as it takes frames at all.
 */
#ifndef BRAGG_LINK_CREDIT_H
#define BRAGG_LINK_CREDIT_H

#include "link/links.h"

/* The experiment to who has not got it; says who takes no frames. */
void credit_look(struct links *ls, uint64_t now_ns);

/* Sends frames as credit allows, returns credit; `view` as the exchange is now. */
void credit_pump(struct links *ls, const struct exchange_view *view, uint64_t now_ns);

/* A frame is done with here: its credit may return.  Likewise, but it stays here. */
void credit_passed(struct links *ls, uint64_t id);
void credit_release(struct links *ls, uint64_t id);

/* Ids in this process or, perhaps, on their way to the next; freed by id_set_clear. */
struct id_set credit_ids(const struct links *ls);

/* The groups that the source waits for; none: nothing new. */
void credit_await(struct links *ls, const struct group_name *groups, size_t ngroups);

/* A hello has come through a link: whether its group is one of them. */
void credit_mark(struct links *ls, struct link *l);

/* True for a last stage that nobody needs. */
bool credit_spares(const struct link *l);

#endif
