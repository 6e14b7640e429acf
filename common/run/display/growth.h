/* Adds processes to a run, or removes processes from it, at the request of its user (wish.h). */
#ifndef BRAGG_RUN_GROWTH_H
#define BRAGG_RUN_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "run/local/restart.h"
#include "run/pipeline/commands.h"

struct growth {
    struct pipeline *pipeline;                // borrowed
    struct commands *commands;                // borrowed
    const struct command_settings *settings;  // borrowed; the commands were made with these
    uint64_t looked_ns;                       // time of the latest search for requests
};

/* Executes and answers new requests.  New processes are appended to the list, to be started.
 * `ending`: the run is ending, so requests are refused. */
void growth_turn(struct growth *g, struct restarts *r, bool ending, uint64_t now_ns);

#endif
