/* The source tells watchers how far the stream is: they ask, and it keeps nothing but where the
 * latest of them are. */
#ifndef BRAGG_CONTROL_STATUS_H
#define BRAGG_CONTROL_STATUS_H

#include "control/stream.h"

/* The answer to one; the last words to all of them. */
void status_answer(struct stream *s, const struct address *from);
void status_end(struct stream *s, enum status status);

#endif
