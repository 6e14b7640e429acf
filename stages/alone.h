/* Stages whose result is of all frames, and so of one process. */
#ifndef BRAGG_STAGES_ALONE_H
#define BRAGG_STAGES_ALONE_H

#include "base/error.h"

/* STATUS_USAGE in one of several processes that bragg-run starts for a stage: each would have some
 * of the frames.  `instead` says what to do, "" for nothing. */
enum status alone_check(const char *instead, struct error *e);

#endif
