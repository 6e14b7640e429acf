/* The source: deaths of other processes, and the frames that are lost with them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/stream.h"

/* Why a process is out. */
static const char died[] = "died", silent[] = "does not answer any more", still[] = "stands still";

static const uint64_t WARN_NS = SECOND;  // waiting for less than this is not worth a line

/* The first frame that is given up is told to watchers. */
static void give_up(struct stream *s, uint64_t id, const struct fenced *by)
{
    const uint32_t deaths = window_find(&s->window, id)->deaths;
    if (!s->given_up.deaths)
        s->given_up = (struct given_up){.frame = id, .deaths = deaths, .pid = by ? by->pid : 0};
    log_line(LOG_ERROR, "frame %" PRIu64 " is given up: %" PRIu32 " process%s died at work on it",
             id, deaths, deaths > 1 ? "es" : "");
}

/* `at_work`: the process `by`, NULL when that is not known, died at work on it. */
static void lose(struct runtime *rt, uint64_t id, bool at_work, const struct fenced *by)
{
    struct stream *s = rt->source;
    switch (window_lose(&s->window, id, at_work)) {
    case WINDOW_AGAIN: {
        const struct ticket again = {id, window_find(&s->window, id)->attempt};
        if (!exchange_reissue(&rt->exchange, again))
            io_stop(rt, STATUS_FAILED, "out of memory for frames to issue again");
        break;
    }
    case WINDOW_GIVEN_UP:
        give_up(s, id, by);
        break;
    case WINDOW_KEEP:
        break;
    }
}

static const struct fenced *recover_fenced(const struct stream *s, const char *uuid)
{
    const size_t left = s->nfenced < STATUS_FENCED_MAX ? s->nfenced : STATUS_FENCED_MAX;
    for (size_t i = 0; i < left; i++)
        if (strcmp(s->fenced[i].uuid, uuid) == 0)
            return &s->fenced[i];
    return NULL;
}

void source_lost(struct runtime *rt, const struct notice *n)
{
    const struct fenced *by = recover_fenced(rt->source, n->uuid);
    const bool blames = n->status != STATUS_OK && (!by || by->blames);
    for (size_t i = 0; i < n->nids && !rt->stopping; i++) {
        struct id_range places = n->ids[i];
        if (!window_clip(&rt->source->window, &places))
            continue;
        for (uint64_t at = places.first; at <= places.last && !rt->stopping; at++) {
            const uint64_t id = window_id(&rt->source->window, at);
            lose(rt, id, blames && i == 0 && id == n->ids[0].first, by);
        }
    }
}

void source_passed(struct runtime *rt, uint64_t id)
{
    struct frame_state *f = window_find(&rt->source->window, id);
    if (f) {
        f->out = true;
        f->listed_ns = clock_ns();
    }
}

void recover_beat(struct runtime *rt, struct peer *p, const struct notice *n, uint64_t now_ns)
{
    p->beats_ns[1] = p->beats_ns[0];
    p->beats_ns[0] = now_ns;
    if (n->progress != p->progress || !n->nids || !p->held)
        p->progress_ns = now_ns;
    p->progress = n->progress;
    p->work = n->work;
    p->held = 0;
    for (size_t i = 0; i < n->nids && p->known; i++) {
        p->held += n->ids[i].last - n->ids[i].first + 1;
        window_listed(&rt->source->window, n->ids[i], p->durable, now_ns);
    }
}

/* bragg-run, which sees how its processes end, lists those that were killed from outside in
 * a file, with a newline after each process id. */
static bool was_killed(int64_t pid)
{
    const char *path = getenv("BRAGG_KILLED");
    FILE *file = path ? fopen(path, "re") : NULL;
    int64_t one = 0;
    while (file && one != pid && fscanf(file, "%" SCNd64, &one) == 1)
        continue;
    if (file)
        (void)fclose(file);
    return one == pid;
}

/* The frame at hand is to blame when its process stands still, or died of itself; who is frozen,
 * or killed from outside, would have been so at any frame. */
static void remember(struct stream *s, const struct peer *p, const char *how)
{
    struct fenced *f = &s->fenced[s->nfenced++ % STATUS_FENCED_MAX];
    *f = (struct fenced){.pid = p->hello.pid,
                         .blames = how == still || (p->lost_ns && !was_killed(p->hello.pid)),
                         .frames = p->work.frames,
                         .fenced_ns = clock_ns()};
    memcpy(f->uuid, p->hello.uuid, sizeof f->uuid);
    (void)snprintf(f->reason, sizeof f->reason, "%.31s", how);
}

