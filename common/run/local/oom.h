/* Detects that the system killed a process for lack of memory, with the counters of the control
 * group. */
#ifndef BRAGG_RUN_OOM_H
#define BRAGG_RUN_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct oom {
    char path[PATH_MAX];  // file with a line "oom_kill N"; "": none
    uint64_t seen;        // number of these kills that were reported already
};

/* Finds the control group of memory.  `groups`: a file like /proc/self/cgroup.  `root`: where
 * control groups are mounted, of version 1, 2 or both. */
void oom_open(struct oom *o, const char *groups, const char *root);

/* Returns true once for each kill since oom_open. */
bool oom_happened(struct oom *o);

#endif
