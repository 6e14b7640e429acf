/* The end of a ZeroMQ context. */
#ifndef BRAGG_GATEWAY_CONTEXT_H
#define BRAGG_GATEWAY_CONTEXT_H

#include <stdbool.h>

/*
 * Ends a context whose sockets are closed; NULL is allowed.  Waits `patience_s` at most: libzmq
 * 4.3.4 sometimes waits for ever for a socket whose connections broke while messages were on their
 * way.  False then: its threads, and what messages lie in, must stay until the process ends.
 */
bool context_end(void *context, double patience_s);

#endif
