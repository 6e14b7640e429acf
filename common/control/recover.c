#include "control/stream.h"

#include <string.h>

#include "base/log.h"
#include "link/death.h"

static const uint64_t WARN_NS = SECOND;  // waiting for less than this is not worth a line

void recover_beat(struct stream *s, struct peer *p, const struct notice *n, uint64_t now_ns)
{
    p->beats_ns[1] = p->beats_ns[0];
    p->beats_ns[0] = now_ns;
    if (n->progress != p->progress || !n->nids || !p->held)
        p->progress_ns = now_ns;
    p->progress = n->progress;
    p->work = n->work;
    p->held = 0;
    id_set_clear(&p->holds[1]);
    p->holds[1] = p->holds[0];
    p->holds[0] = (struct id_set){0};
    for (size_t i = 0; i < n->nids && p->standing == PEER_IN; i++) {
        p->held += n->ids[i].last - n->ids[i].first + 1;
        if (p->hello.gives)
            window_listed(&s->window, n->ids[i], false, now_ns);
        else if (p->durable)
            holdings_check(s, id_set_add_range(&p->holds[0], n->ids[i]));
    }
}

void recover_check(struct stream *s, uint64_t now_ns)
{
    const bool returns = endpoint_is_network(s->run->control.endpoint);  // who was cut off
    const uint64_t hang_ns = (uint64_t)(s->run->settings.hang_s * 1e9);
    for (struct peer *p = s->roster.first, *next; p && !s->run->stopping && !s->free_ns; p = next) {
        next = p->next;
        if (p->standing == PEER_GONE)
            continue;
        if (p->lost_ns && !returns && now_ns > p->lost_ns + GRACE_NS)
            fence_out(s, p, "died", "");
        else if (run_is_silent(s->run, p->heard_ns, s->run->patience_ns, now_ns))
            fence_out(s, p, "does not answer any more", "");
        else if (run_is_silent(s->run, p->beats_ns[0], 2 * s->run->patience_ns, now_ns) &&
                 p->standing != PEER_OUT)
            fence_out(s, p, "sends no heartbeat", "");
        else if (holdings_owe_answer(s, p) &&
                 run_is_silent(s->run, s->asked_ns, 2 * s->run->patience_ns, now_ns))
            fence_out(s, p, "does not say hello again", "");
        else if (run_is_silent(s->run, p->progress_ns, hang_ns, p->beats_ns[0]))
            fence_out(s, p, fence_still, "");  // as it said last
        else
            claims_check(s, p, now_ns);
    }
}

static void check_named(struct stream *s, const struct neighbour *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].uuid, s->run->uuid) != 0 && !roster_find(&s->roster, list[i].uuid) &&
            !death_is_known(s->links, list[i].uuid))
            fence_unheard(s, list[i].uuid);
}

/* Who has met its neighbours, and vanished with its host before it spoke to the source: they keep
 * a connection to nobody, where another process waits for them. */
static void check_unheard(struct stream *s, uint64_t now_ns)
{
    for (const struct peer *p = s->roster.first; p; p = p->next) {
        if (p->standing != PEER_IN ||
            !run_is_silent(s->run, p->named_ns, s->run->patience_ns, now_ns))
            continue;
        check_named(s, p->hello.upstreams, p->hello.nupstreams);
        check_named(s, p->hello.downstreams, p->hello.ndownstreams);
    }
}

bool recover_is_whole(struct stream *s, uint64_t now_ns)
{
    if ((barrier_reach(s) & s->window.required) == s->window.required) {
        s->broken_ns = 0;
        s->warned = false;
        return true;
    }
    if (!s->broken_ns)
        s->broken_ns = now_ns;
    check_unheard(s, now_ns);
    if (!s->warned && run_is_silent(s->run, s->broken_ns, WARN_NS, now_ns)) {
        s->warned = true;
        log_line(LOG_WARNING, "%s; waiting for another in its place", s->broken_by);
    }
    if (run_is_silent(s->run, s->broken_ns, (uint64_t)(s->run->settings.rejoin_timeout_s * 1e9),
                      now_ns))
        run_stop(s->run, STATUS_FAILED, "%s, and nothing took its place", s->broken_by);
    return false;
}
