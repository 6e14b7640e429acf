/*
 * Excludes processes from the run: processes that are dead, that hang, or that violated the
 * protocol.  All processes are informed.  They drop their links to the excluded process, and ignore
 * its messages.  If the excluded process is still alive, it ends.
 */
#include "control/stream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

enum { NAMED_MAX = 16 };  // number of processes that messages name; further ones are only counted

const char fence_still[] = "hangs";

const struct fenced *fence_find(const struct stream *s, const char *uuid)
{
    for (size_t i = 0; i < s->nfenced && i < STATUS_FENCED_MAX; i++)
        if (strcmp(s->fenced[i].uuid, uuid) == 0)
            return &s->fenced[i];
    return NULL;
}

/* Returns true if a process was killed from outside.  bragg-run sees how its processes end, and
 * lists the killed ones in a file, with one line "PID HOST" for each. */
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

/* Adds a process to the ring of excluded processes.  The frame that the process was processing
 * is blamed if the process hangs or crashed.  The frame is not blamed if the process is frozen
 * or was killed from outside. */
static void note_fenced(struct stream *s, const struct peer *p, const char *how)
{
    struct fenced *f = &s->fenced[s->nfenced++ % STATUS_FENCED_MAX];
    *f = (struct fenced){.blames = how == fence_still || (p->lost_ns && !was_killed(&p->hello)),
                         .fenced_ns = clock_ns(),
                         .told = {.pid = p->hello.pid, .frames = p->work.frames}};
    memcpy(f->uuid, p->hello.uuid, sizeof f->uuid);
    memcpy(f->told.host, p->hello.host, sizeof f->told.host);
    (void)snprintf(f->told.reason, sizeof f->told.reason, "%.31s", how);
}

/* Informs a process, or all if `to` is NULL, that the process `uuid` is excluded. */
static void send_fence(struct stream *s, struct peer *to, const char *uuid, const char *reason)
{
    struct notice n = {0};
    memcpy(n.uuid, uuid, sizeof n.uuid);
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    peer_send(s, to, MESSAGE_FENCE, &n);
}

void fence_unheard(struct stream *s, const char *uuid)
{
    send_fence(s, NULL, uuid, "");
    loss_exclude(s->links, uuid);
}

void fence_out(struct stream *s, struct peer *p, const char *how, const char *reason)
{
    if (p->standing != PEER_IN) {  // other processes need not be informed
        send_fence(s, p, p->hello.uuid, reason);
        roster_remove(&s->roster, p);
        return;
    }
    note_fenced(s, p, how);
    if (p->hello.in_memory)
        holdings_void(s, p);
    (void)snprintf(s->broken_by, sizeof s->broken_by, "%s (process %" PRId64 ") %s", p->hello.stage,
                   p->hello.pid, how);
    send_fence(s, NULL, p->hello.uuid, reason);
    loss_exclude(s->links, p->hello.uuid);
    roster_remove(&s->roster, p);
    s->links->changed = true;
    if (s->broken_ns)
        s->broken_ns = clock_ns();  // the wait for a replacement begins again
    if (!*reason && !s->run->stopping && s->open_ns &&
        (barrier_reach(s) & s->window.required) == s->window.required)
        log_line(LOG_WARNING, "%s; the run continues", s->broken_by);
}

void outlaw(struct stream *s, struct peer *p, const char *text, ...)
{
    char reason[256], how[sizeof reason + 16];
    va_list args;
    va_start(args, text);
    (void)vsnprintf(reason, sizeof reason, text, args);
    va_end(args);
    if (s->nout++ < NAMED_MAX)
        log_line(LOG_WARNING, "%s (process %" PRId64 ") is excluded: %s", p->hello.stage,
                 p->hello.pid, reason);
    if (p->standing == PEER_IN) {
        holdings_void(s, p);
        (void)snprintf(how, sizeof how, "is excluded: %s", reason);
        fence_out(s, p, how, reason);
        return;
    }
    send_fence(s, p, p->hello.uuid, reason);
    id_set_clear(&p->have);
    id_set_clear(&p->acked);
    p->standing = PEER_OUT;
    s->links->changed = true;
}

void outlaw_count(const struct stream *s)
{
    if (s->nout > NAMED_MAX)
        log_line(LOG_WARNING,
                 "%" PRIu64 " processes were excluded, messages named only the first %d", s->nout,
                 NAMED_MAX);
    if (s->nrefused)
        log_line(LOG_WARNING, "%" PRIu64 " hellos of unknown processes were refused", s->nrefused);
}
