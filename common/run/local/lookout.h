/* The watcher of a run: asks its source how far it is, for the bar and for restarts. */
#ifndef BRAGG_RUN_LOOKOUT_H
#define BRAGG_RUN_LOOKOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "control/watch.h"

struct lookout {
    const char *folder;     // borrowed; of the run, where the source will listen ...
    const char *endpoint;   // ... unless it was told to do so there, else NULL; borrowed
    const char *keys;       // folder of its keys, NULL: none; borrowed
    bool connected, ended;  // ended: the source has said so
    struct watch watch;
    uint64_t asked_ns;
};

void lookout_open(struct lookout *l, const char *folder, const char *endpoint, const char *keys);
void lookout_close(struct lookout *l);

/* Asks, unless that was less than `interval_ns` ago. */
void lookout_ask(struct lookout *l, uint64_t interval_ns, uint64_t now_ns);

/* Takes the next answer, without waiting; false when there is none.  Then *r is the caller's to
 * free. */
bool lookout_take(struct lookout *l, struct run_status *r);

/* Waits a moment for an answer. */
void lookout_wait(struct lookout *l, int ms);

#endif
