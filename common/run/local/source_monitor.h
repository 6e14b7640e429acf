/* Observes a run: asks its source for the status, for the progress bar and for restarts. */
#ifndef BRAGG_RUN_SOURCE_MONITOR_H
#define BRAGG_RUN_SOURCE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "control/watch.h"

struct lookout {
    const char *folder;     // borrowed; private folder, where the source listens by default
    const char *endpoint;   // borrowed; --control of the source; NULL: not given
    const char *keys;       // borrowed; folder of its keys; NULL: none
    bool connected, ended;  // ended: the source has reported the end of the run
    struct watch watch;
    uint64_t asked_ns;  // time of the latest request
};

void lookout_open(struct lookout *l, const char *folder, const char *endpoint, const char *keys);
void lookout_close(struct lookout *l);

/* Requests the status, unless the latest request is less than `interval_ns` old. */
void lookout_ask(struct lookout *l, uint64_t interval_ns, uint64_t now_ns);

/* Takes the next answer without waiting.  If it returns true, the caller frees *r with
 * run_status_free. */
bool lookout_take(struct lookout *l, struct run_status *r);

/* Waits up to `ms` milliseconds for an answer. */
void lookout_wait(struct lookout *l, int ms);

#endif
