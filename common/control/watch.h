/* A watcher of a running stream: asks its source how far it is. */
#ifndef BRAGG_CONTROL_WATCH_H
#define BRAGG_CONTROL_WATCH_H

#include <stdbool.h>

#include "base/error.h"
#include "link/port.h"

struct watch {
    void *context;  // of ZeroMQ
    struct curve curve;
    struct port port;
};

/* Connects to the control endpoint of a source, good by endpoint_parse, whether or not
 * somebody is there; with the watcher's keys of the folder `keys` (NULL: none), without any by tcp
 * only when it may be `insecure`.
 * Always followed by watch_close. */
enum status watch_open(struct watch *w, const char *endpoint, const char *keys, bool insecure,
                       struct error *e);
void watch_close(struct watch *w);

/* Asks for a status; the answer comes later. */
void watch_ask(struct watch *w);

/* Waits for an answer, for input on `fd` (-1: none), or for `ms` milliseconds. */
void watch_wait(struct watch *w, int fd, int ms);

enum watch_got {
    WATCH_NOTHING,
    WATCH_STATUS,  // *r is filled and the caller's to free
    WATCH_END,     // the run has ended, with *ended
};

/* True once nobody was there to take the connection; it is tried again.  *why becomes other than
 * NULL when there is no hope: the keys are not good. */
bool watch_is_refused(struct watch *w, const char **why);

/* Takes the next answer, without waiting. */
enum watch_got watch_receive(struct watch *w, struct run_status *r, enum status *ended);

#endif
