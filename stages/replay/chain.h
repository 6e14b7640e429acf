/* The stages that made a frame, run again in a shell pipe's manner. */
#ifndef BRAGG_STAGES_CHAIN_H
#define BRAGG_STAGES_CHAIN_H

#include <stdint.h>

#include "base/error.h"

/* Runs the stages of a history, as they were typed and in this folder, for frame `id` alone,
 * and records what they give as `record`; what they say goes to the file `said`.  Only
 * braggpipe's own stages run, with options that decide what frames hold: a history may come from
 * anybody.  STATUS_INPUT when they are others, of other physics, or fail; STATUS_INTERRUPTED
 * after a signal. */
enum status chain_run(const char *history, uint64_t id, const char *record, const char *said,
                      struct error *e);

#endif
