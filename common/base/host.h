/* What this host is called. */
#ifndef BRAGG_BASE_HOST_H
#define BRAGG_BASE_HOST_H

enum { HOST_SIZE = 65 };

/* The name that the system has for it, never "", without blanks and what steers a terminal: with
 * the number of a process it names that process among those of several hosts.  Lasts until the
 * process ends. */
const char *host_name(void);

#endif
