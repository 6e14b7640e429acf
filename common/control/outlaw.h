/* Who breaks the rules is out, and named. */
#ifndef BRAGG_CONTROL_OUTLAW_H
#define BRAGG_CONTROL_OUTLAW_H

#include "control/stream.h"

/* Takes out who breaks the rules, with the reason, what it did; *p may be gone then. */
void outlaw(struct stream *s, struct peer *p, const char *reason, ...)
    __attribute__((format(printf, 3, 4)));

/* True when one more message is within what is allowed: `burst` at once, then `per_s`. */
bool allowance_use(struct allowance *a, double burst, double per_s, uint64_t now_ns);

/* Says at the end how many there were. */
void outlaw_count(const struct stream *s);

#endif
