/* What the source says to one process, or to all of them. */
#ifndef BRAGG_CONTROL_PEER_H
#define BRAGG_CONTROL_PEER_H

#include "control/stream.h"

/* To one that has not said bye and is not out; NULL: to all such. */
void peer_send(struct stream *s, struct peer *p, enum message_type type, struct notice *n);

/* Tells one, or all, how long the stream is and who must have every frame. */
void peer_welcome(struct stream *s, struct peer *p);

/* With which status the stream ends as it is; tells one that all is durable. */
enum status peer_end_status(const struct stream *s);
void peer_send_free(struct stream *s, struct peer *p);

#endif
