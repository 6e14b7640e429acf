/* Shows the progress of a Slurm job until it ends. */
#ifndef BRAGG_RUN_FOLLOW_H
#define BRAGG_RUN_FOLLOW_H

#include "base/error.h"

/* Shows the progress of job number `job`, which runs in the folder `dir`, on the terminal.  Ctrl-C
 * asks whether to cancel the job.  If not, the job continues and STATUS_OK is returned.
 * STATUS_INTERRUPTED: the job was cancelled.
 * STATUS_FAILED: the job failed; the error has its state and the last line of `log`. */
enum status follow_job(const char *job, const char *dir, const char *log, struct error *e);

#endif
