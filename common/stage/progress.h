/* The line on a terminal that says how far a sink is. */
#ifndef BRAGG_STAGE_PROGRESS_H
#define BRAGG_STAGE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "stage/exchange.h"

struct progress {
    bool on, shown;
    uint64_t start_ns, last_ns;
};

/* Shows nothing at all unless `wanted` and stderr is a terminal. */
void progress_open(struct progress *p, bool wanted);

/* After a frame; rewrites the line a few times a second. */
void progress_show(struct progress *p, uint64_t frames, struct exchange *x);

/* Ends the line. */
void progress_end(struct progress *p);

#endif
