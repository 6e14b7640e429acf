#include "base/clipped.h"

#include <inttypes.h>

#include "base/log.h"

void clipped_add(struct clipped *c, uint64_t saturated, uint64_t below)
{
    c->frames++;
    c->clipped += saturated || below;
    c->saturated += saturated;
    c->below += below;
}

void clipped_say(const struct clipped *c, const char *where)
{
    if (c->clipped)
        log_line(LOG_NOTICE,
                 "%s%s%" PRIu64 " of %" PRIu64 " frames%s: %" PRIu64
                 " pixel%s saturated (%.12g ADU), %" PRIu64 " below 0",
                 where ? where : "", where ? ": " : "", c->clipped, c->frames,
                 log_is_part() ? " of this process" : "", c->saturated,
                 c->saturated == 1 ? "" : "s", c->largest_adu, c->below);
}
