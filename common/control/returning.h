/*
 * The source: processes of a former run, which begin anew.  The stream does not end before they
 * are back, as they would find nobody who tells them that all is well.  Where no frame was there
 * at the start they come back while frames flow.
 */
#ifndef BRAGG_CONTROL_RETURNING_H
#define BRAGG_CONTROL_RETURNING_H

#include "control/stream.h"

/* Answers a message of another run. */
void returning_tell(struct stream *s, const struct address *from, const struct route *r,
                    const struct message *m);

/* A process has come that may have been told to begin anew. */
void returning_came(struct stream *s, const struct hello *h);

/* True while the end must wait for others that were. */
bool returning_is_awaited(const struct stream *s, uint64_t now_ns);

#endif
