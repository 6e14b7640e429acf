/*
 * Adds processes to a running pipeline, or removes processes from it (--add, --remove).
 *
 * Another bragg-run sends the request of the user to the one that runs.  Requests and answers are
 * files in the private folder of the run.  Only the user of the run can write there, and from every
 * host that shares the folder.
 *   `wish-ID`  the request: "add STAGE=N" or "remove STAGE=N"
 *   `told-ID`  the answer: "STATUS TEXT"
 */
#ifndef BRAGG_RUN_SCALE_H
#define BRAGG_RUN_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "run/local/restart.h"
#include "run/pipeline/commands.h"

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

#endif
