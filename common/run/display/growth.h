/* Processes that join a run, or leave it in peace, when its user asks for that (wish.h). */
#ifndef BRAGG_RUN_GROWTH_H
#define BRAGG_RUN_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "run/local/restart.h"
#include "run/pipeline/commands.h"

struct growth {
    struct pipeline *pipeline;  // borrowed, all three
    struct commands *commands;
    const struct command_settings *settings;  // by which those were made
    uint64_t looked_ns;                       // for wishes
};

/* Does what was asked for since, and answers; new processes stand behind the others, to be started.
 * `ending`: nothing is started any more. */
void growth_turn(struct growth *g, struct restarts *r, bool ending, uint64_t now_ns);

#endif
