/* A short interval of a run as a timeline of its processes, from their traces. */
#ifndef BRAGG_RUN_TIMELINE_H
#define BRAGG_RUN_TIMELINE_H

#include <stdio.h>

#include "run/local/process.h"

/* Writes the timeline as an SVG card of a page.  Writes nothing if the traces in `folder` have no
 * time in common. */
void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count);

#endif
