#include "serve_ramp.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/output/replace.h"

static const double SHARES[RAMP_QUANTILES] = {0.5, 0.95, 0.99};

void serve_ramp_end(struct serve_ramp_result *result, struct ramp *r, struct gateway *g)
{
    if (!g)
        return;
    ramp_end(r, clock_ns());
    result->ramp = *r;
    result->times = gateway_latency(g, SHARES, result->quantiles_s, RAMP_QUANTILES);
}

void serve_ramp_say(const struct serve_ramp_result *result)
{
    const struct ramp *r = &result->ramp;
    char work[128] = "";
    if (result->times)
        (void)snprintf(
            work, sizeof work,
            "; clients took %.3g ms for a frame (median), %.3g ms (95 %%), %.3g ms (99 %%)",
            result->quantiles_s[0] * 1e3, result->quantiles_s[1] * 1e3,
            result->quantiles_s[2] * 1e3);
    log_line(LOG_NOTICE, "--ramp: clients sustained %.4g frames/s (rate %.4g frames/s): %s%s",
             r->sustained_hz, r->asked_hz, ramp_limit_text(r->limit), work);
}

enum status serve_ramp_write(const struct serve_ramp_result *result, const char *path,
                             bool overwrite, struct error *e)
{
    const struct ramp *r = &result->ramp;
    struct replace file;
    const enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    file.guarded = !overwrite;
    fprintf(file.stream,
            "{\"sustained_Hz\":%.9g,\"asked_Hz\":%.9g,\"limit\":\"%s\",\"from_Hz\":%.9g,"
            "\"to_Hz\":%.9g,\"seconds\":%.9g,\"taken\":%" PRIu64 ",\"dropped\":%" PRIu64,
            r->sustained_hz, r->asked_hz, ramp_limit_name(r->limit), r->from_hz, r->to_hz,
            r->seconds, r->taken, r->dropped);
    if (result->times)
        fprintf(file.stream,
                ",\"work_s\":{\"n\":%" PRIu64 ",\"median\":%.4g,\"p95\":%.4g,\"p99\":%.4g}",
                result->times, result->quantiles_s[0], result->quantiles_s[1],
                result->quantiles_s[2]);
    fputs("}\n", file.stream);
    return replace_commit(&file, e);
}
