/* How a run ended, and whose fault that was. */
#ifndef BRAGG_RUN_VERDICT_H
#define BRAGG_RUN_VERDICT_H

#include "run/local/restart.h"
#include "run/local/supervisor.h"

struct ending {
    const struct restarts *restarts;  // and the processes, none of which runs any more
    const struct supervisor_settings *settings;
    unsigned interrupts;             // Ctrl-C
    int ended_by;                    // SIGTERM or SIGHUP, 0 for none
    uint64_t asked_ns;               // when the first of these signals came, 0: none did
    const struct process *deserter;  // it ended with status 0 before all frames were acknowledged
    bool complete;                   // all last stages ended well ...
    uint64_t complete_ns;            // ... then
};

/* The first stage that gives what no other takes; NULL when there is none. */
const struct process *verdict_unheard(const struct restarts *r);

/* Shows the last words of who is to blame, or what all said when nobody is, and returns the exit
 * status of the run; *e is the cause. */
enum status verdict(const struct ending *end, struct error *e);

#endif
