/* The source: what it hears (peers.c), window, total, the end. */
#ifndef BRAGG_CONTROL_SOURCE_H
#define BRAGG_CONTROL_SOURCE_H

#include "control/stream.h"

/* That of a run, whose settings are known; NULL after an error.  Freed by source_close, which
 * takes NULL, too. */
struct stream *source_open(struct run *run, struct links *links, struct error *e);
void source_close(struct stream *s);

/* Its turn: collects facts, looks who died, issues frames, ends the stream. */
void source_pump(struct stream *s, const struct exchange_view *view, uint64_t now_ns);

/* Takes some messages that have come from other processes; false when there were none. */
bool peers_receive(struct stream *s);

/* The first Ctrl-C: nothing more is issued. */
void source_interrupt(struct stream *s);

/* The last words to all when the run ends before the stream does. */
void source_say_end(struct stream *s, enum status status);

#endif
