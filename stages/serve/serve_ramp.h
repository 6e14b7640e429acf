/* The result of --ramp, as a line for people and as JSON. */
#ifndef BRAGG_STAGES_SERVE_RAMP_H
#define BRAGG_STAGES_SERVE_RAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/gateway.h"
#include "gateway/pace.h"

enum { RAMP_QUANTILES = 3 };

struct serve_ramp_result {
    struct ramp ramp;
    uint64_t times;                      // number of processing times; 0 if clients do not ask
    double quantiles_s[RAMP_QUANTILES];  // median, 95 % and 99 % of the times, s
};

/* Ends the ramp after the last frame, and fills in *result.  *g is still open.  NULL is allowed. */
void serve_ramp_end(struct serve_ramp_result *result, struct ramp *r, struct gateway *g);

/* Prints the result in one line. */
void serve_ramp_say(const struct serve_ramp_result *result);

/* Writes the result as JSON.  STATUS_FAILED if the file cannot be written, or if another file has
 * the name and `overwrite` is false. */
enum status serve_ramp_write(const struct serve_ramp_result *result, const char *path,
                             bool overwrite, struct error *e);

#endif
