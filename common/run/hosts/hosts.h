/* The hosts of a run, and which process runs where. */
#ifndef BRAGG_RUN_HOSTS_H
#define BRAGG_RUN_HOSTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/program.h"
#include "run/pipeline/pipeline.h"

enum launcher { LAUNCHER_NONE, LAUNCHER_SSH, LAUNCHER_SLURM };  // order of --launcher

enum { HOSTS_MAX = 1024, HOST_TYPED_SIZE = 256, HOST_ADDRESS_SIZE = 46 };

/* A host of the run. */
struct host {
    char name[HOST_TYPED_SIZE];       // name for the launcher; ".": this host
    char self[HOST_SIZE];             // name that the host reports about itself
    char address[HOST_ADDRESS_SIZE];  // address at which the other hosts reach it
    int *ports;                       // owned; free tcp ports
    size_t nports;
};

/* All hosts of the run, and how processes are started on them. */
struct hosts {
    enum launcher launcher;
    size_t count;
    struct host *list;  // owned
    const char *dir;    // absolute working folder of the processes
    const char *from;   // absolute folder where bragg-run was started; NULL: the same as dir
};

/* Lists the hosts of the run: the hosts of `text`, which are separated by commas, or the hosts
 * of the Slurm allocation, and the hosts that stages name.  Multiplies the count of stages with
 * `hosts: each` by the number of hosts.  Without a launcher the list is empty, and no stage may
 * name hosts.  Call hosts_close afterwards, also after an error.
 * STATUS_USAGE, or STATUS_INPUT for the pipeline file: a name is invalid, there are no hosts,
 * too many hosts or too many processes, a stage names hosts without a launcher, or the launcher
 * is not in PATH.
 * STATUS_FAILED: Slurm does not list the hosts. */
enum status hosts_find(struct hosts *h, enum launcher launcher, const char *text,
                       struct pipeline *p, struct error *e);
void hosts_close(struct hosts *h);

/* Returns the index of the host of process number i of a stage. */
size_t hosts_place(const struct hosts *h, const struct pipeline_stage *s, int64_t i);

/* Checks all hosts at the same time, before a run begins.  Each host must be reachable, have
 * this version of all programs, and see `folder`, in which a file is made for this test.  Stores
 * the addresses of the hosts, and as many free ports as their processes bind.  During the check
 * SIGINT, SIGTERM and SIGHUP are caught, so that the caller can remove its files.
 * STATUS_INTERRUPTED: SIGINT ended the check.  STATUS_FAILED: SIGTERM or SIGHUP ended the check,
 * or a host does not meet a requirement; the error names the first such host. */
enum status hosts_check(struct hosts *h, const struct pipeline *p, const char *folder,
                        struct error *e);

/* --- Slurm ------------------------------------------------------------------ */

/* The hosts of the allocation in which this process runs, submission of new jobs, and the
 * progress of a job.
 *
 * Returns true if this process runs in an allocation. */
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

/* --- less traffic ----------------------------------------------------------- */

/*
 * Changes to a pipeline, so that images stay where they are needed next.
 *
 * Stages that follow bragg-intensity move into its processes: images with noise (16-bit counts)
 * then cross the network instead of photons (32-bit floats), which are twice as large.  Large
 * images stay in the cache of the CPU, and images of a GPU in its memory.  Integer pixels that
 * still go to another host are compressed.
 */

enum { FUSE_TEXT_SIZE = 256 };

/* Moves bragg-background and bragg-noise into the bragg-intensity before them, with its option
 * --fuse, if
 *   - a process of bragg-intensity runs on another host than the first one, or computes with
 *     --engine=cuda, or all stages run on the CPU of this host and p->pixels is so large that an
 *     image does not stay in the cache of the CPU between processes, and
 *   - the file gives the stages neither hosts nor count, nor options that need a process of their
 *     own.
 * Invalidates pointers to stages.  Sets `text` to a message about the change; "": no change.
 * STATUS_INPUT: the command line becomes too long. */
enum status fuse_stages(struct pipeline *p, const struct hosts *hosts, char text[FUSE_TEXT_SIZE],
                        struct error *e);

/* Prints why background and noise of a run on one host were not fused, as comments of a shell
 * script. */
void fuse_print_apart(const struct pipeline *p, FILE *out);

/* Adds --compress to the stages with `compress: true`.  Also adds it to stages without that key
 * whose integer pixels go to another host: without compression, encryption takes as much CPU time
 * as the compression does, and the images are three times as large.  `hosts` can be empty.
 * STATUS_FAILED: a stage has no room for the option. */
enum status choose_compression(struct pipeline *p, const struct hosts *hosts, struct error *e);

#endif