/* Takes a process out of the run: tells it, should it still live, and everybody else. */
void recover_bury(struct runtime *rt, struct peer *p, const char *how, const char *reason)
{
    struct stream *s = rt->source;
    if (p->known)
        remember(s, p, how);
    struct notice n = {.status = STATUS_FAILED};
    memcpy(n.uuid, p->hello.uuid, sizeof n.uuid);
    (void)snprintf(n.reason, sizeof n.reason, "%s", reason);
    if (p->known)
        source_send_all(rt, MESSAGE_FENCE, &n);
    else
        source_send(rt, p, MESSAGE_FENCE, &n);  // nobody else has heard of it
    const bool known = p->known;
    if (known)
        (void)snprintf(s->broken_by, sizeof s->broken_by, "%s (process %" PRId64 ") %s",
                       p->hello.stage, p->hello.pid, how);
    roster_remove(&s->roster, p);
    if (!known)
        return;
    s->changed = true;
    link_bury(rt, n.uuid);
    if (!*reason && !rt->stopping && s->open &&
        (source_reach(rt) & s->window.required) == s->window.required)
        log_line(LOG_WARNING, "%s; going on without it", s->broken_by);
}

void recover_check(struct runtime *rt, uint64_t now_ns)
{
    const struct stream *s = rt->source;
    const bool returns = endpoint_is_network(rt->control);  // who was cut off
    const uint64_t hang_ns = (uint64_t)(rt->options.hang_s * 1e9);
    for (struct peer *p = s->roster.first, *next; p && !rt->stopping && !s->freed; p = next) {
        next = p->next;
        if (p->bye)
            continue;
        if (p->lost_ns && !returns && now_ns > p->lost_ns + GRACE_NS)
            recover_bury(rt, p, died, "");
        else if (io_is_silent(rt, p->heard_ns, rt->patience_ns, now_ns))
            recover_bury(rt, p, silent, "");
        else if (io_is_silent(rt, p->beats_ns[0], 2 * rt->patience_ns, now_ns) && !p->out)
            recover_bury(rt, p, "sends no heartbeat", "");
        else if (io_is_silent(rt, p->progress_ns, hang_ns, p->beats_ns[0]) && p->known)
            recover_bury(rt, p, still, "");  // as it said last
        else
            claims_check(rt, p, now_ns);
    }
}

void recover_unlisted(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    struct window *w = &s->window;
    uint64_t rounds_ns = now_ns;  // since then everybody said twice what it holds
    for (const struct peer *p = s->roster.first; p; p = p->next)
        if (p->known && !p->bye && p->beats_ns[1] < rounds_ns)
            rounds_ns = p->beats_ns[1];
    for (const struct link *l = rt->links; l; l = l->next)
        for (size_t i = l->narrived; i < l->nsent; i++)
            window_listed(w, (struct id_range){l->sent[i], l->sent[i]}, 0, now_ns);
    for (uint64_t at = w->lowest; at < s->total && at - w->lowest < w->size; at++) {
        const uint64_t id = window_id(w, at);
        const struct frame_state *f = window_find(w, id);
        if (f->out && !window_is_listed(w, f, rounds_ns))
            lose(rt, id, false, NULL);
    }
}

bool recover_is_whole(struct runtime *rt, uint64_t now_ns)
{
    struct stream *s = rt->source;
    if ((source_reach(rt) & s->window.required) == s->window.required) {
        s->broken_ns = 0;
        s->warned = false;
        return true;
    }
    if (!s->broken_ns)
        s->broken_ns = now_ns;
    if (!s->warned && io_is_silent(rt, s->broken_ns, WARN_NS, now_ns)) {
        s->warned = true;
        log_line(LOG_WARNING, "%s; waiting for another in its place", s->broken_by);
    }
    if (io_is_silent(rt, s->broken_ns, (uint64_t)(rt->options.rejoin_timeout_s * 1e9), now_ns))
        io_stop(rt, STATUS_FAILED, "%s, and nothing took its place", s->broken_by);
    return false;
}
