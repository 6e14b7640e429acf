/* The sticky experiment and frames down, as credit allows; credit up. */
#ifndef BRAGG_LINK_CREDIT_H
#define BRAGG_LINK_CREDIT_H

#include "link/links.h"

/* Sends frames as credit allows, returns credit; `view` as the exchange is now. */
void credit_move(struct links *ls, const struct exchange_view *view, uint64_t now_ns);

/* Likewise, and the experiment to who has not got it. */
void credit_pump(struct links *ls, const struct exchange_view *view, uint64_t now_ns);

/* A frame is done with here: its credit may return.  Likewise, but it stays here. */
void credit_passed(struct links *ls, uint64_t id);
void credit_release(struct links *ls, uint64_t id);

/* Ids in this process or, perhaps, on their way to the next; freed by id_set_clear. */
struct id_set credit_ids(const struct links *ls);

#endif
