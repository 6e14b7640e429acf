/* An *observer* of a run: a process that asks the source for the status of the run. */
#ifndef BRAGG_CONTROL_WATCH_H
#define BRAGG_CONTROL_WATCH_H

#include <stdbool.h>

#include "base/error.h"
#include "link/port.h"

struct watch {
    void *context;  // ZeroMQ context
    struct curve curve;
    struct port port;
};

/* Connects to the control endpoint of a source, whether or not the source is running.  `endpoint`
 * has passed endpoint_parse.  `keys`: folder with the keys of a watcher; NULL: none.  `insecure`:
 * tcp without keys is allowed.  Always call watch_close afterwards, also after an error. */
enum status watch_open(struct watch *w, const char *endpoint, const char *keys, bool insecure,
                       struct error *e);
void watch_close(struct watch *w);

/* Asks the source for the status.  The answer comes later, see watch_receive. */
void watch_ask(struct watch *w);

/* Waits until an answer has come or `fd` (-1: none) has input, for at most `ms` milliseconds. */
void watch_wait(struct watch *w, int fd, int ms);

enum watch_got {
    WATCH_NOTHING,
    WATCH_STATUS,  // *r is the status; the caller frees it
    WATCH_END,     // the run has ended with the status *ended
};

/* Returns true if an attempt to connect has failed because no process accepted the connection;
 * ZeroMQ tries again.  Sets *why to the reason if no connection can be established, for example
 * because the source does not accept the keys; else to NULL. */
bool watch_is_refused(struct watch *w, const char **why);

/* Returns the next answer of the source, without waiting. */
enum watch_got watch_receive(struct watch *w, struct run_status *r, enum status *ended);

#endif
