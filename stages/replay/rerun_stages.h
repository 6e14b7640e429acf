/* Runs the stages that made a frame again, connected by pipes as in a shell. */
#ifndef BRAGG_STAGES_RERUN_STAGES_H
#define BRAGG_STAGES_RERUN_STAGES_H

#include <stdint.h>

#include "base/error.h"

/* Runs the stages of a history in the current folder, with the options as typed, for frame `id`
 * alone.  Records their output as `record`, and writes their messages to the file `said`.  Because
 * a history can come from an unknown source, only stages of braggpipe run, with only options that
 * decide what frames contain.
 * STATUS_INPUT: other stages, another version of the physics, or a stage failed.
 * STATUS_INTERRUPTED: a signal came. */
enum status rerun_stages(const char *history, uint64_t id, const char *record, const char *said,
                         struct error *e);

#endif
