/* Who did what when: a moment of a run, from the traces of its processes. */
#ifndef BRAGG_RUN_TIMELINE_H
#define BRAGG_RUN_TIMELINE_H

#include <stdio.h>

#include "run/local/process.h"

/* Writes it as a card with SVG; nothing where the traces in `folder` have no
 * time in common. */
void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count);

#endif
