/* The options of bragg-serve. */
#ifndef BRAGG_STAGES_SERVE_OPTIONS_H
#define BRAGG_STAGES_SERVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/opt.h"
#include "gateway/fault_injection.h"
#include "gateway/pace.h"
#include "gateway/protocol.h"

struct serve_options {
    int protocol, socket, policy, dtype;  // dtype: 0 for auto, else 1 + enum pixel_type
    const char *bind, *client_keys;
    int64_t queue, number;  // number: of the series
    const char *geom, *cell, *thresholds;
    bool overwrite;
    const char *key, *inject, *ramp, *ramp_json;
    int64_t seed;  // of --inject
    struct faults faults;
    struct ramp rise;
    double rate_hz, linger_s;
    int header;
    struct content_options content;
    struct opt_marks given;
};

/* The table of options.  The state of the stage must begin with a struct serve_options. */
extern const struct opt serve_options[];

/* Finds the protocol, fills in its defaults and checks the options.  STATUS_USAGE for an option
 * that the protocol does not have, and for options that contradict each other. */
enum status serve_options_settle(struct serve_options *o, const struct protocol **protocol,
                                 struct error *e);

#endif
