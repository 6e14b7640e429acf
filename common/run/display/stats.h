/* What a process cost, as it says itself with --stats. */
#ifndef BRAGG_RUN_STATS_H
#define BRAGG_RUN_STATS_H

#include <stdbool.h>

struct process_cost {
    double frames, cpu_s, wall_s;
    double compute, input, output;  // shares of wall_s: computing, waiting for either
};

/* The last one in the statistics of process `name` in `folder`: false when there is none. */
bool stats_read(const char *folder, const char *name, struct process_cost *cost);

/* The number behind "name": in a flat object of JSON; 0 when it is not there. */
double stats_value(const char *json, const char *name);

#endif
