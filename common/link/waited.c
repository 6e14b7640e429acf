/*
 * The data plane: which links hold frames up until they take them.  A last stage in a group that
 * nobody asked for gets what its credit allows, and no more.  One that only watches is waited for
 * as long as it takes frames at all.
 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "stage/runtime.h"

enum { BEGIN = 2, WORK = 12 };  // times --dead-after: to begin, to do one frame

static bool is_last(const struct link *l)
{
    return l->peer.gives == (int)KIND_NONE;
}

void waited_mark(const struct runtime *rt, struct link *l)
{
    l->spare = rt->nwaited && is_last(l) && l->peer.durable;
    for (size_t i = 0; i < rt->nwaited; i++)
        l->spare &= strcmp(rt->waited[i].name, l->peer.group) != 0;
}

void waited_learn(struct runtime *rt, const struct group_name *groups, size_t ngroups)
{
    if (!ngroups || ngroups > GROUPS_MAX)
        return;
    memcpy(rt->waited, groups, ngroups * sizeof *groups);
    rt->nwaited = ngroups;
    for (struct link *l = rt->links; l; l = l->next)
        if (!l->port->up)
            waited_mark(rt, l);
}

bool waited_may_leave(const struct link *l)
{
    return is_last(l) && (l->spare || !l->peer.durable);
}

bool waited_is(const struct runtime *rt, struct link *l)
{
    if (l->credit || l->spare) {
        l->starved = false;
        return l->credit;
    }
    const uint64_t patience_ns = rt->patience_ns * (l->nsent ? WORK : BEGIN);
    const bool watches = waited_may_leave(l);
    if (!l->spent_ns || (!watches && l->nsent) || rt->now_ns <= l->spent_ns + patience_ns)
        return true;
    if (!l->starved)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") takes no frames; %s", l->peer.stage,
                 l->peer.pid, watches ? "going on without it" : "waiting for it");
    l->starved = true;
    return !watches;
}
