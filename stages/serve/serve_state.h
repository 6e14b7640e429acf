/* The state of bragg-serve. */
#ifndef BRAGG_STAGES_SERVE_STATE_H
#define BRAGG_STAGES_SERVE_STATE_H

#include "gateway/gateway.h"
#include "gateway/pace.h"
#include "gateway/protocol.h"
#include "io/detectors/assembly.h"
#include "link/endpoint.h"
#include "model/recipe.h"
#include "link/keys.h"
#include "serve_key.h"
#include "serve_options.h"
#include "serve_ramp.h"
#include "serve_send.h"

struct serve {
    struct serve_options options;  // must be the first member: see serve_options.h
    const struct protocol *speaks;
    const struct experiment *experiment;  // in the form that clients get
    struct moved moved;                   // the experiment with the shifts of the current frame
    struct assembly assembly;  // joins panels into one image, and marks pixels without data
    struct gateway *gateway;
    struct zap zap;                // checks the keys of clients
    char endpoint[ENDPOINT_SIZE];  // the bound endpoint; "" before
    struct pace pace;
    struct series series;
    struct serve_key key;
    struct serve_ramp_result ramp_result;  // of --ramp, known at the end
    struct sender sender;
    bool warned_masked;  // the warning about pixels without data was printed
    bool announced;      // the message before the first frame was sent
    bool concluded;      // the gateway is closed, and `counts` is final
    struct gateway_counts counts;
    char figures[300];  // for --stats
};

/* Sends a frame when it is due, with the faults of --inject.  Before the first frame it sends the
 * message that begins the series.  `state` is a struct serve.  The errors are those of the
 * protocol, of gateway_offer and of the file of --key. */
enum status serve_frame(void *state, struct frame *f, struct error *e);

#endif
