/* Who takes part in the stream, and what they say to the source. */
#ifndef BRAGG_CONTROL_PEERS_H
#define BRAGG_CONTROL_PEERS_H

#include "control/stream.h"

/* Takes some messages that have come; false when there were none. */
bool peers_receive(struct stream *s);

#endif
