/* Starts processes on other hosts through ssh or srun.  The other end is remote.h. */
#ifndef BRAGG_RUN_LAUNCH_H
#define BRAGG_RUN_LAUNCH_H

#include <stdbool.h>

#include "run/hosts/hosts.h"
#include "run/pipeline/commands.h"

/* Checks that the program of the launcher is in PATH.  STATUS_USAGE: it is not. */
enum status launch_check(enum launcher launcher, struct error *e);

/* In a child process: executes the program of the launcher, which runs bragg-run --remote on that
 * host.  `affinity` is passed to srun (NULL: the whole host).  Returns only after an error. */
void launch_exec(const struct hosts *hosts, const struct host *host,
                 const struct affinity *affinity);

/* Further settings for the other end, sent through a pipe to its stdin. */
struct launch_orders {
    const char *killed;  // file that lists processes killed from outside
    bool terminal;       // a bar is shown: sets BRAGG_TERMINAL
    bool again;          // it is a restart: sets BRAGG_AGAIN
};
/* Sends the command line and environment of a process.  If the other end has ended already, returns
 * STATUS_OK, because that end has printed the reason. */
enum status launch_tell(int pipe, const struct command *c, const struct launch_orders *o,
                        struct error *e);

/* Sends one item, "NAME VALUE".  Returns false if it could not be sent. */
bool launch_say(int pipe, const char *name, const char *value);

/* Converts the exit code that the other end reported into a status as from waitpid.  A code below 0
 * means that the connection broke. */
int launch_status(int code);

#endif
