/* Deaths of other processes: who is silent or stands still, and whether the run waits for one in
 * their place. */
#ifndef BRAGG_CONTROL_RECOVER_H
#define BRAGG_CONTROL_RECOVER_H

#include "control/stream.h"

/* A heartbeat has come. */
void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns);

/* Takes out who is silent or stands still. */
void recover_check(struct stream *s, uint64_t now_ns);

/* True when frames may be issued; else the run waits for a process that replaces a dead one. */
bool recover_is_whole(struct stream *s, uint64_t now_ns);

#endif
