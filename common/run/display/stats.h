/* Cost of a process, as it reports with --stats. */
#ifndef BRAGG_RUN_STATS_H
#define BRAGG_RUN_STATS_H

#include <stdbool.h>

struct process_cost {
    double frames, cpu_s, wall_s;
    double compute, input, output;  // fractions of wall_s: computing, waiting for input, output
};

/* Reads the last entry in the statistics of process `name` in `folder`.  Returns false if there is
 * none. */
bool stats_read(const char *folder, const char *name, struct process_cost *cost);

/* Returns the number of the key `name` in a flat JSON object; 0: the key is missing. */
double stats_value(const char *json, const char *name);

#endif
