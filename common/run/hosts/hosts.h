/* The hosts of a run, and which process runs where. */
#ifndef BRAGG_RUN_HOSTS_H
#define BRAGG_RUN_HOSTS_H

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

#endif
