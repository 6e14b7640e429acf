/* What waits for clients: frames in a ring, one packet before all of them and one behind.  Not
 * locked. */
#ifndef BRAGG_GATEWAY_BACKLOG_H
#define BRAGG_GATEWAY_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/outlet.h"

struct backlog {
    struct packet *ring;  // owned, `room` of them
    size_t room, first, count;
    struct packet opening, closing;  // owned; no parts: none
};

/* Room for so many frames; false when memory is out.  Followed by backlog_free. */
bool backlog_open(struct backlog *b, size_t room);

/* Takes a frame over, for which there is room. */
void backlog_push(struct backlog *b, const struct packet *p);

void backlog_drop_first(struct backlog *b);

/* The frame that leaves next; there must be one. */
const struct packet *backlog_next_frame(const struct backlog *b);

/* Parts of all that is there. */
size_t backlog_parts(const struct backlog *b);

/* What leaves next: the opening, frames, the closing; NULL: nothing is there. */
struct packet *backlog_next(struct backlog *b);

/* Whether what backlog_next gave is one of the frames. */
bool backlog_is_frame(const struct backlog *b, const struct packet *p);

/* What backlog_next gave is dealt with: removes it. */
void backlog_pass(struct backlog *b, struct packet *p);

void backlog_free(struct backlog *b);

#endif
