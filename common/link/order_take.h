/* A process that takes frames in the order of the source's list (order.h). */
#ifndef BRAGG_LINK_ORDER_TAKE_H
#define BRAGG_LINK_ORDER_TAKE_H

#include "link/links.h"

/* What the source says is to come. */
void order_listen(struct links *ls, const struct notice *n);

/* An id that is not to be waited for. */
void order_skip(struct links *ls, uint64_t id);

/* A frame, which is held: takes ownership. */
void order_receive(struct links *ls, struct item *item);

#endif
