/* Starts processes on other hosts: the end of a launcher on this host.  The other end is remote.h.
 */
#ifndef BRAGG_RUN_LAUNCH_H
#define BRAGG_RUN_LAUNCH_H

#include <stdbool.h>

#include "run/hosts/hosts.h"
#include "run/pipeline/commands.h"

/* The launcher's program is there.  STATUS_USAGE. */
enum status launch_check(enum launcher launcher, struct error *e);

/* In a child: becomes the launcher's program, which runs bragg-run --remote on that host, with a
 * share of it where Slurm gives that (NULL: all); returns after an error. */
void launch_exec(const struct hosts *hosts, const struct host *host, const struct share *share);

/* What the other end is told, through a pipe to its stdin. */
struct launch_orders {
    const char *killed;  // the file of those killed from outside
    bool terminal;       // lines for people are shown as they come
    bool again;          // it was started before
};
/* STATUS_OK, too, when that end has ended already: it has said why. */
enum status launch_tell(int pipe, const struct command *c, const struct launch_orders *o,
                        struct error *e);

/* One item, "NAME VALUE"; false when it could not be told. */
bool launch_say(int pipe, const char *name, const char *value);

/* How a process ended that has told `code` at its end, as waitpid tells; without that, below 0, the
 * connection to its host broke. */
int launch_status(int code);

#endif
