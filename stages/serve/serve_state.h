/* bragg-serve while it runs. */
#ifndef BRAGG_STAGES_SERVE_STATE_H
#define BRAGG_STAGES_SERVE_STATE_H

#include "gateway/gateway.h"
#include "gateway/pace.h"
#include "gateway/protocol.h"
#include "io/detectors/assembly.h"
#include "link/curve.h"
#include "link/endpoint.h"
#include "model/moved.h"
#include "serve_key.h"
#include "serve_options.h"
#include "serve_ramp.h"
#include "serve_send.h"

struct serve {
    struct serve_options options;  // first: parsed into it
    const struct protocol *speaks;
    const struct experiment *experiment;  // as clients see it
    struct moved moved;                   // in the frame at hand
    struct assembly assembly;  // of panels that are one image to them, and of what is no data
    struct gateway *gateway;
    struct zap zap;                // who may connect to it
    char endpoint[ENDPOINT_SIZE];  // bound; "" for none
    struct pace pace;
    struct series series;
    struct serve_key key;
    struct serve_ramp_result ramp_result;  // --ramp, at the end
    struct sender sender;
    bool warned_masked;            // pixels without data were mentioned
    bool announced;                // clients were told that it begins
    bool concluded;                // the gateway is closed
    struct gateway_counts counts;  // then
    char figures[300];             // for --stats
};

/* Sends a frame when it is due, with the faults of --inject, and tells before the first one that
 * the series begins.  Paces the frames that follow. */
enum status serve_frame(void *state, struct frame *f, struct error *e);

#endif
