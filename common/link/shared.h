/* Frames whose pixels stay where they are, in shared memory. */
#ifndef BRAGG_LINK_SHARED_H
#define BRAGG_LINK_SHARED_H

#include "link/links.h"

/* Tells the other end where our pool is; maps the other end's. */
void shared_announce(struct links *ls, struct link *l);
void shared_meet(struct links *ls, struct link *l, const struct notice *n);

/* Puts the pixels in place of their descriptor; STATUS_INPUT when there are none. */
enum status shared_fetch(struct link *l, struct message *m, struct error *e);

/* Completes an item with what is sent to those who map the pool: nothing if its pixels are not
 * there. */
enum status shared_describe(const struct pool *pool, struct item *item, struct error *e);

/* Tells the other end, with credit, what of its images this process can read in their place. */
void shared_tell(struct links *ls, struct link *l, struct notice *n);

/* Looks whether all who get images of this process read them on its card. */
void shared_look(struct links *ls);

/* Sends a frame with its pixels, with packed ones or without.  Returns its bytes, those in shared
 * memory among them; 0 when the other end cannot be reached. */
size_t shared_send(struct links *ls, struct link *l, struct item *item);

/* Credit has come, with slots and what the other end can read. */
void shared_credit(struct links *ls, struct link *l, const struct notice *n);

/* The other end reads these slots, by bits, no more. */
void shared_release(struct links *ls, struct link *l, uint64_t slots);

/* A process that lives has come back through another connection: what it reads of our pool, and
 * we of its, stays so. */
void shared_inherit(struct links *ls, struct link *l, struct link *former);

#endif
