/* bragg-replay --recompute: computes a frame again and compares it. */
#ifndef BRAGG_STAGES_RECOMPUTE_H
#define BRAGG_STAGES_RECOMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Returns true if the command line has --recompute, and not --help. */
bool recompute_asked(int argc, char **argv);

/* Runs bragg-replay --recompute TARGET (see provenance_open).  Prints whether all bytes are the
 * same, or the first pixel that differs.  Returns the exit status: 0 the same, 1 different or a
 * failure, 2 usage error, 3 the frame cannot be recomputed. */
int recompute_main(int argc, char **argv);

/* Runs the stages of a history in the current folder, connected by pipes as in a shell, with the
 * options as typed, for frame `id` alone.  Records their output as `record`, and writes their
 * messages to the file `said`.  Because a history can come from an unknown source, only stages of
 * braggpipe run, with only options that decide what frames contain. STATUS_INPUT: other stages,
 * another version of the physics, or a stage failed. STATUS_INTERRUPTED: a signal came. */
enum status rerun_stages(const char *history, uint64_t id, const char *record, const char *said,
                         struct error *e);

#endif
