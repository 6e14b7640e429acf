/* Jobs of Slurm: the hosts of the one in which this process runs, and scripts of new ones. */
#ifndef BRAGG_RUN_SLURM_H
#define BRAGG_RUN_SLURM_H

#include <stdbool.h>

#include "base/error.h"

/* True within an allocation. */
bool slurm_is_inside(void);

/* The hosts of this allocation, parted by commas; the caller frees them with mem_free.  NULL with
 * an error, STATUS_FAILED, when Slurm does not tell. */
char *slurm_hosts(struct error *e);

/* Makes a run a job: writes the script bragg-run.sbatch into its folder and gives it to sbatch,
 * whose last words go to stdout; with `dry` it only prints the script.  That runs the same
 * bragg-run, again with --resume when Slurm has taken the hosts away.  `path`: of the pipeline
 * file; `workdir`: as given, NULL: the working folder; `options`: of sbatch, parted by blanks,
 * NULL: none; `argv`: of bragg-run, ended by NULL.  STATUS_FAILED with the last words of sbatch,
 * and nothing is left.  With `follow` it stays until the job ends, see follow.h. */
enum status slurm_begin(const char *path, const char *workdir, const char *options,
                        const char *const *argv, bool dry, bool follow, struct error *e);

#endif
