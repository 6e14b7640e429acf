/*
 * Frames in the order of the source's list, for a process that asked for it.
 *
 * The source tells which ids are still to come; a frame is handed on when none of those
 * below it has yet to arrive.  Until then it waits here, its credit already returned: what
 * it waits for may need that credit to get through.  All that wait are in the window of the
 * source, so that there are never more than its size less one.
 */
#ifndef BRAGG_LINK_ORDER_H
#define BRAGG_LINK_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "link/exchange.h"

struct links;
struct notice;

struct order {
    uint64_t until;         // of the ids below, all that are to come are known
    struct id_set awaited;  // those which have not arrived
    struct id_set arrived;  // what arrived, as far as it may be told of again
    struct item *head;      // frames that wait, ascending
};

/* What the source says: ids still to come, and that below `until` there are no others.
 * False when memory is out. */
bool order_told(struct order *o, const struct id_range *to_come, size_t n, uint64_t until);

/* An id has arrived; its frame need not follow. */
bool order_arrived(struct order *o, uint64_t id);

/* The frame of this id if it waits, else NULL; it stays here. */
struct item *order_find(const struct order *o, uint64_t id);

/* Takes a frame over, whose id has arrived. */
void order_put(struct order *o, struct item *item);

/* The next frame if it may be handed on, else NULL; it becomes the caller's. */
struct item *order_take(struct order *o);

void order_close(struct order *o);

/* In a process that takes frames in this order: what the source says is to come; an id that is not
 * to be waited for; a frame, which is held, and becomes the callee's. */
void order_listen(struct links *ls, const struct notice *n);
void order_skip(struct links *ls, uint64_t id);
void order_receive(struct links *ls, struct item *item);

#endif
