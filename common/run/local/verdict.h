/* Decides how a run ended, and which process caused a failure. */
#ifndef BRAGG_RUN_VERDICT_H
#define BRAGG_RUN_VERDICT_H

#include "run/local/restart.h"
#include "run/local/supervisor.h"

struct ending {
    const struct restarts *restarts;  // with the processes, all of which have ended
    const struct supervisor_settings *settings;
    unsigned interrupts;             // number of Ctrl-C
    int ended_by;                    // SIGTERM or SIGHUP; 0: neither
    uint64_t asked_ns;               // time of the first of these signals; 0: none
    const struct process *deserter;  // ended with status 0 before all frames were acknowledged
    bool complete;                   // all sinks that the run waits for ended with status 0
    uint64_t complete_ns;            // time of that
};

/* Returns the first process whose output no stage reads; NULL: none. */
const struct process *verdict_unheard(const struct restarts *r);

/* Prints the messages of the process that caused a failure, or the warnings of all processes if
 * there was none.  Returns the exit status of the run; *e is the last line on the screen. */
enum status verdict(const struct ending *end, struct error *e);

#endif
