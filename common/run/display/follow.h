/* A job of Slurm that was submitted here: how far it is, until it ends. */
#ifndef BRAGG_RUN_FOLLOW_H
#define BRAGG_RUN_FOLLOW_H

#include "base/error.h"

/* Shows on the terminal how far the run of `job` (its number) with the --workdir `dir` is.  Ctrl-C
 * asks whether to end the job; if not it goes on without this process, and that is STATUS_OK.
 * STATUS_INTERRUPTED once the job was ended so, STATUS_FAILED when it did not end well: with its
 * state, and what `log` says last. */
enum status follow_job(const char *job, const char *dir, const char *log, struct error *e);

#endif
