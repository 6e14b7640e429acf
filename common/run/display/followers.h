/* Client programs, which start after a stage (key `after`). */
#ifndef BRAGG_RUN_FOLLOWERS_H
#define BRAGG_RUN_FOLLOWERS_H

#include "run/local/process.h"

/* Returns true if clients can connect to the stage, or all its processes have ended with status 0.
 */
bool followers_may_start(const struct process *processes, size_t count,
                         const struct pipeline_stage *stage);

#endif
