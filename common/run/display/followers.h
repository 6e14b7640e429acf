/* Programs of others, which follow a stage. */
#ifndef BRAGG_RUN_FOLLOWERS_H
#define BRAGG_RUN_FOLLOWERS_H

#include "run/local/process.h"

/* Clients may connect to a stage, or it has done its work. */
bool followers_may_start(const struct process *processes, size_t count,
                         const struct pipeline_stage *stage);

#endif
