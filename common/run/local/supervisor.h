/* Runs the processes of a pipeline and sees to it that all of them end. */
#ifndef BRAGG_RUN_SUPERVISOR_H
#define BRAGG_RUN_SUPERVISOR_H

#include <stdbool.h>

#include "run/display/growth.h"
#include "run/local/keeper.h"
#include "run/local/process.h"
#include "run/pipeline/commands.h"

struct supervisor_settings {
    const struct keeper *keeper;
    struct growth *growth;  // how processes join and leave
    bool verbose;           // show what stages say as it comes
    bool quiet;             // no progress bar, no warnings of stages

    /* Gets all processes once they have ended, before they are forgotten; NULL: nobody wants to
     * know. */
    void (*ended)(void *owner, const struct process *processes, size_t count);
    void *owner;
};

/* Starts all, restarts those that died or are frozen and may be, forwards signals, stops all
 * after a failure and says whose it was.  Returns the exit status. */
enum status supervise(const struct commands *commands, const struct supervisor_settings *settings,
                      struct error *e);

#endif
