/* The hosts of a run, and which process runs where. */
#ifndef BRAGG_RUN_HOSTS_H
#define BRAGG_RUN_HOSTS_H

#include "base/program.h"
#include "run/pipeline/pipeline.h"

enum launcher { LAUNCHER_NONE, LAUNCHER_SSH, LAUNCHER_SLURM };  // order of --launcher

enum { HOSTS_MAX = 1024, HOST_TYPED_SIZE = 256, HOST_ADDRESS_SIZE = 46 };

struct host {
    char name[HOST_TYPED_SIZE];       // name for the launcher; ".": this host
    char self[HOST_SIZE];             // name that the host reports about itself
    char address[HOST_ADDRESS_SIZE];  // address at which the other hosts reach it
    int *ports;                       // owned; free tcp ports
    size_t nports;
};

struct hosts {
    enum launcher launcher;
    size_t count;
    struct host *list;  // owned
    const char *dir;    // absolute working folder of the processes
    const char *from;   // absolute folder where bragg-run was started; NULL: the same as dir
};

/* Lists the hosts of a text, separated by commas (NULL: none), then the hosts that stages name.
 * STATUS_USAGE, or STATUS_INPUT for names in the file: a name is invalid, there are too many hosts,
 * or none.  Call hosts_close afterwards, also after an error. */
enum status hosts_open(struct hosts *h, enum launcher launcher, const char *text,
                       const struct pipeline *p, struct error *e);
void hosts_close(struct hosts *h);

/* Multiplies the count of stages with `hosts: each` by the number of hosts.
 * STATUS_INPUT: there would be too many processes. */
enum status hosts_multiply(const struct hosts *h, struct pipeline *p, struct error *e);

/* Checks a pipeline without a launcher.  STATUS_INPUT: a stage names hosts. */
enum status hosts_refuse(const struct pipeline *p, struct error *e);

/* Returns the index of the host of process number i of a stage. */
size_t hosts_place(const struct hosts *h, const struct pipeline_stage *s, int64_t i);

#endif
