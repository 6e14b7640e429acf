/* What processes say of frames counts when those were issued and can reach them; who says it of
 * others is out.  What one said before that was known is taken then, or held against it. */
#ifndef BRAGG_CONTROL_CLAIMS_H
#define BRAGG_CONTROL_CLAIMS_H

#include "control/stream.h"

/* A message of frames; *p may be gone then. */
void claims_hear(struct stream *s, struct peer *p, enum message_type type, const struct notice *n);

/* Takes a process out that waited for too long to be reached; *p may be gone then. */
void claims_check(struct stream *s, struct peer *p, uint64_t now_ns);

#endif
