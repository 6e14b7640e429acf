/* Finds the hosts of a run. */
#ifndef BRAGG_RUN_HOSTS_FIND_H
#define BRAGG_RUN_HOSTS_FIND_H

#include "run/hosts/hosts.h"

/* Lists the hosts of `text`, separated by commas, or of the Slurm allocation, and the hosts that
 * stages name.  Multiplies the count of stages with `hosts: each`.  Without a launcher the list is
 * empty, and no stage may name hosts.  Errors are those of hosts.h, launch.h and slurm.h.
 * Call hosts_close afterwards, also after an error. */
enum status hosts_find(struct hosts *h, enum launcher launcher, const char *text,
                       struct pipeline *p, struct error *e);

#endif
