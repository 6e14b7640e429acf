/* Whether the system killed a process for lack of memory, as far as its control group tells. */
#ifndef BRAGG_RUN_OOM_H
#define BRAGG_RUN_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct oom {
    char path[PATH_MAX];  // a file with a line "oom_kill N"; "" for none
    uint64_t seen;        // so many of these kills are accounted for
};

/* Finds the group of memory in `groups`, a file like /proc/self/cgroup, below `root`, the place
 * of control groups of version 1, 2, or both. */
void oom_open(struct oom *o, const char *groups, const char *root);

/* True when one more was killed since the last that this said, or since oom_open. */
bool oom_happened(struct oom *o);

#endif
