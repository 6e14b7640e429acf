#include "stages/shared/probe_rules.h"

enum status probe_refuse(enum probe probe, const struct probe_rule *rules, const struct opt *table,
                         const void *options, struct error *e)
{
    for (; probe != PROBE_XRAY && rules->option; rules++)
        if (opt_given(table, options, rules->option))
            return error_set(e, STATUS_USAGE,
                             "--%s: %s, but the beam has %s (bragg-geometry --probe). Remove --%s",
                             rules->option, rules->reason, probe_particles(probe), rules->option);
    return STATUS_OK;
}
