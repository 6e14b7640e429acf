/* Checks all hosts before a run begins. */
#ifndef BRAGG_RUN_HOSTS_CHECK_H
#define BRAGG_RUN_HOSTS_CHECK_H

#include "run/hosts/hosts.h"

/* Asks all hosts at the same time.  Each host must be reachable, have this version of all programs,
 * and see `folder`, in which a file is made for this test.  Stores the addresses of the hosts, and
 * as many free ports as their processes bind.
 * SIGINT, SIGTERM and SIGHUP are caught meanwhile, so that the caller can remove what it made.
 * STATUS_INTERRUPTED: after SIGINT.  STATUS_FAILED: after SIGTERM or SIGHUP, or if a host does not
 * meet this; the error names the first such host. */
enum status hosts_check(struct hosts *h, const struct pipeline *p, const char *folder,
                        struct error *e);

#endif
