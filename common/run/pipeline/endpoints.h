/*
 * Where the processes of a pipeline listen, and to whom they connect.
 *
 * On one host these are sockets in the private folder, with a launcher of several hosts tcp ports
 * that are free where a process runs.  Of two stages that one binds that comes after workers, which
 * follow the stage that numbers the frames: so they bind nothing, and more of them may come while
 * the run lasts.  Elsewhere it is the upper one, on several hosts the one of fewer processes.
 */
#ifndef BRAGG_RUN_ENDPOINTS_H
#define BRAGG_RUN_ENDPOINTS_H

#include "run/pipeline/argv.h"
#include "run/pipeline/commands.h"

/* Where a process runs, and the ports that it binds there, 0: none. */
struct place {
    const struct host *host;
    int out, in, control;
};

struct placement {
    struct place *list;  // owned; all processes that are there from the start, as in the file
    size_t count;
    size_t first[PIPELINE_STAGES_MAX];    // of a stage in it
    int64_t counts[PIPELINE_STAGES_MAX];  // ... so many
};

/* True when processes of stage number i bind something. */
bool endpoints_are_bound(const struct pipeline *p, size_t i, bool one_host);

/* How many ports a process of stage number i binds. */
size_t endpoints_ports(const struct pipeline *p, size_t i);

/* Distributes the ports that all hosts of `hosts` have told.  STATUS_FAILED when memory is out or a
 * host has told too few.  Always followed by placement_free. */
enum status placement_make(struct placement *l, const struct pipeline *p, const struct hosts *hosts,
                           struct error *e);
void placement_free(struct placement *l);

/* That of process number i, from 0, of stage number `index`; one without ports and host where it
 * was not there from the start. */
const struct place *placement_of(const struct placement *l, size_t index, int64_t i);

/* The name of process number i of a stage. */
void endpoints_name(const struct pipeline_stage *s, int64_t i, char name[PROCESS_NAME_SIZE]);

/* Adds the options --in, --out and --control of process number i of stage number `index`. */
void endpoints_add(struct argv *w, const struct pipeline *p, size_t index, int64_t i,
                   const struct command_settings *settings);

#endif
