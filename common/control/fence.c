#include "control/fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/barrier.h"
#include "control/holdings.h"
#include "control/peer.h"
#include "control/roster.h"
#include "link/death.h"

const char fence_still[] = "stands still";

const struct fenced *fence_find(const struct stream *s, const char *uuid)
{
    const size_t left = s->nfenced < STATUS_FENCED_MAX ? s->nfenced : STATUS_FENCED_MAX;
    for (size_t i = 0; i < left; i++)
        if (strcmp(s->fenced[i].uuid, uuid) == 0)
            return &s->fenced[i];
    return NULL;
}

/* bragg-run, which sees how its processes end, lists those that were killed from outside in
 * a file, a line "PID HOST" for each. */
static bool was_killed(const struct hello *h)
{
    const char *path = getenv("BRAGG_KILLED");
    FILE *file = path ? fopen(path, "re") : NULL;
    int64_t pid;
    char host[HOST_SIZE];
    bool found = false;
    while (file && !found && fscanf(file, "%" SCNd64 " %64s", &pid, host) == 2)
        found = pid == h->pid && strcmp(host, *h->host ? h->host : host_name()) == 0;
    if (file)
        (void)fclose(file);
    return found;
}

/* The frame at hand is to blame when its process stands still, or died of itself; who is frozen,
 * or killed from outside, would have been so at any frame. */
static void remember(struct stream *s, const struct peer *p, const char *how)
{
    struct fenced *f = &s->fenced[s->nfenced++ % STATUS_FENCED_MAX];
    *f = (struct fenced){.pid = p->hello.pid,
                         .blames = how == fence_still || (p->lost_ns && !was_killed(&p->hello)),
                         .frames = p->work.frames,
                         .fenced_ns = clock_ns()};
    memcpy(f->host, p->hello.host, sizeof f->host);
    memcpy(f->uuid, p->hello.uuid, sizeof f->uuid);
    (void)snprintf(f->reason, sizeof f->reason, "%.31s", how);
}

void fence_unheard(struct stream *s, const char *uuid)
{
    struct notice n = {.status = STATUS_FAILED};
    memcpy(n.uuid, uuid, sizeof n.uuid);
    peer_send(s, NULL, MESSAGE_FENCE, &n);
    death_bury(s->links, uuid);
}

/* Takes a process out of the run: tells it, should it still live, and everybody else. */
void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason)
{
    const bool known = p->known;
    if (known) {
        remember(s, p, how);
        if (p->hello.in_memory)
            holdings_void(s, p);
        (void)snprintf(s->broken_by, sizeof s->broken_by, "%s (process %" PRId64 ") %s",
                       p->hello.stage, p->hello.pid, how);
    }
    struct notice n = {.status = STATUS_FAILED};
    memcpy(n.uuid, p->hello.uuid, sizeof n.uuid);
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    peer_send(s, known ? NULL : p, MESSAGE_FENCE, &n);  // of others nobody else has heard
    roster_remove(&s->roster, p);
    if (!known)
        return;
    s->changed = true;
    if (s->broken_ns)
        s->broken_ns = clock_ns();  // this one is waited for as long as the one before
    death_bury(s->links, n.uuid);
    if (!*reason && !s->run->stopping && s->open &&
        (barrier_reach(s) & s->window.required) == s->window.required)
        log_line(LOG_WARNING, "%s; going on without it", s->broken_by);
}
