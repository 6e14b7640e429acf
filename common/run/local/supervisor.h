/* Runs the processes of a pipeline until all of them have ended. */
#ifndef BRAGG_RUN_SUPERVISOR_H
#define BRAGG_RUN_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "run/local/cleanup_guard.h"
#include "run/local/process.h"
#include "run/local/restart.h"
#include "run/pipeline/commands.h"

/* --- scaling ---------------------------------------------------------------- */

/*
 * Adds processes to a running pipeline, or removes processes from it (--add, --remove).
 *
 * Another bragg-run sends the request of the user to the one that runs.  Requests and answers are
 * files in the private folder of the run.  Only the user of the run can write there.  The user can
 * do so from each host that shares the folder.
 *   `wish-ID`  the request: "add STAGE=N" or "remove STAGE=N"
 *   `told-ID`  the answer: "STATUS TEXT"
 */

/* Sends a request to the run whose private folder is `folder`, waits up to 60 s for the answer,
 * and prints the answer to stdout.  `text`: "STAGE=N".
 * STATUS_USAGE: the text is too long.  STATUS_FAILED: there is no answer.  Otherwise returns the
 * status of the answer, with its text as the error. */
enum status scale_request_send(const char *folder, bool remove, const char *text, struct error *e);

/* State of the bragg-run that executes the requests. */
struct scale {
    struct pipeline *pipeline;                // borrowed
    struct commands *commands;                // borrowed
    const struct command_settings *settings;  // borrowed; settings with which `commands` was made
    uint64_t searched_ns;                     // time of the latest search for requests
};

/* Executes and answers new requests.  Appends new processes to the list of *r, which starts
 * them.  `ending`: the run is ending, so requests are refused. */
void scale_turn(struct scale *g, struct restarts *r, bool ending, uint64_t now_ns);

struct supervisor_settings {
    const struct cleanup_guard *guard;
    struct scale *scale;  // handles --add and --remove
    bool verbose;         // show messages of stages immediately
    bool quiet;           // no progress bar, no warnings of stages

    /* Called with all processes after they have ended, before they are freed.  NULL: not called. */
    void (*ended)(void *owner, const struct process *processes, size_t count);
    void *owner;  // passed to `ended`
};

/* Starts all processes of a run, and returns when all of them have ended.  Restarts processes
 * that died or are frozen, and forwards signals.  After a failure stops all processes; *e then
 * names the process that failed.  Returns the exit status of the run. */
enum status supervise(const struct commands *commands, const struct supervisor_settings *settings,
                      struct error *e);

#endif
