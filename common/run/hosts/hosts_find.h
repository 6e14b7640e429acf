/* Which hosts a run has. */
#ifndef BRAGG_RUN_HOSTS_FIND_H
#define BRAGG_RUN_HOSTS_FIND_H

#include "run/hosts/hosts.h"

/* Those of `text`, parted by commas, or of the allocation of Slurm, and those that stages name; a
 * stage that is to run on each gets its processes.  Without a launcher there are none, and no stage
 * may name any.  Errors as of hosts.h, launch.h and slurm.h.  Always followed by hosts_close. */
enum status hosts_find(struct hosts *h, enum launcher launcher, const char *text,
                       struct pipeline *p, struct error *e);

#endif
