/*
 * Endpoints of the processes of a pipeline: which process binds, and which ones connect.
 *
 * On one host the endpoints are sockets in the private folder.  With a launcher they are tcp ports
 * that are free on the host of the process that binds.
 *
 * The workers (the stage directly after the source) bind nothing: the stages before and after them
 * bind.  More workers can therefore join during a run.  Between other stages the upper one binds;
 * on several hosts the stage with fewer processes binds, so that few ports are needed.
 */
#ifndef BRAGG_RUN_ENDPOINTS_H
#define BRAGG_RUN_ENDPOINTS_H

#include "run/pipeline/argv.h"
#include "run/pipeline/commands.h"

/* Host of a process, and the ports that it binds there; 0: none. */
struct place {
    const struct host *host;
    int out, in, control;
};

struct placement {
    struct place *list;  // owned; the processes at the start of the run, in the order of the file
    size_t count;
    size_t first[PIPELINE_STAGES_MAX];    // index in `list` of the first process of each stage
    int64_t counts[PIPELINE_STAGES_MAX];  // number of processes of each stage
};

/* Returns true if the processes of stage number i bind a socket. */
bool endpoints_are_bound(const struct pipeline *p, size_t i, bool one_host);

/* Returns the number of ports that a process of stage number i binds on several hosts. */
size_t endpoints_ports(const struct pipeline *p, size_t i);

/* Assigns hosts and ports to all processes; the hosts have reported their free ports.
 * STATUS_FAILED: no memory, or a host reported too few ports.
 * Call placement_free afterwards, also after an error. */
enum status placement_make(struct placement *l, const struct pipeline *p, const struct hosts *hosts,
                           struct error *e);
void placement_free(struct placement *l);

/* Returns the place of process number i, from 0, of stage number `index`.  A process that was added
 * during the run has a place without host and ports. */
const struct place *placement_of(const struct placement *l, size_t index, int64_t i);

/* Writes the name of process number i of a stage: NAME or NAME.i+1. */
void endpoints_name(const struct pipeline_stage *s, int64_t i, char name[PROCESS_NAME_SIZE]);

/* Appends the options --in, --out and --control of process number i of stage number `index`. */
void endpoints_add(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                   const struct command_settings *settings);

#endif
