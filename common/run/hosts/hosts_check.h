/* Checks all hosts before a run begins. */
#ifndef BRAGG_RUN_HOSTS_CHECK_H
#define BRAGG_RUN_HOSTS_CHECK_H

#include "run/hosts/hosts.h"

/* Asks all hosts at the same time.  Each host must be reachable, have this version of all programs,
 * and see `folder`, in which a file is made for this test.  Stores the addresses of the hosts, and
 * as many free ports as their processes bind.
 * STATUS_FAILED: a host does not meet this; the error names the first one. */
enum status hosts_check(struct hosts *h, const struct pipeline *p, const char *folder,
                        struct error *e);

#endif
