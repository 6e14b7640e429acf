/* Observes a run: asks its source for the status, for the progress bar and for restarts. */
#ifndef BRAGG_RUN_SOURCE_MONITOR_H
#define BRAGG_RUN_SOURCE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "control/watch.h"

struct source_monitor {
    const char *folder;     // borrowed; private folder, where the source listens by default
    const char *endpoint;   // borrowed; --control of the source; NULL: not given
    const char *keys;       // borrowed; folder of its keys; NULL: none
    bool connected, ended;  // ended: the source has reported the end of the run
    struct watch watch;
    uint64_t asked_ns;  // time of the latest request
};

void source_monitor_open(struct source_monitor *l, const char *folder, const char *endpoint,
                         const char *keys);
void source_monitor_close(struct source_monitor *l);

/* Requests the status, unless the latest request is less than `interval_ns` old. */
void source_monitor_ask(struct source_monitor *l, uint64_t interval_ns, uint64_t now_ns);

/* Takes the next answer without waiting.  If it returns true, the caller frees *r with
 * run_status_free. */
bool source_monitor_take(struct source_monitor *l, struct run_status *r);

/* Waits up to `ms` milliseconds for an answer. */
void source_monitor_wait(struct source_monitor *l, int ms);

#endif
