/* What a run cost: the table of --stats and the merged trace. */
#ifndef BRAGG_RUN_REPORT_H
#define BRAGG_RUN_REPORT_H

#include <stdio.h>

#include "run/pipeline/commands.h"

/* One row per process from the statistics in `folder`; those without are left out. */
void report_stats(const struct commands *c, const char *folder, FILE *out);

/* Merges the traces in `folder` into one JSON array at `path`; appears whole or not at all. */
enum status report_trace(const struct commands *c, const char *folder, const char *path,
                         struct error *e);

#endif
