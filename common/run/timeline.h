/* Who did what when: a moment from the middle of a run, from the traces of its processes. */
#ifndef BRAGG_RUN_TIMELINE_H
#define BRAGG_RUN_TIMELINE_H

#include <stdio.h>

#include "run/process.h"

/* Writes it as a card with SVG; nothing where there are no traces in `folder`. */
void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count);

#endif
