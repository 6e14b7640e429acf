/* What hosts must have before a run begins. */
#ifndef BRAGG_RUN_HOSTS_CHECK_H
#define BRAGG_RUN_HOSTS_CHECK_H

#include "run/hosts/hosts.h"

/* Asks all hosts at once: they must be reached, have these programs in this version, and see
 * `folder`, in which a file is made for that.  Fills in their addresses and free ports, as many as
 * the processes on them bind.  STATUS_FAILED with the name of the first of which that is not so.
 * SIGINT, SIGTERM and SIGHUP are caught meanwhile: STATUS_INTERRUPTED after the first of them,
 * STATUS_FAILED after the others, so that the caller can remove what it made. */
enum status hosts_check(struct hosts *h, const struct pipeline *p, const char *folder,
                        struct error *e);

#endif
