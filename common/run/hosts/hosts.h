/* The hosts of a run, and which process runs where. */
#ifndef BRAGG_RUN_HOSTS_H
#define BRAGG_RUN_HOSTS_H

#include "base/host.h"
#include "run/pipeline/pipeline.h"

enum launcher { LAUNCHER_NONE, LAUNCHER_SSH, LAUNCHER_SLURM };  // order of --launcher

enum { HOSTS_MAX = 1024, HOST_TYPED_SIZE = 256, HOST_ADDRESS_SIZE = 46 };

struct host {
    char name[HOST_TYPED_SIZE];       // as the launcher knows it; ".": this one
    char self[HOST_SIZE];             // as it calls itself, once it has told
    char address[HOST_ADDRESS_SIZE];  // at which others reach it
    int *ports;                       // owned; that are free
    size_t nports;
};

struct hosts {
    enum launcher launcher;
    size_t count;
    struct host *list;  // owned
    const char *dir;    // absolute; where processes run
    const char *from;   // absolute; where bragg-run was started, NULL: there
};

/* Those of a text, parted by commas (NULL: none), then those that stages name.  STATUS_USAGE for a
 * name that is not allowed, too many, or none at all.  Always followed by hosts_close. */
enum status hosts_open(struct hosts *h, enum launcher launcher, const char *text,
                       const struct pipeline *p, struct error *e);
void hosts_close(struct hosts *h);

/* A stage with `hosts: each` gets its count of processes for every host.  STATUS_INPUT when these
 * are too many. */
enum status hosts_multiply(const struct hosts *h, struct pipeline *p, struct error *e);

/* Without a launcher no stage may name hosts.  STATUS_INPUT. */
enum status hosts_refuse(const struct pipeline *p, struct error *e);

/* The index of the host of process number i of a stage. */
size_t hosts_place(const struct hosts *h, const struct pipeline_stage *s, int64_t i);

#endif
