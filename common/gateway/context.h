/* The end of a ZeroMQ context. */
#ifndef BRAGG_GATEWAY_CONTEXT_H
#define BRAGG_GATEWAY_CONTEXT_H

#include <stdbool.h>

/*
 * Ends a context whose sockets are closed.  NULL is allowed.  The function waits `patience_s` at
 * most, because libzmq 4.3.4 sometimes waits forever for a socket whose connections broke while
 * messages were on their way.  After that time the function returns false.  The threads of the
 * context may then still use its messages, so the caller must not free them.
 */
bool context_end(void *context, double patience_s);

#endif
