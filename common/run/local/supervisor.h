/* Runs the processes of a pipeline until all of them have ended. */
#ifndef BRAGG_RUN_SUPERVISOR_H
#define BRAGG_RUN_SUPERVISOR_H

#include <stdbool.h>

#include "run/local/cleanup_guard.h"
#include "run/local/process.h"
#include "run/local/scale.h"
#include "run/pipeline/commands.h"

struct supervisor_settings {
    const struct cleanup_guard *guard;
    struct scale *scale;  // handles --add and --remove
    bool verbose;         // show messages of stages immediately
    bool quiet;           // no progress bar, no warnings of stages

    /* Called with all processes after they have ended, before they are freed.  NULL: not called. */
    void (*ended)(void *owner, const struct process *processes, size_t count);
    void *owner;  // passed to `ended`
};

/* Starts all processes of a run, and returns when all of them have ended.  Restarts processes
 * that died or are frozen, and forwards signals.  After a failure stops all processes; *e then
 * names the process that failed.  Returns the exit status of the run. */
enum status supervise(const struct commands *commands, const struct supervisor_settings *settings,
                      struct error *e);

#endif
