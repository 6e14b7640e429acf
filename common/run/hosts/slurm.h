/* Slurm: the hosts of the allocation in which this process runs, submission of new jobs, and the
 * progress of a job. */
#ifndef BRAGG_RUN_SLURM_H
#define BRAGG_RUN_SLURM_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true if this process runs in an allocation. */
bool slurm_is_inside(void);

/* Returns the hosts of this allocation, separated by commas; the caller frees the text with
 * mem_free.  NULL: scontrol failed; the error is STATUS_FAILED. */
char *slurm_hosts(struct error *e);

/* Submits a run as a job.  Writes the script bragg-run.sbatch into the working folder, passes it to
 * sbatch, and prints the last line of sbatch to stdout.  The script runs the same bragg-run, and
 * again with --resume if Slurm has requeued the job.
 *   path     the pipeline file
 *   workdir  the working folder as the user typed it; NULL: the current folder
 *   options  options of sbatch, separated by blanks; NULL: none
 *   argv     command line of bragg-run, ended by NULL
 *   dry      only print the script
 *   follow   show the progress on the terminal until the job ends.  Ctrl-C then asks the user
 *            whether to cancel the job.  If not, the job continues, and STATUS_OK is returned
 *
 * STATUS_INTERRUPTED: the user cancelled the job.
 * STATUS_USAGE: a name or an option has characters that the script cannot contain.
 * STATUS_FAILED: sbatch failed; the error is the last line of sbatch, and the script is removed.
 * Or the job failed while its progress was shown; the error has the state of the job and the last
 * line of its log. */
enum status slurm_begin(const char *path, const char *workdir, const char *options,
                        const char *const *argv, bool dry, bool follow, struct error *e);

#endif
