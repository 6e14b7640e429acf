/* Cost of a run: the table of --stats, and the merged trace of --trace. */
#ifndef BRAGG_RUN_REPORT_H
#define BRAGG_RUN_REPORT_H

#include <stdio.h>

#include "run/pipeline/commands.h"

/* Prints one row per process, from the statistics in `folder`.  Processes without statistics are
 * omitted. */
void report_stats(const struct commands *c, const char *folder, FILE *out);

/* Merges the traces in `folder` into one JSON array at `path`, which appears whole or not at all.
 */
enum status report_trace(const struct commands *c, const char *folder, const char *path,
                         struct error *e);

#endif
