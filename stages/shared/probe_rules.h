/* Refuses options that only a beam of X-rays can have. */
#ifndef BRAGG_STAGES_SHARED_PROBE_RULES_H
#define BRAGG_STAGES_SHARED_PROBE_RULES_H

#include "base/error.h"
#include "base/opt.h"
#include "model/probe.h"

struct probe_rule {
    const char *option;  // name without dashes; NULL ends a list of rules
    const char *reason;  // why it needs X-rays: a sentence without its end
};

/* Checks that no option of `rules` was given if the beam does not consist of X-rays.  The table and
 * its options are those of opt_given.  STATUS_USAGE names the first such option. */
enum status probe_refuse(enum probe probe, const struct probe_rule *rules, const struct opt *table,
                         const void *options, struct error *e);

#endif
