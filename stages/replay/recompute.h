/* bragg-replay --recompute: computes a frame again and compares it. */
#ifndef BRAGG_STAGES_RECOMPUTE_H
#define BRAGG_STAGES_RECOMPUTE_H

#include <stdbool.h>

/* Returns true if the command line has --recompute, and not --help. */
bool recompute_asked(int argc, char **argv);

/* Runs bragg-replay --recompute TARGET (see provenance_open).  Prints whether all bytes are the
 * same, or the first pixel that differs.  Returns the exit status: 0 the same, 1 different or a
 * failure, 2 usage error, 3 the frame cannot be recomputed. */
int recompute_main(int argc, char **argv);

#endif
