/* The messages that wait for clients: a ring of frames, one packet that leaves before all frames,
 * and one packet that leaves after them.  The caller locks. */
#ifndef BRAGG_GATEWAY_BACKLOG_H
#define BRAGG_GATEWAY_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/client_socket.h"

struct backlog {
    struct packet *ring;  // owned, `room` of them
    size_t room, first, count;
    struct packet opening, closing;  // owned; a packet without parts means none
};

/* Opens an empty backlog with room for `room` frames.  Returns false when memory is out.  The
 * caller frees the backlog with backlog_free, also after a failure. */
bool backlog_open(struct backlog *b, size_t room);

/* Takes ownership of a frame.  The ring must have room for it. */
void backlog_push(struct backlog *b, const struct packet *p);

/* Frees the oldest frame and removes it.  There must be one. */
void backlog_drop_first(struct backlog *b);

/* Returns the frame that leaves next, which the backlog owns.  There must be one. */
const struct packet *backlog_next_frame(const struct backlog *b);

/* Counts the parts of all packets in the backlog. */
size_t backlog_parts(const struct backlog *b);

/* Returns the packet that leaves next, which the backlog owns: the opening, then the frames, then
 * the closing.  NULL if the backlog is empty. */
struct packet *backlog_next(struct backlog *b);

/* Whether a packet that backlog_next returned is a frame. */
bool backlog_is_frame(const struct backlog *b, const struct packet *p);

/* Frees and removes the packet that backlog_next returned. */
void backlog_pass(struct backlog *b, struct packet *p);

/* Frees all packets and the ring. */
void backlog_free(struct backlog *b);

#endif
