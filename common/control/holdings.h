/* Which frames processes have, as far as their word counts. */
#ifndef BRAGG_CONTROL_HOLDINGS_H
#define BRAGG_CONTROL_HOLDINGS_H

#include "control/stream.h"

/* How many frames of the list were issued. */
uint64_t holdings_issued(struct stream *s);

/* A process that frames can reach acknowledges some of the first `places` ids of the list; it has
 * all that it said to have from the start. */
void holdings_acknowledge(struct stream *s, struct peer *p, struct id_range range, uint64_t places);
void holdings_take_have(struct stream *s, const struct peer *p);

/* Frames can reach a process now: what it said early counts. */
void holdings_take(struct stream *s, struct peer *p);

/* What a process said is forgotten. */
void holdings_forget(struct stream *s, struct peer *p);

/* At the end: says whether a sink has made durable what it acknowledged. */
void holdings_compare(struct stream *s, const struct peer *p, const struct notice *bye);

/* Nobody has what only this one says to have; issues that again, false: there is nothing. */
void holdings_void(struct stream *s, struct peer *p);
bool holdings_begin_again(struct stream *s);

/* Somebody who has frames in its memory may be dead, which its silence will show. */
bool holdings_are_in_doubt(const struct stream *s);

/* Ends the run: there is no memory for what processes have. */
void holdings_no_memory(struct stream *s);

#endif
