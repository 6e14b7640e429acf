/* What --ramp of bragg-serve found out, for people and as JSON. */
#ifndef BRAGG_STAGES_SERVE_RAMP_H
#define BRAGG_STAGES_SERVE_RAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/gateway.h"
#include "gateway/ramp.h"

enum { RAMP_QUANTILES = 3 };

struct serve_ramp_result {
    struct ramp ramp;
    uint64_t times;                      // that clients were at work on a frame; 0: not known
    double quantiles_s[RAMP_QUANTILES];  // median, 95 % and 99 % of them
};

/* There are no more frames; *g is open still, or NULL. */
void serve_ramp_end(struct serve_ramp_result *result, struct ramp *r, struct gateway *g);

/* Says it in one line. */
void serve_ramp_say(const struct serve_ramp_result *result);

/* Writes it.  STATUS_FAILED. */
enum status serve_ramp_write(const struct serve_ramp_result *result, const char *path,
                             bool overwrite, struct error *e);

#endif
