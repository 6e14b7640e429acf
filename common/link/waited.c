#include "link/waited.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"

enum { BEGIN = 2, WORK = 12 };  // times --dead-after: to begin, to do one frame

static bool is_last(const struct link *l)
{
    return l->peer.gives == (int)KIND_NONE;
}

void waited_mark(struct links *ls, struct link *l)
{
    l->spare = ls->nwaited && is_last(l) && l->peer.durable;
    for (size_t i = 0; i < ls->nwaited; i++)
        l->spare &= strcmp(ls->waited[i].name, l->peer.group) != 0;
    link_settle(ls, l);
}

void waited_learn(struct links *ls, const struct group_name *groups, size_t ngroups)
{
    if (!ngroups || ngroups > GROUPS_MAX)
        return;
    memcpy(ls->waited, groups, ngroups * sizeof *groups);
    ls->nwaited = ngroups;
    for (struct link *l = ls->first; l; l = l->next)
        if (!l->port->up)
            waited_mark(ls, l);
}

bool waited_may_leave(const struct link *l)
{
    return is_last(l) && (l->spare || !l->peer.durable);
}

bool waited_is(const struct links *ls, struct link *l)
{
    const uint64_t patience_ns = ls->run->patience_ns * (l->nsent ? WORK : BEGIN);
    const bool watches = waited_may_leave(l);
    if (!l->spent_ns || (!watches && l->nsent) || ls->now_ns <= l->spent_ns + patience_ns)
        return true;
    if (!l->starved)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") takes no frames; %s", l->peer.stage,
                 l->peer.pid, watches ? "going on without it" : "waiting for it");
    l->starved = true;
    return !watches;
}
